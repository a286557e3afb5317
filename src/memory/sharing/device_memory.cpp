#include "memory/sharing/device_memory.hpp"

#include <algorithm>
#include <utility>

#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::sharing {

const char* name_of(Declined why) noexcept {
  switch (why) {
    case Declined::Managed:
      return "managed memory";
    case Declined::Pool:
      return "memory of a pool (cudaMallocAsync), or of cuMemMap without descriptors";
    case Declined::TooMany:
      return "of more allocations, or pieces of cuMemMap, than are shared at a time";
    case Declined::Refused:
      break;
  }
  return "memory that the driver does not share";
}

/// Whether the pieces of the allocation that [first, last) touches are the same still.
bool DeviceExports::is_there(const Allocation& allocation, std::uint64_t first,
                             std::uint64_t last) noexcept {
  return std::ranges::all_of(allocation.pieces, [&](const MemoryPiece& piece) {
    if (end_of(piece) <= first || last <= piece.base) return true;
    std::uint64_t now = 0;
    return device_backend()->knows(reinterpret_cast<const void*>(piece.base), now) &&
           now == piece.buffer_id;
  });
}

std::optional<Arenas::Region> DeviceExports::find(const std::byte* first, const std::byte* last,
                                                  Declined& why) {
  why = Declined::Refused;
  if (device_backend() == nullptr) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  const auto end = reinterpret_cast<std::uintptr_t>(last);
  const std::lock_guard lock(mutex_);
  Allocation* found = nullptr;
  for (Allocation& allocation : allocations_) {
    if (!allocation.holds(begin, end)) continue;
    found = &allocation;
    if (is_there(allocation, begin, end)) break;
    let_go(allocation);
    found = nullptr;
  }
  if (found == nullptr) found = add(begin, end, why);
  // Pieces that are not touched may be gone, and other ranks keep them.
  constexpr std::uint32_t kRarely = 1024;
  if (++asked_ % kRarely == 0) let_go_of_stale();
  if (found == nullptr || !found->exported) return std::nullopt;
  return Arenas::Region{number_of(*found), found->generation, found->memory.bytes, -1,
                        reinterpret_cast<std::byte*>(found->memory.base)};
}

/// Marks an allocation as freed: find() skips it from now on, and other ranks have it open still.
void DeviceExports::let_go(Allocation& gone) noexcept {
  gone.freed = true;
  ++freed_;
}

void DeviceExports::forget(Allocation& gone) noexcept {
  gone.pieces.clear();
  gone.freed = false;
  --freed_;
}

void DeviceExports::let_go_of_stale() {
  for (Allocation& allocation : allocations_) {
    if (!allocation.pieces.empty() && !allocation.freed &&
        !is_there(allocation, allocation.begin(), allocation.end()))
      let_go(allocation);
  }
}

/// A place for another one; null: all are in use.
DeviceExports::Allocation* DeviceExports::unused() {
  let_go_of_stale();
  auto* const place = std::ranges::find_if(
      allocations_, [](const Allocation& allocation) { return allocation.pieces.empty(); });
  return place == allocations_.end() ? nullptr : place;
}

/// Enters what holds [first, last); null: it can't be shared.
DeviceExports::Allocation* DeviceExports::add(std::uint64_t first, std::uint64_t last,
                                              Declined& why) {
  DeviceBackend& backend = *device_backend();
  const auto* const address = reinterpret_cast<const void*>(first);
  AllocationInfo info;
  const bool known = backend.query(address, info);
  why = Declined::Pool;
  if (!known || info.place.kind != MemoryKind::Device || info.buffer_id == 0 ||
      info.exportable == Exportable::No)
    return nullptr;
  why = Declined::TooMany;
  auto* const declined = std::ranges::find(declined_, info.buffer_id, &Refusal::buffer_id);
  constexpr std::uint32_t kAgain = 64;
  if (declined != declined_.end() && ++declined->messages % kAgain != 0) return nullptr;
  const auto decline = [&]() -> Allocation* {
    if (declined == declined_.end())
      declined_[next_refusal_++ % declined_.size()] = {info.buffer_id, 0};
    return nullptr;
  };
  std::vector<MemoryPiece> pieces;
  if (info.exportable == Exportable::ByPieces) {
    pieces = backend.pieces_around(address, ExportedMemory::kMostPieces);
  } else {
    pieces.push_back({info.base, static_cast<std::int64_t>(info.size_bytes), info.buffer_id});
  }
  if (pieces.empty() || first < pieces.front().base || end_of(pieces.back()) < last)
    return decline();
  // An allocation that grew contains its old part.
  for (Allocation& old : allocations_) {
    if (!old.pieces.empty() && !old.freed && pieces.front().base <= old.begin() &&
        old.end() <= end_of(pieces.back()))
      let_go(old);
  }
  Allocation* const place = unused();
  if (place == nullptr) return decline();
  why = Declined::Refused;
  place->memory = {};
  if (info.exportable == Exportable::ByPieces) {
    ExportedMemory& memory = place->memory;
    memory.base = pieces.front().base;
    memory.bytes = static_cast<std::int64_t>(end_of(pieces.back()) - memory.base);
    for (const MemoryPiece& piece : pieces)
      memory.piece_units[static_cast<std::size_t>(memory.pieces++)] =
          static_cast<std::uint32_t>(piece.bytes / ExportedMemory::kPieceUnit);
    place->exported = true;
  } else {
    place->exported = backend.export_memory(info.place, pieces.front(), place->memory);
  }
  place->pieces = std::move(pieces);
  ++place->generation;
  if (!place->exported)
    log::info("the driver does not let other ranks open {} bytes of device {}", info.size_bytes,
              info.place.device);
  return place;
}

DeviceExports::Export DeviceExports::export_of(const Arenas::Region& found) {
  const std::lock_guard lock(mutex_);
  Allocation& allocation = allocations_[static_cast<std::size_t>(found.number - Arenas::kRegions)];
  Export made{allocation.memory, {}};
  if (made.memory.pieces == 0) return made;
  for (const MemoryPiece& piece : allocation.pieces) {
    FileDescriptor descriptor(device_backend()->export_piece(piece));
    if (descriptor.get() < 0) break;
    made.descriptors.push_back(std::move(descriptor));
  }
  const bool all = made.descriptors.size() == allocation.pieces.size();
  if (!all && !allocation.freed && !is_there(allocation, allocation.begin(), allocation.end()))
    let_go(allocation);
  return made;
}

DeviceImport::DeviceImport(const ExportedMemory& memory, std::span<const int> descriptors,
                           int device)
    : memory_(memory), place_{MemoryKind::Device, device} {
  if (!std::ranges::all_of(descriptors, is_of_memory))
    throw InvalidArgument("a descriptor came that is not of a device's memory");
  data_ = required_device_backend().import_memory(memory, descriptors, place_);
}

DeviceImport::~DeviceImport() {
  if (data_ != nullptr) device_backend()->release_import(place_, data_, memory_);
}

DeviceImport::DeviceImport(DeviceImport&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), memory_(other.memory_), place_(other.place_) {}

DeviceImport& DeviceImport::operator=(DeviceImport&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(memory_, other.memory_);
  std::swap(place_, other.place_);
  return *this;
}

}  // namespace strake::sharing
