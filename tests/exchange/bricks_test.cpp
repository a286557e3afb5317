// Grids of bricks: every ghost cell has its owner's value, in each form and number of axes; arrays
// become bricks and come back.
#include "strake/bricks.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "brick_values.hpp"
#include "refusal.hpp"
#include "strake/stencil.hpp"
#include "world.hpp"

namespace strake {
namespace {

void expect_ghosts(const WantedBricks& wanted) {
  const bool maps = wanted.options.form == BrickForm::Mapped;
  AnyBrickGrid first(MPI_COMM_WORLD, wanted.extent, wanted.shape, sizeof(std::int64_t),
                     wanted.options);
  AnyBrickGrid second = first.like();
  for (int step = 0; step < 2; ++step) {
    AnyBrickGrid& grid = step == 0 ? first : second;
    const BrickCellBox all = stored_cells(grid);
    for (int field = 0; field < wanted.options.fields; ++field) {
      const std::vector<std::int64_t> nothing(values(grid, wanted, all, field, step).size(), -1);
      if (!maps) grid.copy_from(nothing.data(), field, true);
      grid.copy_from(values(grid, wanted, grid.owned_cells(), field, step).data(), field);
    }
    grid.exchange();
    for (int field = 0; field < wanted.options.fields; ++field) {
      // Grids that are alike have the same neighbours, unless they are mapped.
      if (wanted.options.ghost > 0 && (maps || step == 1))
        expect_neighbours(grid, wanted, field, step);
      if (maps) continue;
      const std::vector<std::int64_t> expected = values(grid, wanted, all, field, step);
      std::vector<std::int64_t> found(expected.size());
      grid.copy_to(found.data(), field, true);
      EXPECT_EQ(found, expected) << grid.plan();
    }
  }
}

class Bricks : public testing::TestWithParam<BrickForm> {};

TEST_P(Bricks, every_ghost_cell_has_its_owners_value) {
  const auto with = [&](BrickOptions options) {
    options.form = GetParam();
    return options;
  };
  expect_ghosts({{64}, {4}, with({.ghost = 8, .periodic = kPeriodic})});
  expect_ghosts({{64}, {8}, with({.ghost = 3})});
  expect_ghosts({{40, 24}, {4, 4}, with({.ghost = 4, .periodic = kPeriodic, .fields = 2})});
  expect_ghosts({{32, 24, 28}, {4, 4, 4}, with({.ghost = 4, .periodic = kPeriodic})});
  expect_ghosts({{48, 24, 28},
                 {16, 4, 4},
                 with({.ghost = 4, .periodic = {true, false, true}, .fields = 3, .apart = true})});
  // The interior lies in several tiles.
  expect_ghosts({{72, 18, 8}, {2, 1, 2}, with({.ghost = 2, .periodic = kPeriodic, .fields = 2})});
  expect_ghosts({{8, 8, 12, 16}, {4, 2, 4, 2}, with({.ghost = 2, .periodic = kPeriodic})});
  expect_ghosts({{4, 4, 4, 4, 8}, {2, 2, 2, 2, 1}, with({.ghost = 1, .periodic = kPeriodic})});
}

std::string form_name(const testing::TestParamInfo<BrickForm>& form) {
  constexpr std::array kNames = {"layout", "basic", "memmap", "shift", "mapped", "best"};
  return kNames[static_cast<std::size_t>(form.param)];
}

INSTANTIATE_TEST_SUITE_P(Forms, Bricks,
                         testing::Values(BrickForm::Layout, BrickForm::Basic, BrickForm::MemMap,
                                         BrickForm::Shift, BrickForm::Mapped, BrickForm::Best),
                         form_name);

/// Deep ghosts of bricks in two dimensions, or in one, which have few regions.
WantedBricks in_pages(BrickForm form, std::int64_t page, bool plane) {
  BrickOptions options{.ghost = 8, .periodic = kPeriodic, .fields = 2, .apart = true, .form = form};
  options.page = page;
  if (plane) return {{32, 64}, {4, 4}, options};
  return {{64}, {4}, options};
}

TEST(BrickGrids, lie_in_pages_as_wanted) {
  constexpr std::int64_t kSmall = 64 << 10;
  constexpr std::int64_t kHuge = 2 << 20;
  for (const BrickForm form : {BrickForm::MemMap, BrickForm::Layout, BrickForm::Mapped}) {
    expect_ghosts(in_pages(form, kSmall, true));
    expect_ghosts(in_pages(form, kHuge, false));
  }
  const WantedBricks wanted = in_pages(BrickForm::MemMap, kHuge, false);
  const AnyBrickGrid grid(MPI_COMM_WORLD, wanted.extent, wanted.shape, 8, wanted.options);
  const std::string plan = grid.plan();
  EXPECT_NE(plan.find("in pages of 2097152 bytes, "), std::string::npos) << plan;
  EXPECT_NE(plan.find("regions begin at pages of 2097152 bytes, which adds "), std::string::npos)
      << plan;
  EXPECT_EQ(grid.size_bytes() % kHuge, 0);
}

/// \param side  cells of a brick along each axis
std::string plan_of_best(int side, std::int64_t page = 0) {
  const std::vector<int> shape(3, side);
  const std::vector<std::int64_t> extent{std::int64_t{4} * side * ranks(), 4 * side, 4 * side};
  const AnyBrickGrid grid(
      MPI_COMM_WORLD, extent, shape, 8,
      {.ghost = side, .periodic = kPeriodic, .form = BrickForm::Best, .page = page});
  return grid.plan();
}

TEST(BrickGrids, the_best_form_is_the_one_that_costs_less) {
  if (ranks_per_node() == 1 && ranks() > 1) {
    // A brick of 8^3 is a page: views add no bytes. Bricks of 64 bytes are padded to whole pages.
    EXPECT_NE(plan_of_best(8).find("MemMap was chosen: "), std::string::npos) << plan_of_best(8);
    EXPECT_NE(plan_of_best(2).find("Layout was chosen: "), std::string::npos) << plan_of_best(2);
    EXPECT_NE(plan_of_best(8, 2 << 20).find("Layout was chosen: "), std::string::npos);
    return;
  }
  if (ranks_per_node() < ranks()) return;
  EXPECT_NE(plan_of_best(8).find("Layout was chosen: no neighbours are on different nodes"),
            std::string::npos)
      << plan_of_best(8);
}

TEST(BrickGrids, the_best_form_needs_no_memory_that_is_shared) {
  std::vector<SharedArray> all;
  if (rank() == culprit())
    for (int i = 0; i < 64; ++i) all.emplace_back(64 << 10);
  BrickOptions options{.ghost = 8, .periodic = kPeriodic, .form = BrickForm::Best};
  expect_ghosts({{32L * ranks(), 32, 32}, {8, 8, 8}, options});
  if (ranks_per_node() == 1 && ranks() > 1) {
    EXPECT_NE(plan_of_best(8).find("can't be shared"), std::string::npos) << plan_of_best(8);
    EXPECT_NE(plan_of_best(8).find("Layout was chosen: "), std::string::npos) << plan_of_best(8);
  }
}

TEST(BrickGrids, bricks_know_their_neighbours) {
  using S = Shape<4, 2, 2>;
  BrickGrid<double, S> grid(MPI_COMM_WORLD, {32, 16, 16}, {.ghost = 2, .periodic = kPeriodic});
  const auto number = [&](BrickNumbers at, int i, int j, int k) {
    return static_cast<double>(((at[2] + k + 16) % 16 * 16 + (at[1] + j + 16) % 16) * 32 +
                               (at[0] + i + 32) % 32);
  };
  auto view = grid.view();
  for (const std::int32_t brick : grid.owned())
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 4; ++i) view[brick][k][j][i] = number(grid.corner(brick), i, j, k);
  grid.exchange();
  for (const std::int32_t brick : grid.owned())
    for (int k = -2; k < 4; ++k)
      for (int j = -2; j < 4; ++j)
        for (int i = -4; i < 8; ++i)
          ASSERT_EQ(view[brick][k][j][i], number(grid.corner(brick), i, j, k));
  EXPECT_EQ(grid.interior().size() + grid.surface().size(), grid.owned().size());
  EXPECT_FALSE(grid.ghosts().empty());
}

/// Lines of the kernel's list of this process's mappings.
int mappings() {
  std::ifstream list("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(list, line);) ++count;
  return count;
}

TEST(BrickGrids, views_go_with_their_grid) {
  int before = 0;
  for (int i = 0; i < 5; ++i) {
    AnyBrickGrid grid(MPI_COMM_WORLD, std::vector<std::int64_t>{64, 64, 64},
                      std::vector<int>{8, 8, 8}, 8,
                      {.ghost = 8, .periodic = kPeriodic, .form = BrickForm::MemMap});
    AnyBrickGrid other = grid.like();
    other.exchange();
    if (i == 1) before = mappings();  // buffers of the MPI library are there by now
    if (i > 1) {
      EXPECT_LE(mappings(), before + 8);
    }
    if (ranks_per_node() == 1 && ranks() > 1) {
      EXPECT_NE(grid.plan().find("mappings"), std::string::npos) << grid.plan();
    }
  }
}

TEST(BrickGrids, may_end_in_an_exchange) {
  for (const BrickForm form : {BrickForm::Layout, BrickForm::MemMap, BrickForm::Mapped}) {
    AnyBrickGrid kept(MPI_COMM_WORLD, std::vector<std::int64_t>{64, 64, 64},
                      std::vector<int>{8, 8, 8}, 8,
                      {.ghost = 8, .periodic = kPeriodic, .form = form});
    {
      AnyBrickGrid ends = kept.like();
      ends.start();
    }
    kept.exchange();  // what they share is still good
  }
}

TEST(BrickGrids, that_one_rank_has_no_memory_for_are_refused_on_all) {
  for (const BrickForm form : {BrickForm::Layout, BrickForm::Mapped}) {
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    if (rank() == culprit()) {
      std::int64_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      rlimit low = before;
      low.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (256 << 20));
      setrlimit(RLIMIT_AS, &low);
    }
    const auto make = [&] {
      const AnyBrickGrid grid(MPI_COMM_WORLD, std::vector<std::int64_t>{512, 512, 64L * ranks()},
                              std::vector<int>{8, 8, 8}, 64,
                              {.ghost = 8, .periodic = kPeriodic, .form = form});
    };
    EXPECT_THROW(make(), OutOfMemory);
    setrlimit(RLIMIT_AS, &before);
  }
}

TEST(BrickGrids, steps_between_exchanges_are_as_many_as_ghosts_allow) {
  AnyBrickGrid grid(MPI_COMM_WORLD, std::vector<std::int64_t>{64, 64}, std::vector<int>{8, 8}, 8,
                    {.ghost = 8, .periodic = kPeriodic});
  const std::vector<int> one{1, 1};
  const std::vector<int> far{3, 0};
  EXPECT_EQ(grid.steps_per_exchange(one), 8);
  EXPECT_EQ(grid.steps_per_exchange(far), 2);
  EXPECT_EQ(grid.bricks_of_step(7, one).size(), grid.owned().size());
  EXPECT_EQ(grid.bricks_of_step(0, one).size(), grid.owned().size() + grid.ghosts().size());
  EXPECT_EQ(grid.bricks_of_step(1, far).size(), grid.owned().size());
  try {
    (void)grid.bricks_of_step(8, one);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "step 8 of a stencil that reaches 1 x 1 cells: ghosts of 8 x 8 are enough for 8 "
                 "steps after an exchange");
  }
}

/// Steps of a stencil on a periodic grid, on one rank's array.
class Reference {
 public:
  static constexpr int kX = 32;
  static constexpr int kY = 24;
  static constexpr int kZ = 32;
  static constexpr double kCentre = 0.4;
  static constexpr double kFace = 0.1;
  Reference() {
    for (int k = 0; k < kZ; ++k)
      for (int j = 0; j < kY; ++j)
        for (int i = 0; i < kX; ++i) at(i, j, k) = (i * 7 + j * 5 + k * 3) % 16;
  }
  double& at(int i, int j, int k) {
    return values_[static_cast<std::size_t>(((k + kZ) % kZ * kY + (j + kY) % kY) * kX +
                                            (i + kX) % kX)];
  }
  /// In the order of star(): from the lowest cell to the highest.
  void step() {
    Reference next;
    for (int k = 0; k < kZ; ++k)
      for (int j = 0; j < kY; ++j)
        for (int i = 0; i < kX; ++i)
          next.at(i, j, k) = kFace * at(i, j, k - 1) + kFace * at(i, j - 1, k) +
                             kFace * at(i - 1, j, k) + kCentre * at(i, j, k) +
                             kFace * at(i + 1, j, k) + kFace * at(i, j + 1, k) +
                             kFace * at(i, j, k + 1);
    values_ = next.values_;
  }

 private:
  std::vector<double> values_ = std::vector<double>(std::size_t{kX} * kY * kZ);
};

using HeatBricks = BrickGrid<double, Shape<8, 4, 4>>;

void set(HeatBricks& grid, Reference& from) {
  auto view = grid.view();
  for (const std::int32_t brick : grid.owned()) {
    const BrickNumbers at = grid.corner(brick);
    for (int k = 0; k < 4; ++k)
      for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 8; ++i)
          view[brick][k][j][i] = from.at(static_cast<int>(at[0]) + i, static_cast<int>(at[1]) + j,
                                         static_cast<int>(at[2]) + k);
  }
}

/// \param exchanged  steps between exchanges
void expect_heat(BrickForm form, int ghost, int exchanged) {
  constexpr auto kHeat = star<3, 1>(Reference::kCentre, Reference::kFace);
  HeatBricks from(MPI_COMM_WORLD, {Reference::kX, Reference::kY, Reference::kZ},
                  {.ghost = ghost, .periodic = kPeriodic, .form = form});
  HeatBricks to = from.like();
  Reference expected;
  set(from, expected);
  ASSERT_GE(steps_per_exchange(kHeat, from), exchanged);
  for (int step = 0; step < 12; ++step) {
    if (step % exchanged == 0) from.exchange();
    // The steps that ghosts are enough for are counted from the last one on.
    apply(kHeat, from, to, steps_per_exchange(kHeat, from) - exchanged + step % exchanged);
    std::swap(from, to);
    expected.step();
  }
  const auto view = std::as_const(from).view();
  for (const std::int32_t brick : from.owned()) {
    const BrickNumbers at = from.corner(brick);
    for (int k = 0; k < 4; ++k)
      for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 8; ++i)
          ASSERT_NEAR(view[brick][k][j][i],
                      expected.at(static_cast<int>(at[0]) + i, static_cast<int>(at[1]) + j,
                                  static_cast<int>(at[2]) + k),
                      1e-12);
  }
}

TEST(BrickStencils, compute_what_one_rank_does) {
  expect_heat(BrickForm::Layout, 1, 1);
  expect_heat(BrickForm::Basic, 1, 1);
  expect_heat(BrickForm::MemMap, 1, 1);
  expect_heat(BrickForm::Shift, 1, 1);
  expect_heat(BrickForm::Mapped, 1, 1);
}

TEST(BrickStencils, deep_ghosts_are_enough_for_several_steps) {
  expect_heat(BrickForm::Layout, 4, 4);
  expect_heat(BrickForm::Layout, 4, 3);
  expect_heat(BrickForm::MemMap, 4, 4);
  expect_heat(BrickForm::Shift, 4, 2);
}

TEST(BrickStencils, of_one_grid_into_itself_are_refused) {
  HeatBricks grid(MPI_COMM_WORLD, {32, 24, 32}, {.periodic = kPeriodic});
  EXPECT_THROW(apply(star<3, 1>(1.0, 1.0), grid, grid), InvalidArgument);
  HeatBricks smaller(MPI_COMM_WORLD, {32, 24, 16}, {.periodic = kPeriodic});
  EXPECT_THROW(apply(star<3, 1>(1.0, 1.0), grid, smaller), InvalidArgument);
}

TEST(BrickGrids, wrong_values_are_refused_on_all_ranks) {
  const auto refused = [](std::vector<std::int64_t> extent, std::vector<int> shape,
                          const BrickOptions& options = {}, std::int64_t bytes = 8) {
    return refusal_on_all(
        [&] { const AnyBrickGrid grid(MPI_COMM_WORLD, extent, shape, bytes, options); });
  };
  EXPECT_EQ(refused({}, {}), "bricks of 0 axes, not of one to 5");
  EXPECT_EQ(refused({8, 8}, {4}), "bricks of 1 axes in a grid of 2");
  EXPECT_EQ(
      refused({64, 30}, {8, 8}),
      "a grid of 30 cells along axis 1 with bricks of 8: it has to be a multiple of the brick, "
      "such as 24 or 32");
  EXPECT_EQ(
      refused({64, 4}, {8, 8}),
      "a grid of 4 cells along axis 1 with bricks of 8: it has to be a multiple of the brick, "
      "such as 8 or 16");
  EXPECT_EQ(refused({64}, {0}), "a brick of 0 cells along axis 0");
  EXPECT_EQ(refused({64}, {8}, {.ghost = -1}), "bricks with ghosts of -1 cells");
  EXPECT_EQ(refused({64}, {8}, {.fields = 0}), "bricks of 0 fields");
  EXPECT_EQ(refused({64}, {8}, {}, 0), "bricks of elements of 0 bytes");
  EXPECT_EQ(refused({64}, {8}, {.page = 5000}),
            "bricks in pages of 5000 bytes: it has to be a power of two, from " +
                std::to_string(sysconf(_SC_PAGESIZE)) + " to 17179869184");
  EXPECT_EQ(refused({64, 64}, {8, 8}, {.counts = {-2, -7}}),
            "bricks cut into -2 parts along axis 0");
  EXPECT_NE(refused({64}, {8}, {.fields = 1 << 24}, std::int64_t{1} << 36), "");
  EXPECT_NE(refused({8}, {8}, {.ghost = 9}), "");
  if (ranks() == 1) return;
  EXPECT_NE(refused({64, 64}, {8, 8}, {.ghost = rank() == culprit() ? 8 : 16}), "");
  EXPECT_NE(refused({rank() == culprit() ? 64 : 128}, {8}), "");
}

}  // namespace
}  // namespace strake
