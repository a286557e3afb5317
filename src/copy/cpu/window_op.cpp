#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "copy/cpu/op.hpp"

namespace strake::cpu {
namespace {

constexpr std::int64_t kWindowBytes = kWindowUnits * kUnitBytes;

/// The blocks as windows, each opened by the first block that the one before cannot hold; none
/// where they are no whole units or do not fit 32 bits.
std::optional<std::vector<Window>> windows_of(const Layout& blocks) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - kWindowBytes;
  if (blocks.bounds().size() > kMost || blocks.size_bytes() > kMost) return std::nullopt;
  std::vector<Window> windows;
  const std::int64_t base = blocks.offset();
  std::int64_t begin = 0;                                       // of the open window
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // of the block before
  std::int64_t position = 0;
  bool whole_units = true;
  blocks.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    offset -= base;
    whole_units &= offset % kUnitBytes == 0 && bytes % kUnitBytes == 0;
    while (whole_units && bytes > 0) {
      if (offset < end || offset >= begin + kWindowBytes) {
        begin = offset;
        windows.push_back(
            {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(position), 0});
      }
      const std::int64_t taken = std::min(bytes, begin + kWindowBytes - offset);
      const std::uint32_t units = (std::uint32_t{1} << (taken / kUnitBytes)) - 1;
      windows.back().mask |= units << ((offset - begin) / kUnitBytes);
      offset += taken;
      position += taken;
      bytes -= taken;
      end = offset;
    }
  });
  if (!whole_units) return std::nullopt;
  windows.push_back({0, static_cast<std::int32_t>(position), 0});
  return windows;
}

}  // namespace

std::unique_ptr<const WindowsOp> WindowsOp::make(const Kernels& kernels, Direction direction,
                                                 const Layout& blocks) {
  if (kernels.list->pack_windows == nullptr) return nullptr;
  std::optional<std::vector<Window>> windows = windows_of(blocks);
  if (!windows) return nullptr;
  if (const char* w = getenv("WR"); static_cast<double>(windows->size()) >
                                    (w ? atof(w) : 0.8) * static_cast<double>(blocks.block_count()))
    return nullptr;
  return std::make_unique<WindowsOp>(kernels, direction, std::move(*windows), blocks.offset());
}

WindowsOp::WindowsOp(const Kernels& kernels, Direction direction, std::vector<Window> windows,
                     std::int64_t strided_offset)
    : Op(windows.back().position),
      windows_(std::move(windows)),
      count_(static_cast<std::int64_t>(windows_.size()) - 1),
      strided_offset_(strided_offset) {
  if (direction == Direction::Pack) {
    pack_ = kernels.list->pack_windows;
  } else {
    unpack_ = kernels.list->unpack_windows;
  }
}

void WindowsOp::run_windows(std::int64_t first, std::int64_t last, std::byte* to,
                            const std::byte* from) const {
  if (first >= last) return;
  if (pack_ != nullptr) {
    pack_(windows_.data(), first, last, to, from + strided_offset_);
  } else {
    unpack_(windows_.data(), first, last, to + strided_offset_, from);
  }
}

void WindowsOp::run_inside(const Window& window, ByteRange part, std::byte* to,
                           const std::byte* from) const {
  std::int64_t position = window.position;
  for (std::int64_t unit = 0; unit < kWindowUnits; ++unit) {
    if ((window.mask >> unit & 1) == 0) continue;
    const std::int64_t strided = strided_offset_ + window.offset + unit * kUnitBytes;
    for (std::int64_t i = 0; i < kUnitBytes; ++i, ++position) {
      if (position < part.begin || position >= part.end) continue;
      if (pack_ != nullptr) {
        to[position] = from[strided + i];
      } else {
        to[strided + i] = from[position];
      }
    }
  }
}

void WindowsOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  const auto window_at = [&](std::int64_t position) {
    const auto after =
        std::upper_bound(windows_.begin(), windows_.end(), position,
                         [](std::int64_t p, const Window& w) { return p < w.position; });
    return after - windows_.begin() - 1;
  };
  std::int64_t first = window_at(part.begin);
  const std::int64_t last = window_at(part.end);  // the window that the end cuts, or one past all
  const auto at = [&](std::int64_t i) -> const Window& {
    return windows_[static_cast<std::size_t>(i)];
  };
  if (first == last) return run_inside(at(first), part, to, from);
  if (part.begin > at(first).position) run_inside(at(first++), part, to, from);
  run_windows(first, last, to, from);
  if (part.end > at(last).position) run_inside(at(last), part, to, from);
}

std::string WindowsOp::description() const {
  return fmt::format("{} windows of {} B", count_, kWindowBytes);
}

}  // namespace strake::cpu
