#include "copy/cuda/batch_parts.hpp"

#include <algorithm>

#include "strake/layout.hpp"

namespace strake::cuda {
namespace {

/// The parts of a layout that is made of parts, if they are long and no more than `most`; else
/// nothing.
std::vector<Layout> parts_of(const Layout& layout, std::int64_t most) {
  // Least average size of a part, so that its record of 240 bytes is small beside it. [bytes]
  constexpr std::int64_t kShortest = 4096;
  std::vector<Layout> parts;
  if (layout.kind() == Layout::Kind::Sequence) {
    const auto count = static_cast<std::int64_t>(layout.parts().size());
    if (count > most || layout.size_bytes() / kShortest < count) return {};
    for (const Layout& part : layout.parts()) parts.push_back(part.shifted(layout.offset()));
  } else if (layout.kind() == Layout::Kind::Repeat) {
    const Dim dim = layout.dims()[0];
    if (dim.count > most || layout.size_bytes() / kShortest < dim.count) return {};
    for (std::int64_t i = 0; i < dim.count; ++i)
      parts.push_back(layout.parts()[0].shifted(layout.offset() + i * dim.stride_bytes));
  }
  return parts;
}

/// A dense layout cut as `parts` are.
std::vector<Layout> cut_as(const Layout& dense, const std::vector<Layout>& parts) {
  std::vector<Layout> cut;
  std::int64_t at = dense.offset();
  for (const Layout& part : parts) {
    cut.push_back(Layout::dense(part.size_bytes(), at));
    at += part.size_bytes();
  }
  return cut;
}

}  // namespace

std::vector<CopyBatch::Copy> parts_of(const CopyBatch::Copy& copy, std::int64_t most) {
  std::vector<Layout> to = parts_of(copy.to, most);
  std::vector<Layout> from = parts_of(copy.from, most);
  if (to.empty() && copy.to.is_dense()) to = cut_as(copy.to, from);
  if (from.empty() && copy.from.is_dense()) from = cut_as(copy.from, to);
  const auto same_size = [](const Layout& a, const Layout& b) {
    return a.size_bytes() == b.size_bytes();
  };
  if (!std::ranges::equal(to, from, same_size)) return {};
  std::vector<CopyBatch::Copy> copies;
  for (std::size_t i = 0; i < to.size(); ++i)
    copies.push_back({to[i], copy.to_slot, from[i], copy.from_slot});
  return copies;
}

}  // namespace strake::cuda
