// Coordinates outside of what a view stores, where they are checked.
#define STRAKE_CHECK_VIEWS 1
#include "strake/view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "refusal.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

TEST(View, cells_that_are_not_stored_are_refused) {
  // Cells [2, 6) x [-1, 2) in rows of eight.
  std::array<int, 24> cells{};
  const Box stored{{2, -1, 0}, {6, 2, 1}};
  const View<int> view(cells.data() - 2 + 8, 8, 24, {{3, 0, 0}, {5, 1, 1}}, stored);
  for_each_cell(stored, [&](auto i, auto j, auto k) {
    EXPECT_EQ(&view(i, j, k), &view.at(i, j, k));
    EXPECT_EQ(&view(i, j, k), &cells[static_cast<std::size_t>(i - 2 + 8 * (j + 1))]);
  });
  const auto told = [](const std::string& cell) {
    return "cell " + cell + " of a view that stores [2, 6) x [-1, 2) x [0, 1)";
  };
  EXPECT_EQ(refusal([&] { (void)view.at(6, 0); }), told("(6, 0, 0)"));
  EXPECT_EQ(refusal([&] { (void)view(1); }), told("(1, 0, 0)"));
  EXPECT_EQ(refusal([&] { view(3, 2) = 1; }), told("(3, 2, 0)"));
  EXPECT_EQ(refusal([&] { view(3, -2) = 1; }), told("(3, -2, 0)"));
  EXPECT_EQ(refusal([&] { view(3, 0, -1) = 1; }), told("(3, 0, -1)"));
  EXPECT_EQ(refusal([&] { (void)View<int>().at(0); }),
            "cell (0, 0, 0) of a view that stores [0, 0) x [0, 0) x [0, 0)");
}

}  // namespace
}  // namespace strake
