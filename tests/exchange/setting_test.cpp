// One rank has a setting that the others don't have.
#include <gtest/gtest.h>

#include <cstdlib>

#include "refusal.hpp"
#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {
namespace {

// Strake reads the environment once, at the first use of a setting.
TEST(Setting, nodes_that_are_pretended_on_one_rank_only_are_refused) {
  if (ranks() == 1) GTEST_SKIP() << "one rank differs from none";
  if (rank() == 1) setenv("STRAKE_RANKS_PER_NODE", "1", 1);
  ExchangePart part;
  part.array();
  part.send((rank() + 1) % ranks(), 0, 0, Layout::dense(8));
  part.receive((rank() + ranks() - 1) % ranks(), 0, 0, Layout::dense(8, 8));
  EXPECT_EQ(refusal_on_all([&] { const Exchange exchange(MPI_COMM_WORLD, part); }),
            "STRAKE_RANKS_PER_NODE is 1 on rank 1 and 0 on rank 0");
}

}  // namespace
}  // namespace strake
