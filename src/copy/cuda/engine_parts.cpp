#include "copy/cuda/engine_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "strake/layout.hpp"

namespace strake::cuda {
namespace {

constexpr std::int64_t kLongestPitch = INT32_MAX;  // longer ones are refused

bool same_count(const Dim& a, const Dim& b) { return a.count == b.count; }

/// A side in the part's shape; nothing where its rows or planes don't follow each other.
std::optional<EngineSide> side_of(const Layout& layout, std::int32_t slot, const EnginePart& part) {
  EngineSide side{slot, layout.offset(), part.row_bytes, part.rows};
  const auto dims = layout.dims();
  if (dims.empty()) return side;  // dense
  const std::int64_t pitch = dims.back().stride_bytes;
  if (pitch < part.row_bytes || pitch > kLongestPitch) return std::nullopt;
  side.pitch = pitch;
  if (dims.size() == 1) return side;
  const std::int64_t plane = dims[0].stride_bytes;
  if (plane % pitch != 0 || plane / pitch < part.rows) return std::nullopt;
  side.plane_rows = plane / pitch;
  return side;
}

}  // namespace

std::optional<EnginePart> engine_part_of(const CopyBatch::Copy& copy) {
  for (const Layout* const layout : {&copy.to, &copy.from})
    if (layout->kind() != Layout::Kind::Box || layout->dims().size() > 2) return std::nullopt;
  const Layout& box = copy.to.is_dense() ? copy.from : copy.to;
  if (!copy.to.is_dense() && !copy.from.is_dense() &&
      (copy.to.block_bytes() != copy.from.block_bytes() ||
       !std::ranges::equal(copy.to.dims(), copy.from.dims(), same_count)))
    return std::nullopt;
  EnginePart part;
  part.row_bytes = box.block_bytes();
  if (part.row_bytes > kLongestPitch) return std::nullopt;
  const auto dims = box.dims();
  if (!dims.empty()) part.rows = dims.back().count;
  if (dims.size() == 2) part.planes = dims[0].count;
  const auto to = side_of(copy.to, copy.to_slot, part);
  const auto from = side_of(copy.from, copy.from_slot, part);
  if (!to || !from) return std::nullopt;
  part.to = *to;
  part.from = *from;
  return part;
}

}  // namespace strake::cuda
