// Subgrids on the islands of nodes, which are pretended (STRAKE_RANKS_PER_ISLAND), whatever the
// order of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "strake/grid.hpp"
#include "world.hpp"

namespace strake {
namespace {

constexpr int kRanksOfIsland = 2;  // as in CMakeLists.txt

/// Ranks in the order in which the islands are dealt in turns.
class Islands : public testing::Test {
 protected:
  void SetUp() override {
    const int key = rank() % kRanksOfIsland * ranks() + rank() / kRanksOfIsland;
    MPI_Comm_split(MPI_COMM_WORLD, 0, key, &dealt_);
  }
  void TearDown() override { MPI_Comm_free(&dealt_); }

  /// Along x, in cells, of all ranks of MPI_COMM_WORLD.
  static std::vector<std::int64_t> lower_ends(const Grid& grid) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(ranks()));
    const std::int64_t own = grid.owned().lower[0];
    MPI_Allgather(&own, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    return all;
  }

  MPI_Comm dealt_ = MPI_COMM_NULL;
};

TEST_F(Islands, get_neighbouring_subgrids) {
  constexpr std::int64_t kLong = 64;
  const Grid grid(dealt_, std::array<std::int64_t, 3>{kLong * ranks(), 4, 4},
                  {.counts = {ranks(), 1, 1}});
  const std::vector<std::int64_t> ends = lower_ends(grid);
  for (std::size_t first = 0; first < ends.size(); first += kRanksOfIsland)
    EXPECT_EQ(std::abs(ends[first] - ends[first + 1]), kLong) << "of rank " << first;
  EXPECT_NE(
      grid.plan().find("placed node-aware: 0.0 % of the bytes leave the nodes, 33.3 % go between "
                       "islands of a node; flat 0.0 % and 100.0 %"),
      std::string::npos)
      << grid.plan();
}

TEST_F(Islands, leave_flat_grids_as_they_are) {
  const Grid flat(dealt_, std::array<std::int64_t, 3>{64 * ranks(), 4, 4},
                  {.counts = {ranks(), 1, 1}, .placement = Placement::Flat});
  int dealt_rank = 0;
  MPI_Comm_rank(dealt_, &dealt_rank);
  EXPECT_EQ(flat.owned().lower[0], 64 * dealt_rank);
}

}  // namespace
}  // namespace strake
