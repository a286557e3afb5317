// STRAKE_CHECK=1 finds ghost bricks that are read too early, and bricks that are changed while they
// are sent.
#include <gtest/gtest.h>

#include <string>

#include "strake/bricks.hpp"
#include "strake/stencil.hpp"
#include "world.hpp"

namespace strake {
namespace {

using CheckedBricks = BrickGrid<double, Shape<8, 8>>;

class BrickCheck : public testing::Test {
 protected:
  static constexpr BrickOptions kOptions{.ghost = 8, .periodic = {true, true}};
  CheckedBricks from_{MPI_COMM_WORLD, {64, 32}, kOptions};
  CheckedBricks to_ = from_.like();
};

template <typename Wrong>
std::string error_of(const Wrong& wrong) {
  try {
    wrong();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_F(BrickCheck, steps_in_order_pass) {
  constexpr auto kHeat = star<2, 1>(0.6, 0.1);
  for (int step = 0; step < 4; ++step) {
    from_.exchange();
    apply(kHeat, from_, to_, 7);
    std::swap(from_, to_);
  }
}

TEST_F(BrickCheck, ghosts_that_are_read_too_early_are_found) {
  constexpr auto kHeat = star<2, 1>(0.6, 0.1);
  from_.start();
  apply(kHeat, from_, to_, 7);
  from_.finish();
  const std::string error = error_of([&] { to_.start(); });
  EXPECT_NE(error.find("of field 0 of bricks was computed from a ghost brick that had not come"),
            std::string::npos)
      << error;
}

TEST_F(BrickCheck, bricks_that_change_while_they_are_sent_are_found) {
  from_.start();
  from_.view()[from_.surface().front()][0][0] += 1;
  const std::string error = error_of([&] { from_.finish(); });
  EXPECT_NE(error.find("was changed between start() and finish()"), std::string::npos) << error;
}

}  // namespace
}  // namespace strake
