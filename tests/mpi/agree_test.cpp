// Ranks that give different values, or of which some have a fault, all throw alike.
#include "mpi/agree.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>
#include <vector>

#include "strake/error.hpp"

namespace strake::mpi {
namespace {

struct World {
  int rank = 0;
  int ranks = 1;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  [[nodiscard]] bool is_last() const { return rank == ranks - 1; }
  [[nodiscard]] std::string last() const { return std::to_string(ranks - 1); }
};

/// The message that this rank gets; empty if it gets none.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}
std::string refusal(const std::vector<Given>& given) {
  return refusal([&] { require_alike(MPI_COMM_WORLD, given); });
}

const std::vector<Given> kGrid = {{"the extent along x", "24"}, {"the extent along y", "8"}};

TEST(Errors, tell_their_kinds_by_number) {
  const auto kind_of = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (...) {
      return kind_of_current_error();
    }
  };
  EXPECT_EQ(kind_of(Error("it")), ErrorCode{1});
  EXPECT_EQ(kind_of(InvalidArgument("it")), ErrorCode{2});
  EXPECT_EQ(kind_of(Unsupported("it")), ErrorCode{3});
  EXPECT_EQ(kind_of(OutOfMemory("it")), ErrorCode{4});
  EXPECT_EQ(kind_of(std::bad_alloc()), ErrorCode{4});
  EXPECT_EQ(kind_of(MpiError("it", 7)), ErrorCode{5});
  EXPECT_EQ(kind_of(CudaError("it", 7)), ErrorCode{6});
  EXPECT_EQ(kind_of(std::string("no exception of ours")), ErrorCode{1});
}

TEST(Agree, lists_that_are_alike_are_accepted) {
  EXPECT_EQ(refusal(kGrid), "");
  EXPECT_EQ(refusal(std::vector<Given>{}), "");
}

TEST(Agree, the_first_value_that_differs_is_named_with_both_values) {
  const World world;
  if (world.ranks == 1) GTEST_SKIP() << "one rank differs from none";
  std::vector<Given> given = kGrid;
  if (world.is_last()) given[1] = {"the extent along y", "9"};
  EXPECT_EQ(refusal(given), "the extent along y is 9 on rank " + world.last() + " and 8 on rank 0");
  // Rank 0 is the one that differs from all others.
  given = kGrid;
  if (world.rank == 0) given[0] = {"the extent along x", ""};
  EXPECT_EQ(refusal(given), "the extent along x is 24 on rank 1 and  on rank 0");
}

TEST(Agree, lists_may_have_different_lengths_and_entries) {
  const World world;
  if (world.ranks == 1) GTEST_SKIP() << "one rank differs from none";
  std::vector<Given> given = kGrid;
  if (world.is_last()) given.push_back({"the extent along z", "2"});
  EXPECT_EQ(refusal(given),
            "the extent along z is 2 on rank " + world.last() + ", and rank 0 has none");
  given = kGrid;
  if (world.is_last()) given.pop_back();
  EXPECT_EQ(refusal(given),
            "the extent along y is 8 on rank 0, and rank " + world.last() + " has none");
  given = kGrid;
  if (world.is_last()) given.erase(given.begin());
  EXPECT_EQ(refusal(given), "rank " + world.last() +
                                " gives the extent along y (8) where rank 0 gives the extent along "
                                "x (24)");
  // Texts that would be one if they were joined.
  given = {{"ab", "c"}};
  if (world.is_last()) given = {{"a", "bc"}};
  EXPECT_EQ(refusal(given), "rank " + world.last() + " gives a (bc) where rank 0 gives ab (c)");
}

TEST(Agree, the_lowest_ranks_fault_is_thrown_on_all) {
  const World world;
  EXPECT_EQ(refusal([] { agree(MPI_COMM_WORLD, ""); }), "");
  const bool is_well = world.rank == 0 && world.ranks > 1;
  const std::string fault = is_well ? "" : "of rank " + std::to_string(world.rank);
  EXPECT_THROW(agree(MPI_COMM_WORLD, fault, ErrorCode::OutOfMemory), OutOfMemory);
  EXPECT_EQ(refusal([&] { agree(MPI_COMM_WORLD, fault); }),
            world.ranks > 1 ? "of rank 1" : "of rank 0");
}

}  // namespace
}  // namespace strake::mpi
