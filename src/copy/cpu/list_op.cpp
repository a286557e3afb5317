#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "copy/cpu/op.hpp"

namespace strake::cpu {
namespace {

bool fits_32_bits(std::span<const std::int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) {
    return value >= std::numeric_limits<std::int32_t>::min() &&
           value <= std::numeric_limits<std::int32_t>::max();
  });
}

/// Whether most blocks lie in another page than the one before.
bool are_scattered(std::span<const std::int64_t> offsets) {
  constexpr std::int64_t kPage = 4096;
  std::size_t far = 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    const std::int64_t apart = offsets[i] - offsets[i - 1];
    far += apart >= kPage || apart <= -kPage;
  }
  return far > offsets.size() / 2;
}

/// The length that nine of ten blocks do not exceed.
std::int64_t usual_length(std::span<const std::int64_t> positions) {
  std::vector<std::int64_t> lengths(positions.size() - 1);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = positions[i + 1] - positions[i];
  const auto ninth = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() * 9 / 10);
  std::nth_element(lengths.begin(), ninth, lengths.end());
  return *ninth;
}

}  // namespace

bool gaps_are_mapped(const Layout& blocks) {
  // If each half page has a byte of a block, no gap contains a whole page.
  constexpr std::int64_t kHalfPage = 2048;
  const std::int64_t begin = blocks.bounds().begin;
  const std::int64_t halves = (blocks.bounds().size() - 1) / kHalfPage + 1;
  if (halves > blocks.size_bytes()) return false;
  std::vector<bool> touched(static_cast<std::size_t>(halves));
  blocks.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    const std::int64_t last = (offset - begin + bytes - 1) / kHalfPage;
    for (std::int64_t half = (offset - begin) / kHalfPage; half <= last; ++half) {
      touched[static_cast<std::size_t>(half)] = true;
    }
  });
  return std::all_of(touched.begin(), touched.end(), [](bool half) { return half; });
}

ListOp::ListOp(const Kernels& kernels, CopyKind kind, const Layout& blocks, std::int64_t unit)
    : Op(blocks.size_bytes()),
      kind_(kind),
      strided_offset_(blocks.offset()),
      kernels_(*kernels.nest) {
  std::vector<std::int64_t> cut;
  std::span<const std::int64_t> offsets = blocks.block_offsets();
  std::span<const std::int64_t> positions = blocks.block_positions();
  if (unit != 0 && (!positions.empty() || offsets.empty())) {
    cut.reserve(static_cast<std::size_t>(blocks.size_bytes() / unit));
    blocks.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
      for (std::int64_t at = 0; at < bytes; at += unit)
        cut.push_back(offset - strided_offset_ + at);
    });
    offsets = cut;
    positions = {};
  }
  count_ = static_cast<std::int64_t>(offsets.size());
  list_.block = !positions.empty() ? usual_length(positions)
                : unit != 0        ? unit
                                   : blocks.block_bytes();
  const std::int64_t reach = blocks.bounds().size();
  const bool spread = reach >= kLine / 2 * count_;
  list_.prefetch = reach > kPrefetchedBytes ||
                   (kind == CopyKind::Unpack &&
                    ((reach > kernels.list->spread_bytes && spread) ||
                     (reach > kernels.list->scattered_bytes && are_scattered(offsets))));
  list_.large = blocks.size_bytes() > kSecondLevelBytes;
  list_.readable_end = std::numeric_limits<std::int64_t>::min();
  if (!positions.empty() && kind == CopyKind::Pack && gaps_are_mapped(blocks)) {
    list_.readable_end = blocks.bounds().end - blocks.offset();
  }
  if (fits_32_bits(offsets) && fits_32_bits(positions)) {
    narrow_.reserve(offsets.size() + positions.size());
    for (const std::int64_t offset : offsets) narrow_.push_back(static_cast<std::int32_t>(offset));
    for (const std::int64_t at : positions) narrow_.push_back(static_cast<std::int32_t>(at));
    list_.offsets32 = narrow_.data();
    if (!positions.empty()) list_.positions32 = narrow_.data() + offsets.size();
  } else {
    wide_.assign(offsets.begin(), offsets.end());
    wide_.insert(wide_.end(), positions.begin(), positions.end());
    list_.offsets64 = wide_.data();
    if (!positions.empty()) list_.positions64 = wide_.data() + offsets.size();
  }
  if (kind == CopyKind::Pack) {
    pack_ = kernels.list->choose_pack(list_);
  } else {
    unpack_ = kernels.list->choose_unpack(list_);
  }
}

void ListOp::run_blocks(std::int64_t first, std::int64_t last, std::byte* to,
                        const std::byte* from) const {
  if (first >= last) return;
  if (kind_ == CopyKind::Pack) {
    pack_(list_, first, last, to, from + strided_offset_);
  } else {
    unpack_(list_, first, last, to + strided_offset_, from);
  }
}

void ListOp::run_inside(std::int64_t block, ByteRange part, std::byte* to,
                        const std::byte* from) const {
  const std::int64_t strided = strided_offset_ + offset_of(block) - position_of(block);
  if (kind_ == CopyKind::Pack) {
    from += strided;
  } else {
    to += strided;
  }
  kernels_.copy(to + part.begin, from + part.begin, part.size());
}

std::int64_t ListOp::offset_of(std::int64_t block) const {
  return list_.offsets32 != nullptr ? list_.offsets32[block] : list_.offsets64[block];
}

std::int64_t ListOp::position_of(std::int64_t block) const {
  if (list_.positions32 != nullptr) return list_.positions32[block];
  return list_.positions64 != nullptr ? list_.positions64[block] : block * list_.block;
}

std::int64_t ListOp::block_at(std::int64_t position) const {
  const auto search = [&](const auto* positions) {
    return std::upper_bound(positions, positions + count_, position) - positions - 1;
  };
  if (list_.positions32 != nullptr) return search(list_.positions32);
  return list_.positions64 != nullptr ? search(list_.positions64) : position / list_.block;
}

void ListOp::run(std::byte* to, const std::byte* from) const { run_blocks(0, count_, to, from); }

void ListOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  std::int64_t first = block_at(part.begin);
  const std::int64_t last = block_at(part.end - 1) + 1;  // one past the last block that is touched
  if (first + 1 == last) return run_inside(first, part, to, from);
  if (part.begin > position_of(first)) {
    run_inside(first, {part.begin, position_of(first + 1)}, to, from);
    ++first;
  }
  const bool tail_cut = part.end < position_of(last);
  run_blocks(first, tail_cut ? last - 1 : last, to, from);
  if (tail_cut) run_inside(last - 1, {position_of(last - 1), part.end}, to, from);
}

std::string ListOp::description() const {
  const bool own = list_.positions32 != nullptr || list_.positions64 != nullptr;
  return own ? fmt::format("{} blocks of their own lengths", count_)
             : fmt::format("{} blocks of {} B", count_, list_.block);
}

}  // namespace strake::cpu
