#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "copy/cpu/op.hpp"

namespace strake::cpu {
namespace {

/// Which lane goes where, by mask of units: packing closes the gaps, unpacking opens them.
using LaneTable = std::array<std::uint32_t, 1U << kWindowUnits>;

constexpr LaneTable lane_table(CopyKind kind) {
  LaneTable table{};
  for (std::uint32_t mask = 0; mask < table.size(); ++mask) {
    std::uint32_t packed = 0;
    for (std::uint32_t unit = 0; unit < kWindowUnits; ++unit) {
      if ((mask >> unit & 1) == 0) continue;
      table[mask] |= std::uint32_t{8} << 4 * unit;
      table[mask] |= kind == CopyKind::Pack ? unit << 4 * packed : packed << 4 * unit;
      ++packed;
    }
  }
  return table;
}

constexpr LaneTable kPackLanes = lane_table(CopyKind::Pack);
constexpr LaneTable kUnpackLanes = lane_table(CopyKind::Unpack);

/// The blocks as windows; each begins with the first unit that does not fit the one before. Empty
/// if blocks are no whole units, do not fit 32 bits, or need more than `most` windows. No window
/// begins after `latest`.
std::optional<std::vector<Window>> windows_of(CopyKind kind, const Layout& blocks,
                                              std::int64_t most, std::int64_t latest) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - kWindowBytes;
  if (blocks.bounds().size() > kMost || blocks.size_bytes() > kMost) return std::nullopt;
  const LaneTable& lanes = kind == CopyKind::Pack ? kPackLanes : kUnpackLanes;
  std::vector<Window> windows;
  std::int64_t begin = 0;                                       // of the open window
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // of what it holds
  std::int64_t position = 0;
  std::uint32_t mask = 0;
  bool fits = true;
  const auto close = [&] {
    if (!windows.empty()) windows.back().lanes = lanes[mask];
    mask = 0;
  };
  blocks.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    offset -= blocks.offset();
    fits &= offset % kUnitBytes == 0 && bytes % kUnitBytes == 0;
    while (fits && bytes > 0 && std::ssize(windows) <= most) {
      if (offset < end || offset >= begin + kWindowBytes) {
        close();
        begin = std::min(offset, latest);
        windows.push_back(
            {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(position), 0});
      }
      const std::int64_t taken = std::min(bytes, begin + kWindowBytes - offset);
      const std::uint32_t units = (std::uint32_t{1} << taken / kUnitBytes) - 1;
      mask |= units << (offset - begin) / kUnitBytes;
      offset += taken;
      position += taken;
      bytes -= taken;
      end = offset;
    }
  });
  close();
  if (!fits || std::ssize(windows) > most) return std::nullopt;
  windows.push_back({0, static_cast<std::int32_t>(position), 0});
  return windows;
}

/// As many windows as take the time of so many pieces of one length. Of three times as many places,
/// 3000 in order packed (us, Zen 5 and an Intel Xeon): 4 B 0.84 and 1.5, as 894 windows 0.97
/// and 1.5; 8 B 1.04 and 1.8, 1502 windows 1.5 and 2.5; 12 B 1.1 and 1.9, 2092 windows 2.0 and 3.0.
/// Unpacked (Zen 4 and the Xeon): 4 B 1.1 and 1.2, as windows 0.8 and 1.1; 8 B 1.1 and 1.8, 1.4 and
/// 2.0; 16 B in 1670 windows, five in six places taken, 1.0 and 1.8, 1.4 and 2.3. Where blocks of 4
/// and 8 B are gathered, in 0.8 of the time, fewer windows are.
std::int64_t windows_worth(const ListKernels& kernels, CopyKind kind, std::int64_t pieces,
                           std::int64_t piece) {
  std::int64_t eighths = piece <= 8 ? 3 : piece <= 16 ? 4 : 5;
  if (kernels.gathers && kind == CopyKind::Pack && piece <= 8) eighths = piece / 4;
  return pieces * eighths / 8;
}

}  // namespace

std::int64_t WindowsOp::worth(const Kernels& kernels, CopyKind kind, const Layout& blocks,
                              std::int64_t unit) {
  // A block of a common length costs little more than a window, since no branch depends on its
  // length; blocks of unequal lengths cost as much as a few windows.
  const std::int64_t count = blocks.block_count();
  const std::int64_t for_two = kind == CopyKind::Pack ? kernels.list->windows_for_two
                               : blocks.bounds().size() > kSecondLevelBytes
                                   ? kernels.list->large_windows_for_two
                                   : kUnpackedWindowsForTwo;
  const std::int64_t most = blocks.block_positions().empty() ? count / 4 * 3 : count * for_two / 2;
  if (unit == 0) return most;
  return std::min(most, windows_worth(*kernels.list, kind, blocks.size_bytes() / unit, unit));
}

std::unique_ptr<const WindowsOp> WindowsOp::make(const Kernels& kernels, CopyKind kind,
                                                 const Layout& blocks, std::int64_t most) {
  if (kernels.list->choose_pack_windows == nullptr) return nullptr;
  const bool gaps_readable =
      kind == CopyKind::Pack && gaps_are_mapped(blocks) && blocks.bounds().size() >= kWindowBytes;
  const std::int64_t latest = gaps_readable ? blocks.bounds().end - blocks.offset() - kWindowBytes
                                            : std::numeric_limits<std::int64_t>::max();
  std::optional<std::vector<Window>> windows = windows_of(kind, blocks, most, latest);
  if (!windows) return nullptr;
  return std::make_unique<WindowsOp>(kernels, kind, std::move(*windows), blocks, gaps_readable);
}

WindowsOp::WindowsOp(const Kernels& kernels, CopyKind kind, std::vector<Window> windows,
                     const Layout& blocks, bool gaps_readable)
    : Op(windows.back().position),
      windows_(std::move(windows)),
      count_(static_cast<std::int64_t>(windows_.size()) - 1),
      strided_offset_(blocks.offset()) {
  const bool prefetch = blocks.bounds().size() > kPrefetchedBytes;
  if (kind == CopyKind::Pack) {
    pack_ = kernels.list->choose_pack_windows(prefetch, gaps_readable);
  } else {
    unpack_ = kernels.list->choose_unpack_windows(prefetch);
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
    if ((window.lanes >> 4 * unit & 8) == 0) continue;
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
