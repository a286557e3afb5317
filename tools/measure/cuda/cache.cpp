/// \file  Device to pinned memory whose lines lie in the CPU's cache, or in none.
/// Sources: dissertation 3.2 (CPU data caching), 3.3.5.
#include "measure/cache.hpp"

#include "measure/cuda/cases.hpp"
#include "measure/cuda/links.hpp"
#include "measure/cuda/move.hpp"

namespace strake::measure::cuda {
namespace {

constexpr std::int64_t kLine = 64;

/// Every line modified in this core's caches, as far as they reach.
void bring_in(std::byte* data, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kLine) {
    volatile std::byte* const line = data + at;
    *line = static_cast<std::byte>(0xa5);
  }
}

std::unique_ptr<Instance> make_copy(std::int64_t bytes, bool flushed) {
  const Move move({Kind::Pinned}, {Kind::Device}, bytes, 13);
  HeldOptions options;
  options.before = [move, flushed] {
    bring_in(move.to->data(), move.to->bytes());
    if (flushed) flush_cache(move.to->data(), move.size());
  };
  return held_moves({copy_lane(0, move)}, {move}, "copy to cached memory", std::move(options));
}

}  // namespace

void add_cache_states(Cases& cases) {
  for (std::int64_t bytes = 64 * KiB; bytes <= 64 * MiB; bytes *= 4) {
    for (const bool flushed : {false, true}) {
      Case& added = add(
          cases, std::string("gpu/cache/device-to-pinned/") + (flushed ? "flushed" : "in-cache"),
          bytes, [=] { return make_copy(bytes, flushed); });
      added.limit = host_link(0);
      added.quick = bytes == MiB;
    }
  }
}

}  // namespace strake::measure::cuda
