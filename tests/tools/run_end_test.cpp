// How jobs under `strake run` end, and what they leave.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "machine/profile.hpp"
#include "run_fixture.hpp"

namespace strake::tools_test {
namespace {

TEST_P(Run, status_is_the_jobs) { EXPECT_EQ(job({}, join({ranks(2), {hello(), "3"}})).status, 3); }

TEST_P(Run, ranks_that_die_leave_the_launchers_status_and_message) {
  const Words job = join({{STRAKE_SOURCE "/tests/support/launch.sh"}, kStrakeRun, ranks(2)});
  const Outcome one = run(join({job, {hello(), "one", "3"}}));
  EXPECT_EQ(one.status, 3) << one.err;
  EXPECT_EQ(lines_with(one.err, "strake"), 0) << one.err;
  // Launchers say and return now this, now that.
  const Outcome abort = run(join({job, {hello(), "abort", "7"}}));
  EXPECT_NE(abort.status, 0) << abort.err;
  EXPECT_EQ(lines_with(abort.err, "strake run"), 0) << abort.err;
  // 128 more, or not, depending on the launcher.
  const Outcome killed = run(join({job, {hello(), "kill", std::to_string(SIGKILL)}}));
  EXPECT_EQ(killed.status % 128, SIGKILL) << killed.err;
  EXPECT_GE(lines_with(killed.err + killed.out, "ignal"), 1) << killed.err << killed.out;
}

TEST(RunPipe, a_reader_that_goes_away_ends_the_job_as_it_would_alone) {
  const TemporaryFolder folder;
  const std::string srun = folder.path() + "/srun";
  std::filesystem::copy_file(STRAKE_SOURCE "/tests/tools/programs/srun.sh", srun);
  for (const std::string& start :
       {srun + " --export=ALL,A=1", STRAKE_PREFIX "/bin/strake run -- " + srun}) {
    const Outcome outcome = run({"bash", "-c", start + " yes | head -1; exit ${PIPESTATUS[0]}"});
    EXPECT_EQ(outcome.status, 128 + SIGPIPE) << start << outcome.err;
    EXPECT_EQ(outcome.out, "y\n");
  }
}

/// The command with the real interposers, and a program with messages of a derived type.
class RealRun : public Run {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program())) GTEST_SKIP() << "not here: " << program();
  }
  [[nodiscard]] static std::string program() { return STRAKE_BIN "/halo2d_" + GetParam(); }
  /// Two ranks under `strake run`, with a summary in the file `json`.
  [[nodiscard]] Outcome halo2d(const std::string& json, const Words& environment) const {
    return run(join({{"env", "-u", "HOME", "-u", "XDG_CACHE_HOME", STRAKE_BIN "/strake", "run",
                      "--json", json, "--"},
                     ranks(2),
                     {program(), "96", "5"}}),
               environment);
  }
};

TEST_P(RealRun, a_full_disk_and_no_home_do_the_job_no_harm) {
  const Outcome outcome = halo2d("/dev/full", {});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "the summary can't be written to /dev/full"), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "strake: 2 ranks"), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "checksum"), 1) << outcome.out;
}

TEST_P(RealRun, a_profile_of_another_machine_is_not_used_and_said) {
  machine::Profile profile;
  profile.key = "another machine";
  const TemporaryFile file("other.profile", "");
  machine::write_compact(profile, file.path());
  const TemporaryFile json("summary.json", "");
  const Outcome outcome = halo2d(json.path(), {"STRAKE_PROFILE=" + file.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  // The log and the summary, in the same words.
  const std::string said = "not measured: the profile " + file.path() + " is of another machine";
  EXPECT_EQ(lines_with(outcome.err, "strake warning: profile: " + said), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "  profile      " + said), 1) << outcome.err;
}

TEST_P(RealRun, three_kinds_of_runs_are_compared_and_have_one_answer) {
  const TemporaryFile file("compared.json", "");
  const Outcome outcome =
      run(join({{"env", "-u", "STRAKE_SHARED_HEAP", STRAKE_BIN "/strake", "run", "--compare", "4",
                 "--shared-heap", "--json", file.path(), "--"},
                ranks(2),
                {program(), "512", "40"}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::ifstream stream(file.path());
  const auto json = nlohmann::json::parse(stream);
  for (const char* kind : {"alone", "under_strake", "with_shared_heap"}) {
    EXPECT_EQ(json[kind]["runs"].size(), 4U) << kind;
    EXPECT_GT(json[kind]["in_mpi_s"]["median"], 0) << kind;
  }
  EXPECT_EQ(json["output_differs"], nullptr);
  EXPECT_EQ(json["output_differs_with_shared_heap"], nullptr);
  EXPECT_TRUE(json["take"].is_string()) << json;
  // A limit of this machine may keep ranks from it; then the heap is not what made runs faster.
  if (json["doubts"].dump().find("2 ranks had no shared heap") != std::string::npos) {
    EXPECT_NE(json["take"], "with_shared_heap");
  }
  const bool taken = json["take"] == "with_shared_heap";
  EXPECT_EQ(lines_with(outcome.err, "strake run --shared-heap -- "), taken ? 1 : 0) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Flavors, RealRun, testing::ValuesIn(split(STRAKE_FLAVORS)));

TEST_P(Run, closed_standard_streams_do_not_change_the_status) {
  std::string command;
  for (const std::string& word : join({ranks(1), {hello(), "4"}})) command += " " + word;
  for (const std::string closed : {" <&- >&-", " <&- >&- 2>&-", " <&-"}) {
    const auto status_of = [&](const std::string& start) {
      return run({"sh", "-c", "exec " + start + command + closed}).status;
    };
    EXPECT_EQ(status_of(STRAKE_PREFIX "/bin/strake run --"), status_of("")) << closed;
  }
}

TEST_P(Run, a_summary_of_an_earlier_job_does_not_stay) {
  const TemporaryFile summary("summary.json", "{}");
  EXPECT_EQ(job({"--json", summary.path()}, join({ranks(1), {hello(), "4"}})).status, 4);
  EXPECT_EQ(std::filesystem::file_size(summary.path()), 0U);
}

TEST_P(Run, a_summary_to_standard_output_leaves_what_is_there) {
  const TemporaryFile log("log.txt", "earlier\n");
  std::string command = STRAKE_PREFIX "/bin/strake run --quiet --json /dev/stdout --";
  for (const std::string& word : join({ranks(1), {hello()}})) command += " " + word;
  EXPECT_EQ(run({"sh", "-c", command + " >> " + log.path()}).status, 0);
  EXPECT_EQ(lines_with(run({"cat", log.path()}).out, "earlier"), 1);
}

TEST_P(Run, a_parent_that_ignores_sigchld_does_no_harm) {
  const Words command = {STRAKE_PREFIX "/bin/strake", "run", "--", hello(), "3"};
  EXPECT_EQ(run(join({{"env", "--ignore-signal=CHLD"}, command})).status, 3);
}

TEST_P(Run, a_relative_or_missing_folder_for_files_does_no_harm) {
  const TemporaryFolder folder;
  const std::string srun = folder.path() + "/srun";
  std::filesystem::copy_file(STRAKE_SOURCE "/tests/tools/programs/srun.sh", srun);
  const Words elsewhere = {srun, "sh", "-c", "unset TMPDIR; cd / && exec " + hello()};
  for (const std::string& value :
       {std::string("."), folder.path() + "/missing", std::string("/proc")}) {
    const Outcome outcome = job({}, elsewhere, {"TMPDIR=" + value});
    EXPECT_EQ(outcome.status, 0) << value << outcome.err;
  }
}

/// How a command ends that gets `signal` once `started` exists, which its job makes; nothing where
/// it has not ended a minute later.
std::optional<int> end_by(int signal, bool ignored_at_start, const Words& command,
                          const std::string& started) {
  const auto waits_for = [](const auto& condition) {
    for (const auto begin = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(60);
         std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      if (condition()) return true;
    }
    return false;
  };
  std::filesystem::remove(started);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> pointers;
    for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
    if (ignored_at_start) std::signal(signal, SIG_IGN);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  EXPECT_TRUE(waits_for([&] { return std::filesystem::exists(started); }));
  kill(child, signal);
  int status = 0;
  if (waits_for([&] { return waitpid(child, &status, WNOHANG) == child; })) return status;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return std::nullopt;
}

/// A program that makes the file `started`, and then waits.
Words waiting_job(const std::string& started) {
  return {"sh", "-c", "touch '" + started + "'; exec sleep 600"};
}

TEST_P(Run, a_signal_ends_the_job) {
  const TemporaryFolder folder;
  const std::string started = folder.path() + "/started";
  const Words command = join({ranks(1), waiting_job(started)});
  // Hydra's is 0, or the signal's number if it saw its rank end first: so several times.
  std::optional<int> status, alone;
  for (int turn = 0; turn == 0 || (turn < 10 && status != alone); ++turn) {
    status = end_by(SIGTERM, false, join({kStrakeRun, command}), started);
    ASSERT_TRUE(status);
    alone = end_by(SIGTERM, false, command, started);
  }
  EXPECT_EQ(status, alone);
}

TEST_P(Run, a_signal_that_was_ignored_at_the_start_ends_the_job_where_the_launcher_heeds_it) {
  const TemporaryFolder folder;
  const std::string started = folder.path() + "/started";
  EXPECT_TRUE(end_by(SIGINT, true, join({kStrakeRun, ranks(1), waiting_job(started)}), started));
}

TEST_P(Run, a_kill_leaves_no_file) {
  const TemporaryFolder folder;
  const std::string srun = folder.path() + "/srun";
  std::filesystem::copy_file(STRAKE_SOURCE "/tests/tools/programs/srun.sh", srun);
  const std::string temporary = folder.path() + "/tmp";
  std::filesystem::create_directory(temporary);
  const Outcome outcome = run(join({{"sh", "-c", "\"$@\" & sleep 2; kill -KILL $!; wait $!", "sh"},
                                    kStrakeRun,
                                    {srun, "sleep", "600"}}),
                              {"TMPDIR=" + temporary});
  EXPECT_EQ(outcome.status, 128 + SIGKILL) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_P(Run, a_machine_without_proc_does_no_harm) {
  const auto without_proc = [&](const Words& command) {
    return run(
        join({{"unshare", "-rm", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"},
              command}));
  };
  const Words command = join({ranks(2), {hello()}});
  if (without_proc(command).status != 0) GTEST_SKIP() << "does not run without /proc, alone either";
  const Outcome outcome = without_proc(join({kStrakeRun, command}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 2) << outcome.out;
}

TEST(RunSignals, hangup_under_nohup_does_not_end_a_job_that_ignores_it) {
  const TemporaryFolder folder;
  const std::string srun = folder.path() + "/srun";
  std::ofstream(srun) << "#!/bin/sh\n"
                         "if [ \"$1\" = --version ]; then echo slurm 23.02.4; exit 0; fi\n"
                         "kill -HUP $PPID\n"
                         "sleep 1\n"
                         "exit 3\n";
  std::filesystem::permissions(srun, std::filesystem::perms::owner_all);
  const Words job = {STRAKE_PREFIX "/bin/strake", "run", "--", srun, "a"};
  EXPECT_EQ(run(join({{"sh", "-c", "trap '' HUP; exec \"$@\"", "sh"}, job})).status, 3);
  EXPECT_EQ(run(job).status, 128 + SIGHUP);
}

}  // namespace
}  // namespace strake::tools_test
