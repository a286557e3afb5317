#include "interpose/counters.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strake::interpose {
namespace {

std::vector<CallOutcome>& heard() {
  static std::vector<CallOutcome> outcomes;
  return outcomes;
}

Count packed() {
  return totals().by_transport[static_cast<std::size_t>(Function::MPI_Send)]
                              [static_cast<std::size_t>(Transport::Pack)];
}

TEST(Counters, are_counted_and_told_to_the_hook_as_long_as_there_is_one) {
  const CallOutcome outcome{Function::MPI_Send, Transport::Pack, Reason::None, 800};
  const Count before = packed();
  record(outcome);
  EXPECT_TRUE(heard().empty());
  set_outcome_hook([](const CallOutcome& told) { heard().push_back(told); });
  record(outcome);
  set_outcome_hook(nullptr);
  record(outcome);
  ASSERT_EQ(heard().size(), 1U);
  EXPECT_EQ(heard()[0].function, Function::MPI_Send);
  EXPECT_EQ(heard()[0].transport, Transport::Pack);
  EXPECT_EQ(heard()[0].bytes, 800);
  EXPECT_EQ(packed().calls, before.calls + 3);
  EXPECT_EQ(packed().bytes, before.bytes + 3 * 800);
}

}  // namespace
}  // namespace strake::interpose
