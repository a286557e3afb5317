/// \file  Stencils on bricks and on arrays: each cell becomes a weighted sum of cells around it.
///
///   constexpr auto heat = strake::star<3, 1>(0.4, 0.1);                    // 7 points
///   heat.apply(bricks, from, to);                                          // views of bricks
///   heat.apply<double>({{0, 0, 0}, {n, n, n}}, from, to, {pitch, plane});  // arrays
///
/// Products are added in the order of the taps, from the first product on, on bricks as on arrays,
/// so that both give equal bits. A compiler that joins products and sums (fused multiply-add) may
/// join others on bricks than on arrays; results then differ by the rounding of a product.
/// Calls are local, allocate nothing and throw nothing. Threads may share a stencil.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "strake/brick_view.hpp"
#include "strake/stencil_array.hpp"
#include "strake/stencil_kernel.hpp"

namespace strake {

/// A stencil: taps, which are known when it is compiled, and the numbers that are coefficients.
/// Made by star(), box() or stencil(). Elements are float or double; for floats the coefficients
/// are rounded to floats.
template <typename Taps>
class Stencil {
 public:
  static constexpr int dims = Taps::dims;
  static constexpr int inputs = Taps::inputs;  ///< fields that are read, coefficients among them
  static constexpr std::array<detail::StencilTap, Taps::taps.size()> taps = Taps::taps;
  using Numbers = std::array<double, std::size_t(Taps::numbers)>;

  constexpr explicit Stencil(const Numbers& numbers) noexcept : numbers_(numbers) {}

  /// How many cells the stencil reaches along an axis: the depth of the ghost cells that it needs.
  [[nodiscard]] static constexpr int reach(int axis) noexcept {
    int most = 0;
    for (const detail::StencilTap& tap : taps) {
      const int cells = tap.offset[static_cast<std::size_t>(axis)];
      most = std::max(most, cells < 0 ? -cells : cells);
    }
    return most;
  }

  /// reach() along each axis.
  [[nodiscard]] static constexpr std::array<int, std::size_t(dims)> reaches() noexcept {
    std::array<int, std::size_t(dims)> made{};
    for (int axis = 0; axis < dims; ++axis) made[static_cast<std::size_t>(axis)] = reach(axis);
    return made;
  }

  /// Computes the cells of some bricks. `to` is another field than each of `from`. The neighbours
  /// that the stencil reaches must be stored. \param bricks  numbers of bricks, in any order
  template <typename T, typename S>
  void apply(
      std::span<const std::int32_t> bricks,
      const std::type_identity_t<std::array<BrickView<const T, S>, std::size_t(inputs)>>& from,
      BrickView<T, S> to) const noexcept {
    check_element<T>();
    static_assert(S::dims == dims, "the stencil has as many axes as the bricks");
    static_assert(reaches_one_brick<S>(), "a stencil reaches no further than the next brick");
    const auto numbers = numbers_as<T>();
    for (std::size_t i = 0; i < bricks.size(); ++i) {
      const std::int32_t brick = bricks[i];
      const detail::NextBrick<Taps, T, S> next(from, to, bricks[i + 1 < bricks.size() ? i + 1 : i]);
      detail::apply_to_brick<Taps, T, S, detail::kRowVectorBytes<T, S>>(
          numbers, from, to.data(brick), brick, next);
    }
  }
  template <typename T, typename S>
  void apply(std::span<const std::int32_t> bricks,
             const std::type_identity_t<BrickView<const T, S>>& from,
             BrickView<T, S> to) const noexcept requires(inputs == 1) {
    apply<T, S>(bricks, std::array<BrickView<const T, S>, 1>{from}, to);
  }

  /// Computes the cells of a box of an array; `to` is another array than each of `from`.
  /// \param from, to  the addresses of cell (0, 0, …), in arrays of equal strides
  /// \param strides  between neighbours along y, z, …; x is contiguous [elements]
  template <typename T>
  void apply(const CellBox<dims>& cells,
             const std::type_identity_t<std::array<const T*, std::size_t(inputs)>>& from, T* to,
             const std::array<std::int64_t, std::size_t(dims - 1)>& strides) const noexcept {
    check_element<T>();
    using Loops = detail::ArrayLoops<Taps, T, detail::kVectorBytes>;
    typename Loops::Strides all{1};
    typename Loops::Box box{{}, {1, 1, 1, 1, 1}};
    std::copy(strides.begin(), strides.end(), all.begin() + 1);
    std::copy(cells.lower.begin(), cells.lower.end(), box.lower.begin());
    std::copy(cells.upper.begin(), cells.upper.end(), box.upper.begin());
    Loops(numbers_as<T>(), from, to, all).run(box);
  }
  template <typename T>
  void apply(const CellBox<dims>& cells, const std::type_identity_t<T>* from, T* to,
             const std::array<std::int64_t, std::size_t(dims - 1)>& strides) const noexcept
      requires(inputs == 1) {
    apply<T>(cells, std::array<const T*, 1>{from}, to, strides);
  }

 private:
  template <typename T>
  static constexpr void check_element() noexcept {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "stencils are of floats or of doubles");
  }
  template <typename S>
  static constexpr bool reaches_one_brick() noexcept {
    for (int axis = 0; axis < dims; ++axis)
      if (reach(axis) > S::extent[static_cast<std::size_t>(axis)]) return false;
    return true;
  }
  template <typename T>
  [[nodiscard]] constexpr std::array<T, std::size_t(Taps::numbers)> numbers_as() const noexcept {
    std::array<T, std::size_t(Taps::numbers)> made{};
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<T>(numbers_[i]);
    return made;
  }

  Numbers numbers_;
};

/// The taps of star(): along each axis up to a distance, the centre among them, from the lowest
/// cell to the highest, x fastest. The number of a tap is its distance.
template <int Dims, int Reach>
struct StarTaps {
  static constexpr int dims = Dims;
  static constexpr int inputs = 1;
  static constexpr int numbers = Reach + 1;
  static constexpr auto taps = [] {
    std::array<detail::StencilTap, std::size_t(2 * Dims * Reach + 1)> made{};
    std::size_t at = 0;
    const auto add = [&](int axis, int distance) {
      made[at].offset[static_cast<std::size_t>(axis)] = distance;
      made[at++].number = distance < 0 ? -distance : distance;
    };
    for (int axis = Dims - 1; axis >= 0; --axis)
      for (int distance = Reach; distance > 0; --distance) add(axis, -distance);
    add(0, 0);
    for (int axis = 0; axis < Dims; ++axis)
      for (int distance = 1; distance <= Reach; ++distance) add(axis, distance);
    return made;
  }();
};

/// The taps of box(): all cells up to a distance along each axis, x fastest. The number of a tap is
/// its own, or (ByClass) one for all taps whose distances along the axes are the same but for their
/// order: first those of (0, 0, 0), then (1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 0, 0), …
template <int Dims, int Reach, bool ByClass>
struct BoxTaps {
  static constexpr int dims = Dims;
  static constexpr int inputs = 1;
  static constexpr int count = detail::power(2 * Reach + 1, Dims);
  /// Ways to choose Dims distances of 0 to Reach, in any order.
  static constexpr int classes = detail::choices(Reach, Dims);
  static constexpr int numbers = ByClass ? classes : count;
  static constexpr auto taps = [] {
    std::array<detail::StencilTap, std::size_t(count)> made{};
    for (int i = 0; i < count; ++i) {
      auto& tap = made[static_cast<std::size_t>(i)];
      int rest = i;
      for (std::size_t axis = 0; axis < Dims; ++axis, rest /= 2 * Reach + 1)
        tap.offset[axis] = rest % (2 * Reach + 1) - Reach;
      tap.number = ByClass ? detail::class_of(tap.offset, Dims) : i;
    }
    return made;
  }();
};

/// A number of an input, for tap(): `input<1>`.
template <int Number>
struct Input {};
template <int Number>
inline constexpr Input<Number> input{};

/// A tap of stencil(). `Coefficient` is the input whose value at the cell is the coefficient; -1:
/// `number` is.
template <int Of, int Coefficient, int... Offsets>
struct Tap {
  static constexpr int dims = sizeof...(Offsets);
  static constexpr int inputs = std::max(Of, Coefficient) + 1;
  double number = 0;
  [[nodiscard]] static constexpr detail::StencilTap with_number(int number) noexcept {
    return {Of, {Offsets...}, number, Coefficient};
  }
};

/// \{ The cell at an offset along x, y, …, of input 0 or another one, times a number, or times
/// another input's value at the cell itself: `tap<1, 0, 0>(0.5)`, `tap<0, -1>(input<2>, input<1>)`.
template <int... Offsets, int Of = 0>
[[nodiscard]] constexpr Tap<Of, -1, Offsets...> tap(double coefficient,
                                                    Input<Of> /*of*/ = {}) noexcept {
  return {coefficient};
}
template <int... Offsets, int Coefficient, int Of = 0>
[[nodiscard]] constexpr Tap<Of, Coefficient, Offsets...> tap(Input<Coefficient> /*coefficient*/,
                                                             Input<Of> /*of*/ = {}) noexcept {
  return {};
}
/// \}

/// The taps of stencil(), in its order. The number of a tap is its own.
template <typename First, typename... Others>
struct ListedTaps {
  static constexpr int dims = First::dims;
  static_assert(((Others::dims == dims) && ...), "taps have offsets along the same axes");
  static constexpr int inputs = std::max({First::inputs, Others::inputs...});
  static constexpr int numbers = 1 + sizeof...(Others);
  static constexpr auto taps = []<int... I>(std::integer_sequence<int, I...> /*others*/) {
    return std::array<detail::StencilTap, std::size_t(numbers)>{First::with_number(0),
                                                                Others::with_number(I + 1)...};
  }
  (std::make_integer_sequence<int, numbers - 1>{});
};

/// A stencil along the axes, with a coefficient for each distance from the centre, 0 first:
/// `star<3, 1>(0.4, 0.1)` has 7 points. Taps go from the lowest cell to the highest, x fastest.
template <int Dims, int Reach, typename... Coefficients>
[[nodiscard]] constexpr Stencil<StarTaps<Dims, Reach>> star(Coefficients... by_distance) noexcept {
  static_assert(sizeof...(Coefficients) == Reach + 1, "a star has a coefficient for each distance");
  return Stencil<StarTaps<Dims, Reach>>({static_cast<double>(by_distance)...});
}

/// \{ A stencil of all cells up to a distance along each axis, x fastest: with a coefficient for
/// each, or one for each class of BoxTaps: `box<3, 1>(centre, face, edge, corner)`.
template <int Dims, int Reach, std::size_t Count>
[[nodiscard]] constexpr auto box(const std::array<double, Count>& coefficients) noexcept {
  using ByClass = BoxTaps<Dims, Reach, true>;
  static_assert(Count == ByClass::classes || Count == ByClass::count,
                "a box has a coefficient for each cell, or for each class of cells");
  return Stencil<BoxTaps<Dims, Reach, Count == ByClass::classes>>(coefficients);
}
template <int Dims, int Reach, typename... Coefficients>
requires(std::is_arithmetic_v<Coefficients>&&...)
    [[nodiscard]] constexpr auto box(Coefficients... coefficients) noexcept {
  return box<Dims, Reach>(
      std::array<double, sizeof...(Coefficients)>{static_cast<double>(coefficients)...});
}
/// \}

/// A stencil of any taps: `stencil(tap<-1, 0>(0.5), tap<1, 0>(0.5), tap<0, 0>(1, input<1>))`.
template <typename... Taps>
[[nodiscard]] constexpr Stencil<ListedTaps<Taps...>> stencil(Taps... taps) noexcept {
  return Stencil<ListedTaps<Taps...>>({taps.number...});
}

}  // namespace strake
