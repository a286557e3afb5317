// Bricks of other ranks in the place of ghosts: who reads them, and when they may change.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "brick_values.hpp"
#include "strake/bricks.hpp"
#include "world.hpp"

namespace strake {
namespace {

TEST(MappedBricks, mapped_bricks_are_read_where_they_lie) {
  const std::vector<std::int64_t> extent{128, 32};
  BrickOptions options{.ghost = 8, .periodic = kPeriodic, .form = BrickForm::Mapped};
  AnyBrickGrid grid(MPI_COMM_WORLD, extent, std::vector<int>{8, 8}, 8, options);
  const bool is_alone = ranks_per_node() >= ranks();
  if (is_alone) {
    EXPECT_EQ(grid.bytes_sent(), 0) << grid.plan();
    EXPECT_TRUE(grid.ghosts().empty());
  }
  const std::vector<int> reach{1, 1};
  EXPECT_EQ(grid.steps_per_exchange(reach), 1);
  std::vector<std::int64_t> values(static_cast<std::size_t>(grid.size_bytes() / 8));
  const auto sentence = [](const std::function<void()>& wrong) -> std::string {
    try {
      wrong();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(sentence([&] { (void)grid.bricks_of_step(1, reach); }),
            "step 1 of a stencil that reaches 1 x 1 cells: ghosts of 8 x 8 are enough for 1 steps "
            "after an exchange, as they are other ranks' bricks (BrickForm::Mapped)");
  if (is_alone) {
    EXPECT_NE(sentence([&] { grid.copy_to(values.data(), 0, true); }), "");
  }
}

TEST(MappedBricks, nobody_writes_what_a_neighbour_still_reads) {
  const std::vector<std::int64_t> extent{128, 32};
  const BrickOptions options{.ghost = 8, .periodic = kPeriodic, .form = BrickForm::Mapped};
  AnyBrickGrid grid(MPI_COMM_WORLD, extent, std::vector<int>{8, 8}, 8, options);
  const WantedBricks wanted{extent, {8, 8}, options};
  for (int step = 0; step < 20; ++step) {
    grid.before_writing();
    grid.copy_from(values(grid, wanted, grid.owned_cells(), 0, step).data());
    grid.exchange();
    if (step % ranks() == rank()) usleep(500);  // others are ahead
    expect_neighbours(grid, wanted, 0, step);
  }
}

TEST(MappedBricks, of_two_that_are_read_together_none_is_written_too_early) {
  const std::vector<std::int64_t> extent{128, 32};
  const BrickOptions options{.ghost = 8, .periodic = kPeriodic, .form = BrickForm::Mapped};
  AnyBrickGrid one(MPI_COMM_WORLD, extent, std::vector<int>{8, 8}, 8, options);
  AnyBrickGrid other = one.like();
  const WantedBricks wanted{extent, {8, 8}, options};
  for (int step = 0; step < 20; ++step) {
    for (AnyBrickGrid* const grid : {&one, &other}) {
      grid->before_writing();
      grid->copy_from(values(*grid, wanted, grid->owned_cells(), 0, step).data());
    }
    one.exchange();
    other.exchange();
    if (step % ranks() == rank()) usleep(500);  // others are ahead
    expect_neighbours(one, wanted, 0, step);
    expect_neighbours(other, wanted, 0, step);
  }
}

TEST(MappedBricks, calls_out_of_order_are_refused) {
  AnyBrickGrid grid(MPI_COMM_WORLD, std::vector<std::int64_t>{64}, std::vector<int>{8}, 8,
                    {.ghost = 8, .periodic = kPeriodic, .form = BrickForm::Mapped});
  AnyBrickGrid other = grid.like();
  EXPECT_THROW(grid.finish(), InvalidArgument);
  other.exchange();
  grid.start();
  EXPECT_THROW(grid.start(), InvalidArgument);
  EXPECT_THROW(other.start(), InvalidArgument);
  EXPECT_THROW(other.before_writing(), InvalidArgument);
  grid.finish();
  EXPECT_THROW(grid.before_writing(grid), InvalidArgument);
  other.before_writing(grid);  // free
  other.before_writing();
  grid.exchange();
  // A rank that looks at its bricks is in no other round.
  if (rank() == 0) (void)grid.adjacency();
  other.before_writing(grid);
  other.exchange();
  grid.before_writing(other);
}

TEST(MappedBricks, that_alternate_are_never_written_too_early) {
  const std::vector<std::int64_t> extent{128, 32};
  const BrickOptions options{.ghost = 8, .periodic = kPeriodic, .form = BrickForm::Mapped};
  AnyBrickGrid now(MPI_COMM_WORLD, extent, std::vector<int>{8, 8}, 8, options);
  AnyBrickGrid next = now.like();
  const WantedBricks wanted{extent, {8, 8}, options};
  now.copy_from(values(now, wanted, now.owned_cells(), 0, 0).data());
  for (int step = 0; step < 40; ++step) {
    now.exchange();
    next.before_writing(now);
    if (step % ranks() == rank()) usleep(300);  // others are ahead
    expect_neighbours(now, wanted, 0, step);
    next.copy_from(values(next, wanted, next.owned_cells(), 0, step + 1).data());
    std::swap(now, next);
  }
}

TEST(MappedBricks, other_buffers_in_the_same_step_are_an_error) {
  if (ranks() == 1 || ranks_per_node() < ranks())
    GTEST_SKIP() << "all are of one node, and several";
  AnyBrickGrid first(MPI_COMM_WORLD, std::vector<std::int64_t>{256}, std::vector<int>{8}, 8,
                     {.ghost = 8, .periodic = kPeriodic, .form = BrickForm::Mapped});
  AnyBrickGrid second = first.like();
  std::string found;
  try {
    (rank() % 2 == 0 ? first : second).exchange();
  } catch (const Error& error) {
    found = error.what();
  }
  if (ranks() % 2 == 0) {
    EXPECT_NE(found.find("all ranks exchange and swap them in the same steps"), std::string::npos);
  }
}

}  // namespace
}  // namespace strake
