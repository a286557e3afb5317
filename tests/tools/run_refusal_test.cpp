// Jobs that `strake run` refuses, before they start or in a rank.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "run_fixture.hpp"

namespace strake::tools_test {
namespace {

TEST_P(Run, an_unknown_mpi_library_is_refused_before_the_start_or_by_the_rank) {
  const std::string program = kPrograms + "/strake_unknown_mpi";
  for (const Words& command : {Words{program}, Words{"env", program}}) {
    const Outcome outcome = job({}, join({ranks(2), command}));
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(lines_with(outcome.err, "an MPI library that Strake does not know"), 1)
        << outcome.err;
    EXPECT_EQ(lines_with(outcome.err, "libmpi.so.12"), 1) << outcome.err;
  }
}

TEST_P(Run, the_standard_abi_is_refused_whatever_mpi_says) {
  const std::string program = kPrograms + "/strake_abi_mpi";
  for (const Words& options : {Words{}, Words{"--mpi", GetParam()}}) {
    for (const Words& command : {Words{program}, Words{"env", program}}) {
      const Outcome outcome = job(options, join({ranks(2), command}));
      EXPECT_EQ(outcome.status, 2);
      EXPECT_EQ(lines_with(outcome.err, "under the standard ABI of MPI 5"), 1) << outcome.err;
    }
  }
}

TEST_P(Run, a_missing_interposer_is_said) {
  for (const Words& command : {Words{hello()}, Words{"env", hello()}}) {
    const Outcome outcome =
        run(join({{STRAKE_BARE "/bin/strake", "run", "--"}, ranks(1), command}));
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(lines_with(outcome.err, "libstrake-mpi-" + GetParam() + ".so"), 1) << outcome.err;
  }
}

TEST_P(Run, a_forced_library_must_be_the_programs) {
  const std::string other = GetParam() == "openmpi" ? "mpich" : "openmpi";
  for (const Words& command : {Words{hello()}, Words{"env", hello()}}) {
    const Outcome outcome = job({"--mpi", other}, join({ranks(1), command}));
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(lines_with(outcome.err, "library that --mpi"), 1) << outcome.err;
  }
  EXPECT_EQ(job({"--mpi", GetParam()}, join({ranks(1), {hello()}})).status, 0);
}

TEST_P(Run, the_setting_forces_the_library_as_the_option_does) {
  const std::string other = GetParam() == "openmpi" ? "mpich" : "openmpi";
  const Words behind = {"env", hello()};
  const Outcome refused = job({}, join({ranks(1), {hello()}}), {"STRAKE_MPI=" + other});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(lines_with(refused.err, "(STRAKE_MPI) names"), 1) << refused.err;
  EXPECT_EQ(job({"--mpi", "auto"}, join({ranks(1), behind}), {"STRAKE_MPI=" + other}).status, 0);
  // A value that is not valid is auto.
  const Outcome outcome = job({}, join({ranks(1), behind}), {"STRAKE_MPI=mpic"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST(RunErrors, are_told_before_anything_starts) {
  EXPECT_EQ(strake({"run", "--", "no-such-mpirun", "a"}).err,
            "strake run: no-such-mpirun: command not found\n");
  EXPECT_EQ(strake({"run", "--", "no-such-mpirun", "a"}).status, 2);
  const TemporaryFile plain("noexec", "#!/bin/sh\n");
  std::filesystem::permissions(plain.path(), std::filesystem::perms::owner_read);
  const Outcome outcome = strake({"run", "--", plain.path()});
  EXPECT_EQ(outcome.err, "strake run: " + plain.path() + ": not executable (permission denied)\n");
  EXPECT_EQ(outcome.status, 126);
  const Outcome folder = strake({"run", "--", "/tmp"});
  EXPECT_EQ(folder.err, "strake run: /tmp: is a folder\n");
  EXPECT_EQ(folder.status, 126);
  const Outcome shell = strake({"run", "--", "sh", "-c", "echo ran"});
  EXPECT_EQ(shell.status, 2);
  EXPECT_EQ(shell.out, "");
  EXPECT_EQ(lines_with(shell.err, "is neither a launcher"), 1) << shell.err;
  EXPECT_EQ(strake({"run", "--json", "/no/such/folder/f", "--", "sh"}).status, 2);
}

}  // namespace
}  // namespace strake::tools_test
