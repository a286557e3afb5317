// Jobs under `strake run` of which no MPI call reaches Strake.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "run_fixture.hpp"

namespace strake::tools_test {
namespace {

TEST_P(Run, a_job_without_mpi_keeps_its_status_and_is_told_so) {
  const std::string serial = kPrograms + "/strake_serial";
  const std::string unlinked = kPrograms + "/strake_static";
  for (const Words& command : {Words{serial}, Words{"env", serial}, Words{unlinked}}) {
    if (!std::filesystem::exists(command.back())) continue;  // no static C library here
    const Outcome outcome = job({}, join({ranks(2), command}));
    EXPECT_EQ(outcome.status, 0) << command[0];
    EXPECT_EQ(lines_with(outcome.out, "serial"), 2) << command[0];
    EXPECT_EQ(lines_with(outcome.err, "no process of this job used MPI"), 1) << outcome.err;
  }
  const Outcome failed = job({}, join({ranks(1), {"sh", "-c", "exit 3"}}));
  EXPECT_EQ(failed.status, 3);
  EXPECT_EQ(lines_with(failed.err, "strake run: "), 0) << failed.err;
}

TEST_P(Run, a_program_linked_to_mpi_that_never_starts_it_keeps_its_status_and_is_told_so) {
  const Outcome outcome = job({}, join({ranks(2), {idle()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "serial"), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.err, "either MPI was never started"), 1) << outcome.err;
}

TEST_P(Run, calls_that_go_past_the_interposer_are_told_in_the_summary_too) {
  const Words command = join({ranks(1), {kPrograms + "/strake_past", library()}});
  if (run(command).status != 0) GTEST_SKIP() << "not here: " << library();
  const TemporaryFile summary("summary.json", "");
  const Outcome outcome = job({"--json", summary.path()}, command);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "no MPI call of this job reached Strake"), 1) << outcome.err;
  const auto json = nlohmann::json::parse(std::ifstream(summary.path()));
  EXPECT_EQ(json["ranks"], 0);
  EXPECT_TRUE(json["functions"].empty());
  EXPECT_NE(outcome.err.find(json["problem"].get<std::string>()), std::string::npos);
}

TEST_P(Run, a_job_that_strake_reached_is_not_told_of_its_other_programs) {
  const TemporaryFile summary("summary.json", "");
  for (const std::string& before : {std::string(), "env -i /bin/true; " + idle() + "; "}) {
    const Outcome outcome =
        job({"--json", summary.path()}, join({ranks(1), {"sh", "-c", before + "exec " + hello()}}));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(lines_with(outcome.err, "strake run: "), 0) << outcome.err;
    EXPECT_EQ(std::filesystem::file_size(summary.path()), 0U);  // rank 0's to write
  }
}

TEST_P(Run, an_emptied_environment_is_told) {
  const Outcome outcome = job({}, join({ranks(1), {"env", "-i", idle()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "serial"), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.err, "emptied environment"), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "no process of this job used MPI"), 0) << outcome.err;
}

TEST_P(Run, a_run_inside_a_rank_counts_for_the_outer_one) {
  const Outcome outcome =
      job({}, join({ranks(1), {"env", STRAKE_PREFIX "/bin/strake", "run", "--", hello()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

}  // namespace
}  // namespace strake::tools_test
