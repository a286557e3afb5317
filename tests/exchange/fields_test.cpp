// Fields of the user's own arrays, fields by size and type, cells beyond open ends, and fields that
// go back to their owners in one exchange.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "cells.hpp"
#include "graph.hpp"
#include "mirror.hpp"
#include "place.hpp"
#include "refusal.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"
#include "world.hpp"

namespace strake {
namespace {

/// A user's array for the stored cells of a field, with something behind each row and each plane.
template <typename T>
class OwnArray {
 public:
  OwnArray(const Box& stored, std::int64_t behind_row, std::int64_t rows_behind_plane)
      : stride_y_(stored.extent(0) + behind_row),
        stride_z_(stride_y_ * (stored.extent(1) + rows_behind_plane)) {
    // The last plane ends with the last cell.
    const std::int64_t cells =
        (stored.extent(2) - 1) * stride_z_ + (stored.extent(1) - 1) * stride_y_ + stored.extent(0);
    if (test_memory::on_device()) {
      there_ = SharedArray(cells * static_cast<std::int64_t>(sizeof(T)), place());
      first_ = reinterpret_cast<T*>(there_.data());
    } else {
      here_.resize(static_cast<std::size_t>(cells));
      std::memset(here_.data(), kBehind, here_.size() * sizeof(T));
      first_ = here_.data();
    }
    stored_ = stored;
  }
  /// Whether all that lies behind rows and planes is as it was.
  [[nodiscard]] bool is_untouched_behind() const {
    T behind;
    std::memset(&behind, kBehind, sizeof(T));
    for (std::size_t i = 0; i < here_.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const bool in_row = at % stride_z_ % stride_y_ < stored_.extent(0) &&
                          at % stride_z_ / stride_y_ < stored_.extent(1);
      if (!in_row && std::memcmp(&here_[i], &behind, sizeof(T)) != 0) return false;
    }
    return true;
  }
  [[nodiscard]] T* first() const { return first_; }
  [[nodiscard]] std::array<std::int64_t, 2> strides() const { return {stride_y_, stride_z_}; }

 private:
  static constexpr int kBehind = 0x5A;
  Box stored_;
  std::int64_t stride_y_, stride_z_;
  std::vector<T> here_;
  SharedArray there_;
  T* first_ = nullptr;
};

Grid periodic_grid(const Radius& radius) {
  return {MPI_COMM_WORLD,
          std::vector<int>{14, 12, 10},
          {.radius = radius, .periodic = {true, true, true}, .place = place()}};
}

TEST(Adopted, arrays_of_the_users_are_exchanged_where_they_are) {
  const std::array<bool, 3> periodic{true, true, true};
  const Radius radius = Radius::sides({2, 1}, 1, {0, 2});
  Grid grid = periodic_grid(radius);
  EXPECT_EQ(grid.stored().extent(0), grid.owned().extent(0) + 3);
  const OwnArray<std::int64_t> dense(grid.stored(), 0, 0), loose(grid.stored(), 5, 3),
      next(grid.stored(), 5, 3);
  const auto a = grid.adopt("a", dense.first());
  const auto b = grid.adopt("b", Adopted<std::int64_t>{loose.first(), next.first(),
                                                       loose.strides()[0], loose.strides()[1]});
  const auto c = grid.add<std::int64_t>("c");
  EXPECT_EQ(&a.view()(grid.stored().lower[0], grid.stored().lower[1], grid.stored().lower[2]),
            dense.first());
  EXPECT_EQ(b.view().stride(2), loose.strides()[1]);
  EXPECT_THROW((void)a.next(), InvalidArgument);
  for (int step = 0; step < 5; ++step) {
    fill(a.view(), 0, step);
    fill(b.view(), 1, step);
    fill(c.view(), 2, step);
    grid.exchange().wait();
    check(a.view(), {grid, periodic, radius, {}, grid.extent()}, 0, step);
    check(b.view(), {grid, periodic, radius, {}, grid.extent()}, 1, step);
    check(c.view(), {grid, periodic, radius, {}, grid.extent()}, 2, step);
    const auto* const before = &b.next()(grid.owned().lower[0], grid.owned().lower[1]);
    grid.swap();
    EXPECT_EQ(&b.view()(grid.owned().lower[0], grid.owned().lower[1]), before);
  }
  EXPECT_TRUE(loose.is_untouched_behind() && next.is_untouched_behind());
}

TEST(Adopted, arrays_that_do_not_fit_are_refused_on_all_ranks) {
  Grid grid = periodic_grid(1);
  const Box stored = grid.stored();
  const OwnArray<double> own(stored, 0, 0);
  double elsewhere = 0;
  const auto differs = [] { return rank() == culprit(); };
  const std::string field = "field 'a', subgrid 0 of rank " + std::to_string(culprit()) + ": ";
  EXPECT_EQ(refusal_on_all([&] {
              (void)grid.adopt("a", differs() ? nullptr : own.first());
            }).find(field + "no array for the cells ["),
            0U);
  const std::int64_t row = stored.extent(0) * 8, plane = stored.extent(1) * row;
  const std::string short_row = refusal_on_all([&] {
    (void)grid.adopt("a", own.first(), {differs() ? stored.extent(0) - 1 : 0, 0});
  });
  const std::string short_plane = refusal_on_all([&] {
    (void)grid.adopt("a", own.first(), {0, differs() ? stored.extent(0) : 0});
  });
  if (differs()) {
    EXPECT_EQ(short_row, field + "rows of " + std::to_string(row) + " bytes that are " +
                             std::to_string(row - 8) + " apart");
    EXPECT_EQ(short_plane, field + "planes of " + std::to_string(plane) + " bytes that are " +
                               std::to_string(row) + " apart");
  }
  const std::vector<Adopted<double>> two(differs() ? 2 : 1, Adopted<double>{own.first()});
  EXPECT_EQ(refusal_on_all([&] { (void)grid.adopt("a", std::span(two)); }),
            "field 'a': 2 arrays for the 1 subgrids of rank " + std::to_string(culprit()));
  if (test_memory::on_device()) {
    EXPECT_EQ(refusal_on_all([&] {
                (void)grid.adopt("a", differs() ? &elsewhere : own.first());
              }).find(field + "an array in host memory, for a subgrid in device memory of device"),
              0U);
  }
  const OwnArray<double> another(stored, 0, 0);
  EXPECT_EQ(refusal_on_all([&] {
              (void)grid.adopt(
                  "a", Adopted<double>{own.first(), differs() ? own.first() : another.first()});
            }),
            field + "an array that is its own next one");
  const auto by_type = [&](std::int64_t bytes_off, std::int64_t stride) {
    return refusal_on_all([&] {
      const Adopted<std::byte> array{
          reinterpret_cast<std::byte*>(own.first()) + (differs() ? bytes_off : 0), nullptr,
          differs() ? stride : 0, 0};
      (void)grid.adopt("a", ElementType{8, "Float64", 1}, std::span(&array, 1));
    });
  };
  // Ranks may have rows of other lengths.
  const std::int64_t longest = 8 * 64 + 3;
  for (const std::int64_t stride : {std::int64_t{-8}, longest}) {
    EXPECT_EQ(by_type(0, stride), field + "a stride of " + std::to_string(stride) + " bytes");
  }
  EXPECT_NE(by_type(4, 0).find("which is no multiple of 8 bytes"), std::string::npos);
  // A next array is each rank's own affair.
  (void)grid.adopt("c", Adopted<double>{own.first(), differs() ? another.first() : nullptr});
  (void)grid.adopt("b", own.first());
}

TEST(FieldTypes, fields_are_added_by_size_and_kind) {
  const std::array<bool, 3> periodic{true, true, true};
  Grid grid = periodic_grid(1);
  FieldHandle erased;
  EXPECT_EQ(refusal([&] { (void)erased.memory(); }), "a field that was never added");
  {
    const std::string name = "Int64";  // which need not stay
    erased = grid.add("erased", ElementType{8, name.c_str(), 1}, {.next = false});
  }
  EXPECT_EQ(refusal([&] { (void)erased.memory(true); }), "field 'erased' has no second buffer");
  const auto typed = grid.add<std::int64_t>("typed");
  EXPECT_EQ(erased.name(), "erased");
  EXPECT_EQ(std::string(typed.type().name), erased.type().name);
  EXPECT_EQ(typed.type().bytes, erased.type().bytes);
  const FieldMemory memory = erased.memory();
  EXPECT_EQ(memory.stored, grid.stored());
  const Box& stored = memory.stored;
  auto* const first = reinterpret_cast<std::int64_t*>(memory.first);
  const View<std::int64_t> view(first - stored.lower[0] - stored.lower[1] * memory.stride_y / 8 -
                                    stored.lower[2] * memory.stride_z / 8,
                                memory.stride_y / 8, memory.stride_z / 8, memory.owned, stored);
  fill(view, 3, 1);
  grid.exchange({}, std::vector<FieldHandle>{erased}).wait();
  check(view, {grid, periodic, 1, {}, grid.extent()}, 3, 1);
  EXPECT_EQ(refusal_on_all([&] { (void)grid.add("x", ElementType{0}); }),
            "field 'x': elements of 0 bytes");
  EXPECT_EQ(refusal_on_all([&] {
              (void)grid.add("x", ElementType{8, "double"});
            }),
            "field 'x': numbers of type \"double\"");
  EXPECT_EQ(refusal_on_all([&] {
              (void)grid.add("x", ElementType{8, "Float32", 3});
            }),
            "field 'x': elements of 8 bytes, which are 3 x Float32");
}

/// Each stored cell counts one for its owner, in fields of several kinds, which go back at once.
class Merged {
 public:
  Merged()
      : grid(periodic_grid(1)),
        a(grid.add<std::int64_t>("a")),
        b(grid.add<double>("b")),
        c(grid.add<std::array<float, 3>>("c")) {}
  void set() const {
    set_all(a, std::int64_t{1});
    set_all(b, 0.5);
    set_all(c, std::array<float, 3>{1, 2, 3});
  }
  /// How often a cell is counted: by itself, and by each ghost that is a copy of it.
  void check(std::int64_t times) const {
    const Mirror<std::int64_t> in_a(a.view());
    const Mirror<double> in_b(b.view());
    const Mirror<std::array<float, 3>> in_c(c.view());
    for_each_cell(grid.owned(), [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      std::int64_t count = 1;
      const Index3 at{i, j, k};
      for (std::size_t axis = 0; axis < 3; ++axis)
        count *= 1 + (at[axis] == grid.owned().lower[axis] ? 1 : 0) +
                 (at[axis] == grid.owned().upper[axis] - 1 ? 1 : 0);
      count = 1 + times * (count - 1);
      ASSERT_EQ(in_a.view()(i, j, k), count);
      ASSERT_EQ(in_b.view()(i, j, k), 0.5 * static_cast<double>(count));
      ASSERT_EQ(in_c.view()(i, j, k)[2], 3.F * static_cast<float>(count));
    });
  }
  template <typename T>
  void set_all(const Field<T>& field, const T& value) const {
    Mirror<T> mirror(field.view());
    for_each_cell(field.view().stored(),
                  [&](auto i, auto j, auto k) { mirror.view()(i, j, k) = value; });
    mirror.store();
  }
  Grid grid;
  Field<std::int64_t> a;
  Field<double> b;
  Field<std::array<float, 3>> c;
};

/// Whether values can't be merged there: devices of ranks on several nodes, and staged bytes.
bool is_refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Unsupported&) {
    EXPECT_TRUE(test_memory::on_device() && ranks() > 1 &&
                (ranks_per_node() < ranks() || device_transport() == "staged"));
    return true;
  }
  return false;
}

TEST(Merge, fields_of_several_kinds_go_back_in_one_exchange) {
  Merged fields;
  fields.set();
  if (is_refused([&] { fields.grid.accumulate({}, {}, ValueOp::Sum); })) return;
  fields.check(1);
  EXPECT_NE(fields.grid.plan().find("exchange of 3 fields"), std::string::npos);
  // In streams, one round after the other.
  fields.set();
  Stream stream = test_memory::on_device() ? Stream::make(test_memory::device()) : Stream();
  for (int times = 0; times < 3; ++times) fields.grid.accumulate(stream, {}, ValueOp::Sum);
  stream.synchronize();
  fields.check(3);
  // Forward and back are rounds of one exchange.
  fields.set();
  fields.grid.accumulate(stream, {}, ValueOp::Max);
  fields.grid.exchange(stream).wait(stream);
  stream.synchronize();
  fields.check(0);
}

TEST(Merge, graphs_take_fields_back) {
  Merged fields;
  if (is_refused([&] { fields.grid.accumulate({}, {}, ValueOp::Sum); })) return;
  if (!test_memory::on_device() || !can_be_captured(fields.grid.plan())) GTEST_SKIP();
  Stream stream = Stream::make(test_memory::device());
  // Another operation has never run, and there is no memory for it now.
  const auto unknown = CapturedGraph::capture(
      stream, [&] { EXPECT_THROW(fields.grid.accumulate(stream, {}, ValueOp::Min), Unsupported); });
  const auto graph =
      CapturedGraph::capture(stream, [&] { fields.grid.accumulate(stream, {}, ValueOp::Sum); });
  if (graph == nullptr) GTEST_SKIP();
  fields.set();
  graph->launch(stream);
  graph->launch(stream);
  stream.synchronize();
  fields.check(2);
}

TEST(Merge, operations_of_other_numbers_are_refused) {
  Merged fields;
  struct Pair {
    int a, b;
  };
  const auto d = fields.grid.add<Pair>("d");
  EXPECT_EQ(refusal([&] {
              fields.grid.accumulate({}, {fields.a, fields.b}, sum<double>());
            }),
            "field 'a' has elements of Int64, and is merged by a Combine of Float64");
  EXPECT_EQ(refusal([&] { fields.grid.accumulate({}, {fields.b}, sum<std::int16_t>()); }),
            "field 'b' has elements of Float64, and is merged by a Combine of Int16");
  EXPECT_EQ(refusal([&] {
              fields.grid.accumulate({}, {fields.a, d}, ValueOp::Sum);
            }),
            "field 'd' has elements that are no numbers: merge them by a Combine");
}

/// The value of a cell, which tells its coordinates.
std::int64_t said(const Index3& at) { return at[0] + 100 * at[1] + 10000 * at[2]; }

TEST(Boundary, cells_beyond_open_ends_are_filled_and_mirrored) {
  Grid grid(MPI_COMM_WORLD, {12, 11, 10},
            {.radius = 2, .periodic = {false, true, false}, .place = place()});
  const auto a = grid.add<std::int64_t>("a");
  const auto b = grid.add<std::int64_t>("b", {.at = face_z, .next = false});
  for (const auto& field : {a, b}) {
    Mirror<std::int64_t> mirror(field.view());
    for_each_cell(field.view().stored(), [&](auto i, auto j, auto k) {
      mirror.view()(i, j, k) = field.view().owned().contains(i, j, k) ? said({i, j, k}) : -1;
    });
    mirror.store();
  }
  Stream stream = test_memory::on_device() ? Stream::make(test_memory::device()) : Stream();
  grid.exchange().wait();
  for (const Direction face : {Direction{1, 0, 0}, Direction{-1, 0, 0}}) {
    grid.fill(a, face, face.x, stream);
    grid.mirror(b, face);
  }
  for (const int side : {-1, 1}) {
    grid.mirror(a, {0, 0, side}, stream);
    grid.mirror(b, {0, 0, side}, stream);
  }
  stream.synchronize();
  EXPECT_TRUE(grid.boundary(a, {0, -1, 0}).empty());  // it is periodic
  EXPECT_EQ(grid.boundary(a, {-1, 0, 0}).empty(), grid.neighbour({-1, 0, 0}).has_value());
  const auto wraps = [](std::int64_t j) { return (j + 11) % 11; };
  const Mirror<std::int64_t> in_a(a.view()), in_b(b.view());
  for_each_cell(a.view().stored(), [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    const std::int64_t z = k < 0 ? -1 - k : k > 9 ? 19 - k : k;
    const std::int64_t value = i < 0 ? -1 : i > 11 ? 1 : said({i, wraps(j), z});
    ASSERT_EQ(in_a.view()(i, j, k), value) << i << " " << j << " " << k;
  });
  for_each_cell(b.view().stored(), [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    const std::int64_t x = i < 0 ? -1 - i : i > 11 ? 23 - i : i;
    const std::int64_t z = k < 0 ? -k : k > 10 ? 20 - k : k;  // about the first face, and the last
    ASSERT_EQ(in_b.view()(i, j, k), said({x, wraps(j), z})) << i << " " << j << " " << k;
  });
  EXPECT_EQ(refusal([&] {
              grid.fill(a, {1, 1, 0}, 0);
            }),
            "an end of a grid in direction (1, 1, 0), not along one axis");
  EXPECT_EQ(refusal([&] {
              grid.fill(a, {0, 1, 0}, 0);
            }),
            "field 'a' is filled at the end +y, but the grid is periodic along y");
  EXPECT_EQ(refusal([&] {
              grid.mirror(b, {0, -1, 0});
            }),
            "field 'b' is mirrored at the end -y, but the grid is periodic along y");
}

TEST(Boundary, ends_are_mirrored_in_graphs) {
  if (!test_memory::on_device()) GTEST_SKIP();
  Grid grid(MPI_COMM_WORLD, {12 * ranks(), 6}, {.radius = 2, .place = place()});
  const auto a = grid.add<double>("a", {.radius = Radius::sides(1)});
  const FieldHandle handle = a;
  const double two = 2;
  const std::span<const std::byte> value = std::as_bytes(std::span(&two, 1));
  const Direction face{rank() == 0 ? -1 : 1, 0, 0};
  grid.fill(handle, face, value);
  Mirror<double> mirror(a.view());
  for_each_cell(grid.owned(), [&](auto i, auto j, auto k) { mirror.view()(i, j, k) = 7; });
  mirror.store();
  EXPECT_EQ(refusal([&] { grid.fill(handle, face, value.first(4)); }),
            "field 'a' has elements of 8 bytes, and is filled by 4");
  Stream stream = Stream::make(test_memory::device());
  const auto graph = CapturedGraph::capture(stream, [&] {
    grid.mirror(a, face, stream);
    if (grid.boundary(a, face).empty()) return;
    EXPECT_THROW(grid.fill(handle, face, value, stream), Unsupported);
  });
  if (graph == nullptr) GTEST_SKIP();
  graph->launch(stream);
  stream.synchronize();
  mirror.load();
  for_each_cell(grid.boundary(a, face),
                [&](auto i, auto j, auto k) { EXPECT_EQ(mirror.view()(i, j, k), 7); });
}

TEST(Boundary, a_subgrid_that_is_too_short_is_not_mirrored) {
  if (ranks() > 1) GTEST_SKIP();
  Grid grid(MPI_COMM_WORLD, {4, 2}, {.radius = 3, .place = place()});
  const auto a = grid.add<float>("a");
  grid.mirror(a, {1, 0, 0});
  EXPECT_EQ(refusal([&] {
              grid.mirror(a, {0, 1, 0});
            }),
            "field 'a': 3 cells are mirrored at the end +y of subgrid 0, which has 2 along y");
}

}  // namespace
}  // namespace strake
