// Jobs under `strake run` that it has no part in.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "run_fixture.hpp"

namespace strake::tools_test {
namespace {

TEST_P(Run, a_job_that_turns_out_to_use_no_mpi_ends_with_2) {
  const Outcome outcome = job({}, join({ranks(1), {"env", kPrograms + "/strake_serial"}}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(lines_with(outcome.out, "serial"), 1);
  EXPECT_EQ(lines_with(outcome.err, "no process of this job used MPI"), 1) << outcome.err;
}

TEST_P(Run, a_static_program_without_mpi_ends_with_2) {
  const std::string program = kPrograms + "/strake_static";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "there is no static C library here";
  const Outcome outcome = job({}, join({ranks(2), {program}}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(lines_with(outcome.out, "serial"), 2);
  EXPECT_EQ(lines_with(outcome.err, "no process of this job used MPI"), 1) << outcome.err;
}

TEST_P(Run, a_run_inside_a_rank_counts_for_the_outer_one) {
  const Outcome outcome =
      job({}, join({ranks(1), {"env", STRAKE_PREFIX "/bin/strake", "run", "--", hello()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

}  // namespace
}  // namespace strake::tools_test
