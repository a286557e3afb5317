#include "copy/batch_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/backend.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// Bytes [begin, end) that a copy writes.
struct Written {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::size_t copy;
};

std::uintptr_t address_of(const std::byte* base) { return reinterpret_cast<std::uintptr_t>(base); }

void require_within_memory(std::size_t copy, const Layout& layout, std::int32_t slot,
                           const std::byte* base) {
  if (layout.size_bytes() == 0) return;
  if (base == nullptr) {
    throw InvalidArgument(
        fmt::format("copy {} of the batch: slot {} has a null address", copy, slot));
  }
  DeviceBackend* const backend = device_backend();
  AllocationInfo memory;
  if (backend == nullptr) return;
  const ByteRange bounds = layout.bounds();
  if (!backend->query(base, memory) || memory.base == 0) return;
  const std::uintptr_t begin = address_of(base) + static_cast<std::uintptr_t>(bounds.begin);
  const std::uintptr_t end = address_of(base) + static_cast<std::uintptr_t>(bounds.end);
  if (begin >= memory.base && end <= memory.base + memory.size_bytes) return;
  throw InvalidArgument(
      fmt::format("copy {} of the batch: {} in slot {} has bytes [{:#x}, {:#x}), but the memory of "
                  "its base {:#x} "
                  "has bytes [{:#x}, {:#x})",
                  copy, layout.to_string(), slot, begin, end, address_of(base), memory.base,
                  memory.base + memory.size_bytes));
}

void require_apart(std::span<const CopyBatch::Copy> copies, std::vector<Written>& written) {
  std::sort(written.begin(), written.end(),
            [](const Written& a, const Written& b) { return a.begin < b.begin; });
  std::size_t furthest = 0;  // of those that begin before, the one that ends last
  for (std::size_t i = 1; i < written.size(); ++i) {
    const Written& before = written[furthest];
    const Written& after = written[i];
    if (after.end > before.end) furthest = i;
    if (after.begin >= before.end || after.copy == before.copy) continue;
    throw InvalidArgument(fmt::format(
        "copies {} ({} in slot {}) and {} ({} in slot {}) of the batch both write the byte at "
        "{:#x}",
        before.copy, copies[before.copy].to.to_string(), copies[before.copy].to_slot, after.copy,
        copies[after.copy].to.to_string(), copies[after.copy].to_slot, after.begin));
  }
}

}  // namespace

void check_batch(std::span<const CopyBatch::Copy> copies, std::span<std::byte* const> bases) {
  std::vector<Written> written;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const CopyBatch::Copy& copy = copies[i];
    const std::byte* const to = bases[static_cast<std::size_t>(copy.to_slot)];
    require_within_memory(i, copy.to, copy.to_slot, to);
    require_within_memory(i, copy.from, copy.from_slot,
                          bases[static_cast<std::size_t>(copy.from_slot)]);
    copy.to.for_each_block([&](std::int64_t offset, std::int64_t length) {
      const std::uintptr_t begin = address_of(to) + static_cast<std::uintptr_t>(offset);
      written.push_back({begin, begin + static_cast<std::uintptr_t>(length), i});
    });
  }
  require_apart(copies, written);
}

}  // namespace strake
