#include "copy/batch_check.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "layout/overlap.hpp"
#include "memory/first_page.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

using Copy = CopyBatch::Copy;

std::uintptr_t address_of(const std::byte* base, std::int64_t offset) {
  return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset);
}

std::string to_text(const Layout& layout, std::int32_t slot) {
  return fmt::format("{} in slot {}", layout.to_string(), slot);
}

bool same_memory(Place a, Place b) {
  return a.kind == b.kind && (a.kind != MemoryKind::Device || a.device == b.device);
}

/// One side of a copy.
struct Side {
  std::size_t copy;
  const Layout& layout;
  std::int32_t slot;
  const std::byte* base;
};

void require_address(const Side& side) {
  if (address_of(side.base, side.layout.bounds().begin) >= kFirstPage) return;
  throw InvalidArgument(fmt::format("copy {} of the batch: slot {} has the address {:#x}",
                                    side.copy, side.slot, address_of(side.base, 0)));
}

void require_memory(const Side& side, Place place) {
  DeviceBackend* const backend = device_backend();
  if (backend == nullptr) return;
  const ByteRange bounds = side.layout.bounds();
  const std::uintptr_t begin = address_of(side.base, bounds.begin);
  const std::uintptr_t end = address_of(side.base, bounds.end);
  AllocationInfo memory;
  const bool known = backend->query(side.base + bounds.begin, memory);
  const Place found = known ? memory.place : Place{};
  if (!same_memory(found, place)) {
    throw InvalidArgument(fmt::format(
        "copy {} of the batch: {} begins at {:#x}, which is {} memory of device {}, not {} of {}",
        side.copy, to_text(side.layout, side.slot), begin, name_of(found.kind), found.device,
        name_of(place.kind), place.device));
  }
  if (memory.base == 0 || end <= memory.base + memory.size_bytes) return;
  throw InvalidArgument(fmt::format(
      "copy {} of the batch: {} has bytes [{:#x}, {:#x}), but the memory there has bytes "
      "[{:#x}, {:#x})",
      side.copy, to_text(side.layout, side.slot), begin, end, memory.base,
      memory.base + memory.size_bytes));
}

[[noreturn]] void refuse(std::span<const Copy> copies, const Overlap& overlap) {
  const auto text = [&](const Touched& touched) {
    const Copy& copy = copies[touched.user];
    return fmt::format(
        "copy {} {} it ({})", touched.user, touched.written ? "writes" : "reads",
        touched.written ? to_text(copy.to, copy.to_slot) : to_text(copy.from, copy.from_slot));
  };
  const auto& [byte, a, b] = overlap;
  const bool ordered = a.user < b.user || (a.user == b.user && !a.written);
  throw InvalidArgument(fmt::format("the byte at {:#x} is touched twice by the batch: {}, and {}",
                                    byte, text(ordered ? a : b), text(ordered ? b : a)));
}

}  // namespace

void check_batch(std::span<const Copy> copies, std::span<const Place> places,
                 std::span<std::byte* const> bases, bool on_device) {
  std::vector<Touched> all;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Copy& copy = copies[i];
    if (copy.to.size_bytes() == 0) continue;
    const auto at = [](std::int32_t slot) { return static_cast<std::size_t>(slot); };
    for (const Side& side : {Side{i, copy.to, copy.to_slot, bases[at(copy.to_slot)]},
                             Side{i, copy.from, copy.from_slot, bases[at(copy.from_slot)]}}) {
      const bool written = &side.layout == &copy.to;
      require_address(side);
      if (on_device) require_memory(side, places[at(side.slot)]);
      if (!written && !on_device) continue;
      side.layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
        const std::uintptr_t begin = address_of(side.base, offset);
        all.push_back({begin, begin + static_cast<std::uintptr_t>(length), i, written});
      });
    }
  }
  // A copy may write a byte twice: its layout says so.
  if (const auto overlap = find_overlap(all)) refuse(copies, *overlap);
}

}  // namespace strake
