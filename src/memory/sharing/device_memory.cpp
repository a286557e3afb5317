#include "memory/sharing/device_memory.hpp"

#include <algorithm>
#include <utility>

#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::sharing {

bool DeviceExports::is_there(const Allocation& allocation) noexcept {
  std::uint64_t now = 0;
  return device_backend()->knows(reinterpret_cast<const void*>(allocation.base), now) &&
         now == allocation.buffer_id;
}

std::optional<DeviceExports::Export> DeviceExports::find(const std::byte* first,
                                                         const std::byte* last) {
  if (device_backend() == nullptr) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  const auto end = reinterpret_cast<std::uintptr_t>(last);
  const std::lock_guard lock(mutex_);
  auto* found = std::ranges::find_if(
      allocations_, [&](const Allocation& allocation) { return allocation.holds(begin, end); });
  if (found == allocations_.end() || !is_there(*found)) {
    if (found != allocations_.end()) drop(*found);
    found = add(first);
    if (found == nullptr || !found->holds(begin, end)) return std::nullopt;
  }
  if (!found->exported) return std::nullopt;
  const auto number = static_cast<std::int32_t>(found - allocations_.begin());
  return Export{{Arenas::kMost + number, found->generation, static_cast<std::int64_t>(found->bytes),
                 -1, reinterpret_cast<std::byte*>(found->base)},
                found->memory};
}

void DeviceExports::drop(Allocation& freed) {
  const auto number = static_cast<std::int32_t>(&freed - allocations_.data());
  if (freed.exported) freed_.push_back({Arenas::kMost + number, freed.generation});
  freed.buffer_id = 0;
}

std::vector<DeviceExports::Freed> DeviceExports::take_freed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(freed_, {});
}

/// Enters the allocation at an address; null: it is none that can be shared, or there is no number
/// left.
DeviceExports::Allocation* DeviceExports::add(const std::byte* first) {
  AllocationInfo info;
  const bool known = device_backend()->query(first, info);
  if (!known || info.place.kind != MemoryKind::Device || info.buffer_id == 0 || !info.exportable)
    return nullptr;
  auto* place = std::ranges::find(allocations_, info.buffer_id, &Allocation::buffer_id);
  if (place != allocations_.end()) return place;  // the message goes beyond it
  // Other processes still hold the memory of those that are freed.
  for (Allocation& allocation : allocations_) {
    if (allocation.buffer_id != 0 && !is_there(allocation)) drop(allocation);
  }
  place = std::ranges::find(allocations_, std::uint64_t{0}, &Allocation::buffer_id);
  if (place == allocations_.end()) return nullptr;
  place->buffer_id = info.buffer_id;
  place->base = info.base;
  place->bytes = info.size_bytes;
  ++place->generation;
  place->exported = device_backend()->export_memory(info, place->memory);
  if (!place->exported)
    log::info("the driver does not let other ranks open {} bytes of device {}", info.size_bytes,
              info.place.device);
  return place;
}

DeviceImport::DeviceImport(const ExportedMemory& memory)
    : exporter_base_(memory.base), bytes_(memory.bytes) {
  if (device_backend() == nullptr)
    throw Unsupported("memory of a device, in a process that uses none");
  data_ = device_backend()->import_memory(memory, place_);
}

DeviceImport::~DeviceImport() {
  if (data_ != nullptr) device_backend()->release_import(place_, data_);
}

DeviceImport::DeviceImport(DeviceImport&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      exporter_base_(other.exporter_base_),
      bytes_(std::exchange(other.bytes_, 0)),
      place_(other.place_) {}

DeviceImport& DeviceImport::operator=(DeviceImport&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(exporter_base_, other.exporter_base_);
  std::swap(bytes_, other.bytes_);
  std::swap(place_, other.place_);
  return *this;
}

}  // namespace strake::sharing
