#include "exchange/transport/put/set_zero.hpp"

#include <cstring>

#include "memory/pool.hpp"
#include "strake/copy.hpp"

namespace strake::exchange::planned {

/// Copies one block of zeroes again and again.
void set_zero(std::byte* data, std::int64_t bytes, Place place) {
  constexpr std::int64_t kBlock = 1 << 20;
  const PoolBlock zeroes({MemoryKind::Pinned, place.device}, kBlock);
  std::memset(zeroes.data(), 0, static_cast<std::size_t>(kBlock));
  const Dim again[] = {{bytes / kBlock, 0}};
  const Layout parts[] = {Layout::box(0, kBlock, again), Layout::dense(bytes % kBlock)};
  CopyPlan::compile(Layout::dense(bytes), place, Layout::sequence(parts), zeroes.place())
      .run(data, zeroes.data());
}

}  // namespace strake::exchange::planned
