// The first line of a job's summary: what its counts mean for its user.
#include <gtest/gtest.h>

#include <string>

#include "interpose/summary_forms.hpp"
#include "mpi/quirks.hpp"

namespace strake::interpose {
namespace {

void send(Totals& totals, Transport transport, Reason reason, std::uint64_t calls,
          std::uint64_t bytes) {
  const auto add = [&](Count& count) {
    count.calls += calls;
    count.bytes += bytes;
  };
  add(totals.by_transport[static_cast<std::size_t>(Function::MPI_Send)]
                         [static_cast<std::size_t>(transport)]);
  if (reason != Reason::None) add(totals.by_reason[static_cast<std::size_t>(reason)]);
}

TEST(Meaning, is_the_share_of_strided_bytes_and_how_to_see_whether_that_helps) {
  Totals totals;
  EXPECT_EQ(meaning_of(totals), "no message that Strake could change");
  send(totals, Transport::Library, Reason::FewUses, 4, 4000);
  EXPECT_EQ(meaning_of(totals),
            "none of the strided bytes went another way than the MPI library's");
  send(totals, Transport::Shared, Reason::None, 96, 96000);
  // Neither contiguous messages nor empty ones count.
  send(totals, Transport::Library, Reason::Contiguous, 10, 1 << 20);
  send(totals, Transport::Library, Reason::Empty, 10, 0);
  EXPECT_EQ(meaning_of(totals),
            "96 % of the strided bytes went another way than the MPI library's; whether that "
            "helps: strake run --compare 5");
  const Reached reached = reached_of(totals);
  EXPECT_EQ(reached.another_way.calls, 96U);
  EXPECT_EQ(reached.left.calls, 4U);
  EXPECT_EQ(reached.contiguous.calls, 10U);
  send(totals, Transport::Pack, Reason::None, 1000, 1 << 30);
  EXPECT_EQ(meaning_of(totals).find("99 % of the strided"), 0U) << meaning_of(totals);
}

TEST(Meaning, has_the_two_times_of_trials) {
  Totals totals;
  send(totals, Transport::Pack, Reason::None, 10, 1000);
  EXPECT_FALSE(trial_times(totals));
  totals.trials_packed = 3;
  totals.trials_left = 1;
  totals.trials_moved_ns = 4 * 12100;
  totals.trials_left_ns = 4 * 15300;
  EXPECT_EQ(meaning_of(totals),
            "all of the strided bytes went another way than the MPI library's; an exchange of this "
            "job's trials took 12.1 us by Strake, 15.3 us left; whether that helps: strake run "
            "--compare 5");
}

TEST(Meaning, a_job_of_contiguous_messages_is_told_so_by_size_and_library) {
  const auto of = [](std::uint64_t bytes) {
    Totals totals;
    send(totals, Transport::Library, Reason::Contiguous, 100, 100 * bytes);
    send(totals, Transport::Library, Reason::Empty, 10, 0);
    return meaning_of(totals);
  };
  EXPECT_EQ(of(1024),
            "all messages are contiguous (100 calls, 1024 bytes on the average), so Strake changes "
            "none of them. If the program packs by hand: keep that, datatypes took longer where "
            "messages of this size were measured");
  const bool less = of(4096).find("datatypes under strake run took less") != std::string::npos;
  EXPECT_EQ(less, mpi::quirks::kOpenMpi) << of(4096);
  EXPECT_NE(of(32 << 10).find("keep that"), std::string::npos) << of(32 << 10);
  EXPECT_NE(of(1 << 20).find("was not measured at this size, strake run --compare 5 tells"),
            std::string::npos)
      << of(1 << 20);
}

}  // namespace
}  // namespace strake::interpose
