/// \file  Bricks: a field cut into small blocks of fixed extents, each of which is contiguous, and
/// a table that names the neighbours of each. Source: Zhao et al., "Delivering performance-portable
/// stencil computations on CPUs and GPUs using bricks" (P3HPC 2018), and PPoPP 2021.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace strake {

/// The extents of a brick along each axis: x first, which is contiguous, `Shape<8, 8, 8>`.
template <int... Extents>
struct Shape {
  static_assert(sizeof...(Extents) >= 1 && sizeof...(Extents) <= 5, "a brick has 1 to 5 axes");
  static_assert(((Extents > 0) && ...), "a brick has a cell or more along each axis");
  static constexpr int dims = sizeof...(Extents);
  static constexpr std::array<int, sizeof...(Extents)> extent{Extents...};
  static constexpr int cells = (Extents * ...);
};

/// Bricks around a brick of so many axes, itself among them: 3^Dims. The brick in a direction d has
/// the code sum of (d[a] + 1) * 3^a, where each d[a] is -1, 0 or 1.
template <int Dims>
inline constexpr int neighbours = 3 * neighbours<Dims - 1>;
template <>
inline constexpr int neighbours<0> = 1;

/// The code of a brick among its own neighbours: that of the direction (0, 0, …).
template <int Dims>
inline constexpr int own_code = neighbours<Dims> / 2;

/// An entry of BrickView::adjacency: nothing is stored in this direction.
inline constexpr std::int64_t kNoBrick = std::numeric_limits<std::int64_t>::min();

/// A brick, or some axes of one whose slower axes are chosen: `view[brick][k][j][i]`. An index
/// along an axis runs from -extent to 2 * extent - 1, and so into the neighbouring bricks.
template <typename View, int Axes>
class BrickCells {
 public:
  constexpr BrickCells(const View& view, std::int64_t brick, int code, int inside) noexcept
      : view_(&view), brick_(brick), code_(code), cell_(inside) {}
  /// The next axis; the cell itself, by reference, if none is left. The brick there must be stored.
  [[nodiscard]] constexpr decltype(auto) operator[](int index) const noexcept {
    constexpr int kExtent = View::shape::extent[Axes - 1];
    const int side = index < 0 ? -1 : index >= kExtent ? 1 : 0;
    const int code = code_ + (side + 1) * neighbours<Axes - 1>;
    const int inside = cell_ * kExtent + index - side * kExtent;
    if constexpr (Axes == 1)
      return view_->data(brick_, code)[inside];
    else
      return BrickCells<View, Axes - 1>(*view_, brick_, code, inside);
  }

 private:
  const View* view_;
  std::int64_t brick_;
  int code_;  // of the slower axes
  int cell_;  // within the brick, of the slower axes
};

/// Bricks of one field, as stencils see them. Owns nothing; a plain value of 16 bytes. Each call
/// costs the read of an entry of `adjacency`.
template <typename T, typename S>
struct BrickView {
  using value_type = std::remove_const_t<T>;
  using shape = S;
  static constexpr int codes = neighbours<S::dims>;

  T* base = nullptr;
  /// `adjacency[brick * codes + code]`: where the first cell of that neighbour is, in bytes from
  /// `base`, perhaps below it; or kNoBrick.
  const std::int64_t* adjacency = nullptr;

  /// Whether a neighbour is stored.
  [[nodiscard]] constexpr bool has(std::int64_t brick, int code) const noexcept {
    return adjacency[brick * codes + code] != kNoBrick;
  }
  /// The cells of a neighbour, which must be stored, or of the brick itself. x counts fastest.
  [[nodiscard]] T* data(std::int64_t brick, int code = own_code<S::dims>) const noexcept {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(base) + adjacency[brick * codes + code]);
  }
  /// Cells by index, the slowest axis first: `view[brick][k][j][i]`. Valid as long as the view.
  [[nodiscard]] constexpr BrickCells<BrickView, S::dims> operator[](
      std::int64_t brick) const noexcept {
    return {*this, brick, 0, 0};
  }
  /// The view that only reads.
  [[nodiscard]] constexpr operator BrickView<const T, S>() const noexcept  // NOLINT(*-explicit-*)
      requires(!std::is_const_v<T>) {
    return {base, adjacency};
  }
};

}  // namespace strake
