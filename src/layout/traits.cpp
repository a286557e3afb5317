#include "layout/traits.hpp"

#include <algorithm>
#include <cstdlib>

namespace strake {
namespace {

/// The box with the most blocks, of a struct of boxes or of copies of one.
const Layout& main_part(const Layout& layout) noexcept {
  const Layout* part = &layout;
  while (part->kind() == Layout::Kind::Sequence || part->kind() == Layout::Kind::Repeat) {
    const auto parts = part->parts();
    part = &*std::max_element(parts.begin(), parts.end(), [](const Layout& a, const Layout& b) {
      return a.block_count() < b.block_count();
    });
  }
  return *part;
}

}  // namespace

Spread spread_of(const Layout& whole) noexcept {
  const Layout& layout = main_part(whole);
  constexpr std::int64_t kFar = 1024;
  constexpr std::int64_t kSparse = 32;
  constexpr std::int64_t kLine = 64;
  if (layout.kind() != Layout::Kind::Box || layout.dims().empty()) return Spread::Near;
  const auto dims = layout.dims();
  const std::int64_t inner = std::abs(dims.back().stride_bytes);
  if (inner < kSparse) return Spread::Near;
  for (const Dim& dim : dims.first(dims.size() - 1)) {
    // A few columns, or columns a line apart, do not fill the line; longer blocks fill it alone.
    const std::int64_t stride = std::abs(dim.stride_bytes);
    const bool fills =
        stride <= std::max(layout.block_bytes(), kLine / 2) && layout.block_bytes() <= kLine;
    if (stride < inner && fills && stride * dim.count >= kLine) {
      return inner < kFar ? Spread::Near : Spread::Transpose;
    }
  }
  return inner < kFar ? Spread::Sparse : Spread::Far;
}

std::int64_t pitch_of(const Layout& whole) noexcept {
  const Layout& layout = main_part(whole);
  if (layout.kind() != Layout::Kind::Box || layout.dims().empty()) return 0;
  return std::abs(layout.dims().back().stride_bytes);
}

}  // namespace strake
