/// \file  Stencils on bricks and on arrays against sums that are written plainly.
#include "strake/stencil.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace strake {
namespace {

/// Bricks in shuffled order, and an array of the same cells: some bricks along each axis, of which
/// the outermost are ghosts.
template <typename T, typename S>
class TestBricks {
 public:
  static constexpr int kDims = S::dims;
  static constexpr int kCodes = neighbours<kDims>;
  static constexpr int kAlong = kDims > 3 ? 3 : 4;  // bricks along an axis
  using Index = std::array<std::int64_t, std::size_t(kDims)>;

  TestBricks() : numbers_(std::size_t(power(kAlong))) {
    std::iota(numbers_.begin(), numbers_.end(), 0);
    std::shuffle(numbers_.begin(), numbers_.end(), random_);
    adjacency_.assign(numbers_.size() * kCodes, kNoBrick);
    for (std::int64_t place = 0; place < power(kAlong); ++place) connect(place);
    std::shuffle(inner_.begin(), inner_.end(), random_);
  }
  [[nodiscard]] std::int64_t cells() const { return power(kAlong) * S::cells; }
  [[nodiscard]] std::span<const std::int32_t> inner() const { return inner_; }
  [[nodiscard]] BrickView<T, S> view(std::vector<T>& bricks) const {
    // Offsets count from the middle, so that some are negative.
    return {bricks.data() + kMiddle, adjacency_.data()};
  }
  /// Strides of the array; the first is 1.
  [[nodiscard]] static Index strides() {
    Index made{1};
    for (std::size_t axis = 1; axis < kDims; ++axis)
      made[axis] = made[axis - 1] * kAlong * S::extent[axis - 1];
    return made;
  }
  [[nodiscard]] std::vector<T> random_array() {
    std::vector<T> made(std::size_t(cells()), T(0));
    std::uniform_real_distribution<T> values(-1, 1);
    for (T& value : made) value = values(random_);
    return made;
  }
  /// Calls `visit(cell of the array, cell among all bricks)`, for all bricks or the inner ones.
  template <typename Visit>
  void for_each_cell(bool inner, const Visit& visit) const {
    for (std::int64_t place = 0; place < power(kAlong); ++place) {
      if (inner && !is_inner(place)) continue;
      for (std::int64_t cell = 0; cell < S::cells; ++cell) {
        std::int64_t at = 0, rest = cell, brick = place;
        for (std::size_t axis = 0; axis < kDims; ++axis) {
          at += strides()[axis] * (brick % kAlong * S::extent[axis] + rest % S::extent[axis]);
          rest /= S::extent[axis];
          brick /= kAlong;
        }
        visit(at, numbers_[std::size_t(place)] * S::cells + cell);
      }
    }
  }
  [[nodiscard]] std::vector<T> as_bricks(const std::vector<T>& array) const {
    std::vector<T> made(array.size());
    for_each_cell(false,
                  [&](auto from, auto to) { made[std::size_t(to)] = array[std::size_t(from)]; });
    return made;
  }
  [[nodiscard]] static CellBox<kDims> inner_box() {
    CellBox<kDims> box;
    for (std::size_t axis = 0; axis < kDims; ++axis) {
      box.lower[axis] = S::extent[axis];
      box.upper[axis] = (kAlong - 1) * S::extent[axis];
    }
    return box;
  }

 private:
  static constexpr std::int64_t kMiddle = 7 * S::cells;
  static constexpr std::int64_t power(std::int64_t base) {
    std::int64_t made = 1;
    for (int axis = 0; axis < kDims; ++axis) made *= base;
    return made;
  }
  [[nodiscard]] static bool is_inner(std::int64_t place) {
    for (int axis = 0; axis < kDims; ++axis, place /= kAlong)
      if (place % kAlong == 0 || place % kAlong == kAlong - 1) return false;
    return true;
  }
  void connect(std::int64_t place) {
    const std::int32_t brick = numbers_[std::size_t(place)];
    for (int code = 0; code < kCodes; ++code) {
      std::int64_t there = 0, rest = place, step = 1;
      int directions = code;
      bool stored = true;
      for (int axis = 0; axis < kDims; ++axis, rest /= kAlong, directions /= 3, step *= kAlong) {
        const std::int64_t at = rest % kAlong + directions % 3 - 1;
        stored = stored && at >= 0 && at < kAlong;
        there += at * step;
      }
      if (!stored) continue;
      adjacency_[std::size_t(brick * kCodes + code)] =
          (numbers_[std::size_t(there)] * S::cells - kMiddle) * std::int64_t(sizeof(T));
    }
    if (is_inner(place)) inner_.push_back(brick);
  }

  std::mt19937_64 random_{1};
  std::vector<std::int32_t> numbers_;  // by place, x fastest
  std::vector<std::int64_t> adjacency_;
  std::vector<std::int32_t> inner_;
};

/// The stencil of a cell, plainly, and how far it may be from one whose products are joined with
/// sums: a rounding of the greatest sum for each tap. `numbers` are by tap.
template <typename St, typename T, typename Strides>
std::array<T, 2> plain_sum(const std::vector<T>& numbers, const std::vector<std::vector<T>>& from,
                           const Strides& strides, std::int64_t at) {
  T sum = 0, most = 0;
  for (std::size_t i = 0; i < St::taps.size(); ++i) {
    const detail::StencilTap& tap = St::taps[i];
    std::int64_t there = at;
    for (std::size_t axis = 0; axis < strides.size(); ++axis)
      there += tap.offset[axis] * strides[axis];
    const T factor = tap.coefficient < 0 ? numbers[std::size_t(tap.number)]
                                         : from[std::size_t(tap.coefficient)][std::size_t(at)];
    const T product = factor * from[std::size_t(tap.input)][std::size_t(there)];
    sum = i == 0 ? product : sum + product;
    most = std::max({most, std::abs(sum), std::abs(product)});
  }
  return {sum, T(St::taps.size()) * std::numeric_limits<T>::epsilon() * most};
}

template <typename T>
void expect_equal(T expected, T found, T tolerance) {
#if defined(__FMA__) || defined(__aarch64__)  // the compiler may join a product and a sum
  ASSERT_NEAR(expected, found, tolerance);
#else
  (void)tolerance;
  ASSERT_EQ(expected, found);
#endif
}

/// Compares bricks and arrays with the plain sums. `numbers` are those of the stencil.
template <typename T, typename S, typename St>
void expect_right(const St& stencil, const std::vector<T>& numbers) {
  TestBricks<T, S> bricks;
  const auto strides = bricks.strides();
  std::vector<std::vector<T>> arrays, in_bricks;
  std::array<BrickView<const T, S>, std::size_t(St::inputs)> views;
  std::array<const T*, std::size_t(St::inputs)> pointers;
  for (int input = 0; input < St::inputs; ++input) {
    arrays.push_back(bricks.random_array());
    in_bricks.push_back(bricks.as_bricks(arrays.back()));
  }
  for (std::size_t input = 0; input < views.size(); ++input) {
    views[input] = bricks.view(in_bricks[input]);
    pointers[input] = arrays[input].data();
  }
  const T untouched = 77;
  std::vector<T> made(std::size_t(bricks.cells()), untouched), array_made = made;
  stencil.apply(bricks.inner(), views, bricks.view(made));
  std::array<std::int64_t, std::size_t(S::dims - 1)> pitches{};
  std::copy(strides.begin() + 1, strides.end(), pitches.begin());
  stencil.apply(bricks.inner_box(), pointers, array_made.data(), pitches);
  std::int64_t changed = 0;
  bricks.for_each_cell(true, [&](std::int64_t in_array, std::int64_t in_brick) {
    const auto [sum, tolerance] = plain_sum<St>(numbers, arrays, strides, in_array);
    const T by_brick = made[std::size_t(in_brick)];
    expect_equal(sum, by_brick, tolerance);
    expect_equal(by_brick, array_made[std::size_t(in_array)], tolerance);
    ++changed;
  });
  const auto count = [&](const std::vector<T>& all) {
    return std::int64_t(all.size()) - std::count(all.begin(), all.end(), untouched);
  };
  EXPECT_EQ(count(made), changed);
  EXPECT_EQ(count(array_made), changed);
}

TEST(Stencils, stars_of_bricks_equal_plain_sums) {
  expect_right<double, Shape<8, 8, 8>>(star<3, 1>(0.4, 0.1), {0.4, 0.1});
  expect_right<double, Shape<4, 4, 4>>(star<3, 1>(0.4, 0.1), {0.4, 0.1});
  expect_right<double, Shape<16, 4, 4>>(star<3, 4>(0.4, 0.1, 0.3, 0.2, 0.7),
                                        {0.4, 0.1, 0.3, 0.2, 0.7});
  expect_right<double, Shape<4, 4, 4>>(star<3, 4>(0.4, 0.1, 0.3, 0.2, 0.7),
                                       {0.4, 0.1, 0.3, 0.2, 0.7});
  expect_right<float, Shape<8, 8, 8>>(star<3, 2>(0.5, 0.25, 0.1), {0.5F, 0.25F, 0.1F});
}

TEST(Stencils, bricks_have_one_to_five_axes) {
  expect_right<double, Shape<32>>(star<1, 3>(0.4, 0.1, 0.2, 0.3), {0.4, 0.1, 0.2, 0.3});
  expect_right<double, Shape<8, 4>>(box<2, 1>(0.4, 0.1, 0.2), {0.4, 0.1, 0.2});
  expect_right<double, Shape<3, 5>>(star<2, 1>(0.4, 0.1), {0.4, 0.1});
  expect_right<double, Shape<4, 4, 4, 4, 4>>(star<5, 1>(0.4, 0.1), {0.4, 0.1});
}

TEST(Stencils, boxes_have_a_coefficient_for_each_cell_or_each_class) {
  expect_right<double, Shape<8, 8, 8>>(box<3, 1>(0.4, 0.1, 0.2, 0.3), {0.4, 0.1, 0.2, 0.3});
  std::array<double, 27> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = 0.01 * double(i + 1);
  expect_right<double, Shape<4, 4, 4>>(box<3, 1>(all), {all.begin(), all.end()});
  std::array<double, 10> classes{};
  std::copy_n(all.begin(), classes.size(), classes.begin());
  expect_right<double, Shape<16, 4, 4>>(box<3, 2>(classes), {classes.begin(), classes.end()});

  using Classes = BoxTaps<3, 2, true>;
  const auto class_of = [](int x, int y, int z) {
    return Classes::taps[std::size_t(x + 2 + 5 * (y + 2 + 5 * (z + 2)))].number;
  };
  EXPECT_EQ(class_of(0, 0, 0), 0);
  EXPECT_EQ(class_of(0, -1, 0), 1);
  EXPECT_EQ(class_of(1, 0, -1), 2);
  EXPECT_EQ(class_of(1, 1, -1), 3);
  EXPECT_EQ(class_of(0, 0, 2), 4);
  EXPECT_EQ(class_of(-1, 0, 2), 5);
  EXPECT_EQ(class_of(1, 2, -1), 6);
  EXPECT_EQ(class_of(2, 2, -2), 9);
}

TEST(Stencils, taps_may_be_in_any_order_on_several_fields) {
  // An upwind step whose velocity is a field, a coupled field, and taps that go back and forth.
  constexpr auto mixed =
      stencil(tap<0, 0, 0>(0.5), tap<-1, 0, 0>(input<1>), tap<0, 3, -2>(0.25), tap<-2, 1, 1>(0.125),
              tap<2, -4, 3>(0.75), tap<1, 0, 0>(0.3, input<2>), tap<0, 0, -1>(input<1>, input<2>));
  static_assert(mixed.inputs == 3 && mixed.reach(0) == 2 && mixed.reach(1) == 4);
  const std::vector<double> numbers{0.5, 0, 0.25, 0.125, 0.75, 0.3, 0};
  expect_right<double, Shape<8, 8, 8>>(mixed, numbers);
  expect_right<double, Shape<4, 4, 4>>(mixed, numbers);
  expect_right<double, Shape<16, 4, 4>>(mixed, numbers);
  expect_right<float, Shape<4, 4, 4>>(mixed, {numbers.begin(), numbers.end()});
}

TEST(Stencils, boxes_of_arrays_may_have_any_extents) {
  constexpr std::int64_t kPitch = 300, kPlane = kPitch * 60, kCells = kPlane * 12;
  constexpr auto heat = star<3, 1>(0.4, 0.1);
  std::vector<std::vector<double>> from(1, std::vector<double>(std::size_t(kCells)));
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> values(-1, 1);
  for (double& value : from[0]) value = values(random);
  const std::vector<CellBox<3>> boxes{{{1, 1, 1}, {299, 59, 11}}, {{3, 2, 4}, {4, 3, 5}},
                                      {{3, 2, 4}, {10, 30, 9}},   {{5, 7, 2}, {105, 10, 9}},
                                      {{5, 7, 2}, {105, 40, 3}},  {{5, 7, 2}, {5, 40, 3}}};
  for (const CellBox<3>& box : boxes) {
    std::vector<double> to(std::size_t(kCells), 77);
    heat.apply(box, from[0].data(), to.data(), {kPitch, kPlane});
    for (std::int64_t at = 0; at < kCells; ++at) {
      const std::array<std::int64_t, 3> cell{at % kPitch, at / kPitch % 60, at / kPlane};
      bool inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis)
        inside = inside && cell[axis] >= box.lower[axis] && cell[axis] < box.upper[axis];
      if (!inside) {
        ASSERT_EQ(to[std::size_t(at)], 77);
        continue;
      }
      const auto [sum, tolerance] = plain_sum<decltype(heat)>(
          std::vector<double>{0.4, 0.1}, from, std::array<std::int64_t, 3>{1, kPitch, kPlane}, at);
      expect_equal(sum, to[std::size_t(at)], tolerance);
    }
  }
}

TEST(BrickViews, indices_run_over_the_borders_of_a_brick) {
  TestBricks<double, Shape<4, 2, 3>> bricks;
  const std::vector<double> array = bricks.random_array();
  std::vector<double> stored = bricks.as_bricks(array);
  const BrickView<double, Shape<4, 2, 3>> view = bricks.view(stored);
  const auto strides = bricks.strides();
  bricks.for_each_cell(true, [&](std::int64_t in_array, std::int64_t in_brick) {
    const std::int64_t brick = in_brick / 24;
    if (in_brick % 24 != 0) return;  // the first cell of a brick only
    for (int k = -3; k < 6; ++k)
      for (int j = -2; j < 4; ++j)
        for (int i = -4; i < 8; ++i)
          ASSERT_EQ(view[brick][k][j][i],
                    array[std::size_t(in_array + i + j * strides[1] + k * strides[2])]);
  });
  const std::int32_t brick = bricks.inner().front();
  view[brick][0][1][-1] = 5;
  const BrickView<const double, Shape<4, 2, 3>> reader = view;
  EXPECT_EQ(reader.data(brick, own_code<3> - 1)[7], 5);
  EXPECT_TRUE(reader.has(brick, own_code<3>));
}

}  // namespace
}  // namespace strake
