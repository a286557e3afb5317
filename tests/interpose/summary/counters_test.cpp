#include "interpose/counters.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strake::interpose {
namespace {

std::vector<Event>& heard() {
  static std::vector<Event> events;
  return events;
}

Count packed() {
  return totals().by_transport[static_cast<std::size_t>(Function::MPI_Send)]
                              [static_cast<std::size_t>(Transport::Pack)];
}

TEST(Counters, are_counted_and_told_to_the_hook_as_long_as_there_is_one) {
  const Event event{Function::MPI_Send, Transport::Pack, Reason::None, 800};
  const Count before = packed();
  record(event);
  EXPECT_TRUE(heard().empty());
  set_event_hook([](const Event& told) { heard().push_back(told); });
  record(event);
  set_event_hook(nullptr);
  record(event);
  ASSERT_EQ(heard().size(), 1U);
  EXPECT_EQ(heard()[0].function, Function::MPI_Send);
  EXPECT_EQ(heard()[0].transport, Transport::Pack);
  EXPECT_EQ(heard()[0].bytes, 800);
  EXPECT_EQ(packed().calls, before.calls + 3);
  EXPECT_EQ(packed().bytes, before.bytes + 3 * 800);
}

}  // namespace
}  // namespace strake::interpose
