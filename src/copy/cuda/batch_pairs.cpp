#include "copy/cuda/batch_pairs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>

namespace strake::cuda {
namespace {

constexpr strake_u32 kNoCount = strake_u32{1} << 31;
// Longer rows fill lines of their own.
constexpr std::int64_t kLongestRow = 64;

const strake_side& box_of(const strake_batch_copy& copy) {
  return copy.to.kind == STRAKE_SIDE_BOX ? copy.to : copy.from;
}

/// Boxes of one shape, or a box and what is dense: short rows, and room for a dim more.
bool may_be_paired(const strake_batch_copy& copy) {
  if (copy.way == STRAKE_WAY_RUN || copy.way == STRAKE_WAY_ANY) return false;
  const strake_side& box = box_of(copy);
  return std::int64_t{box.block.divisor} << copy.word_log2 < kLongestRow &&
         box.count[STRAKE_BOX_DIMS - 2].divisor == kNoCount;
}

/// All but where it lies.
using Shape = std::array<std::int64_t, 7 + 3 * STRAKE_BOX_DIMS>;

Shape shape_of(const strake_batch_copy& copy) {
  Shape shape{};
  auto next = shape.begin();
  const strake_side& box = box_of(copy);
  *next++ = copy.words;
  *next++ = copy.word_log2;
  *next++ = copy.way;
  *next++ = copy.to.slot;
  *next++ = copy.from.slot;
  *next++ = box.block.divisor;
  for (const strake_div32& count : box.count) *next++ = count.divisor;
  for (const strake_side* const side : {&copy.to, &copy.from}) {
    for (const strake_i32 stride : side->stride) *next++ = stride;
  }
  return shape;
}

/// A side of `words` words as a box of the other side's shape.
strake_side shaped_as(const strake_side& side, const strake_side& box) {
  if (side.kind == STRAKE_SIDE_BOX) return side;
  strake_side shaped = side;
  shaped.kind = STRAKE_SIDE_BOX;
  shaped.block = box.block;
  std::int64_t words = box.block.divisor;
  for (std::size_t i = 0; i < STRAKE_BOX_DIMS; ++i) {
    shaped.stride[i] = static_cast<strake_i32>(words);
    if (i + 1 == STRAKE_BOX_DIMS) break;
    shaped.count[i] = box.count[i];
    if (box.count[i].divisor == kNoCount) break;
    words *= box.count[i].divisor;
  }
  return shaped;
}

/// With a row of the side `distance` words further after each of its own; nothing where 32 bits
/// don't hold its distances.
std::optional<strake_side> doubled(const strake_side& side, std::int64_t distance,
                                   std::int64_t words) {
  constexpr std::int64_t kMost = std::numeric_limits<strake_i32>::max();
  std::int64_t span = std::abs(distance) + side.block.divisor;
  std::int64_t rest = words / side.block.divisor;
  for (std::size_t i = 0; i < STRAKE_BOX_DIMS && rest > 1; ++i) {
    const bool last = i + 1 == STRAKE_BOX_DIMS || side.count[i].divisor == kNoCount;
    const std::int64_t count = last ? rest : std::int64_t{side.count[i].divisor};
    span += (count - 1) * std::abs(std::int64_t{side.stride[i]});
    rest /= count;
  }
  if (span > kMost) return std::nullopt;
  strake_side made = side;
  std::copy_backward(side.stride, side.stride + STRAKE_BOX_DIMS - 1, made.stride + STRAKE_BOX_DIMS);
  std::copy_backward(side.count, side.count + STRAKE_BOX_DIMS - 2,
                     made.count + STRAKE_BOX_DIMS - 1);
  made.stride[0] = static_cast<strake_i32>(distance);
  made.count[0] = strake_make_div32(2);
  return made;
}

/// Whether each row of the one lies between two rows of the other.
bool interleaved(const strake_batch_copy& a, const strake_batch_copy& b) {
  const auto between = [&](const strake_side& first, const strake_side& second) {
    const std::int64_t pitch = std::abs(std::int64_t{first.stride[0]}) << a.word_log2;
    return first.kind == STRAKE_SIDE_BOX && std::abs(second.offset - first.offset) < pitch;
  };
  return between(a.to, b.to) || between(a.from, b.from);
}

std::optional<strake_batch_copy> joined(const strake_batch_copy& a, const strake_batch_copy& b) {
  if (!interleaved(a, b)) return std::nullopt;
  if (2 * a.words > std::numeric_limits<strake_i32>::max()) return std::nullopt;
  const auto join = [&](const strake_side& first, const strake_side& second) {
    return doubled(shaped_as(first, box_of(a)), (second.offset - first.offset) >> a.word_log2,
                   a.words);
  };
  const std::optional<strake_side> to = join(a.to, b.to);
  const std::optional<strake_side> from = join(a.from, b.from);
  if (!to || !from) return std::nullopt;
  strake_batch_copy made = a;
  made.words = 2 * a.words;
  made.way = STRAKE_WAY_BOXES;
  made.prefetch = static_cast<strake_i32>(a.prefetch != 0 || b.prefetch != 0);
  made.to = *to;
  made.from = *from;
  return made;
}

}  // namespace

PairedCopies pair_copies(const std::vector<strake_batch_copy>& copies) {
  PairedCopies paired;
  std::map<Shape, std::size_t> alone;  // where in `paired` one lies that has no other yet
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (may_be_paired(copies[i])) {
      const Shape shape = shape_of(copies[i]);
      if (const auto found = alone.find(shape); found != alone.end()) {
        const std::size_t other = found->second;
        alone.erase(found);
        if (const auto both = joined(paired.copies[other], copies[i])) {
          paired.copies[other] = *both;
          continue;
        }
      }
      alone.emplace(shape, paired.copies.size());
    }
    paired.copies.push_back(copies[i]);
    paired.origins.push_back(i);
  }
  return paired;
}

}  // namespace strake::cuda
