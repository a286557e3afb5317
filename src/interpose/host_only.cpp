// Functions whose buffers the MPI library itself must reach.
#include "interpose/host_only.hpp"

#include "exchange/transport/mixed.hpp"
#include "interpose/found.hpp"
#include "mpi/types.hpp"
#include "settings/log.hpp"

namespace strake::interpose {

bool lies_in_device(const void* buffer, std::int64_t count, MPI_Datatype type) {
  const auto is_there = [&](std::int64_t offset) {
    const auto* const at = reinterpret_cast<const void*>(address_of(buffer, offset));
    return classify(at).kind == MemoryKind::Device;
  };
  if (count <= 0) return false;
  mpi::TypeRecord* const record = mpi::find_type(type);
  if (record == nullptr || record->contiguous()) return is_there(0);
  if (!record->ready(type, count, mpi::Use::Often) || !record->decodable()) return is_there(0);
  const mpi::ElementsPtr elements = record->elements(count);
  if (elements->size_bytes() == 0) return false;
  Place place;
  const Layout& layout = elements->layout();
  if (exchange::one_place(layout, static_cast<const std::byte*>(buffer), place))
    return place.kind == MemoryKind::Device;
  bool any = false;
  layout.for_each_block(
      [&](std::int64_t offset, std::int64_t /*length*/) { any = any || is_there(offset); });
  return any;
}

int refuse_device(Wrapped function) noexcept {
  log::warn("{}: its buffer lies in the memory of a device, which this MPI library does not reach",
            name_of(function));
  return MPI_ERR_BUFFER;
}

}  // namespace strake::interpose

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/host_only.hpp"
