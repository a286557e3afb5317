#include "exchange/peers/mapped_arrays.hpp"

#include <mutex>

#include "memory/sharing/arenas.hpp"

namespace strake::exchange::peers {

ArrayAddress announce_array(const Group& group, int rank, const std::byte* array,
                            const std::byte* first, const std::byte* last) {
  const auto region = sharing::Arenas::get().find(first, last);
  if (!region) return {};
  if (rank != group.rank()) {
    SharedByAll& all = SharedByAll::get();
    const std::lock_guard lock(all.mutex);
    if (!all.directory->announce_once(group.world_rank(rank), *region)) return {};
  }
  return {region->number, region->generation,
          reinterpret_cast<std::intptr_t>(array) - reinterpret_cast<std::intptr_t>(region->data)};
}

const std::byte* find_array(const Group& group, int rank, const ArrayAddress& where,
                            std::int64_t begin, std::int64_t end) {
  if (rank == group.rank() || where.region < 0 || where.region >= kFirstDeviceRegion)
    return nullptr;
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  const auto found =
      all.directory->find_announced(group.world_rank(rank), where.region, where.generation);
  if (!found) return nullptr;
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (__builtin_add_overflow(where.offset, begin, &first) ||
      __builtin_add_overflow(where.offset, end, &last) || first < 0 || last > found->bytes)
    return nullptr;
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::intptr_t>(found->data) +
                                            where.offset);
}

}  // namespace strake::exchange::peers
