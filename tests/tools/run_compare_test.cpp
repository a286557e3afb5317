// `strake run --compare`. Its statistics and words: comparison_test.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "run_fixture.hpp"

namespace strake::tools_test {
namespace {

namespace fs = std::filesystem;

/// A folder with a launcher that starts one process, `./job.sh`, which is a script, and a file.
class Compare : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy_file(STRAKE_SOURCE "/tests/tools/programs/srun.sh", folder_.path() + "/srun");
    fs::create_directory(folder_.path() + "/in");
    std::ofstream(folder_.path() + "/in/a.dat") << "data\n";
  }
  /// Runs `strake run` with `options` in that folder. `script` becomes job.sh; `after` follows the
  /// command.
  [[nodiscard]] Outcome compare(const std::string& script, const std::string& options,
                                const std::string& after = "< /dev/null") const {
    std::ofstream(folder_.path() + "/job.sh") << "#!/bin/sh\n" << script << "\n";
    fs::permissions(folder_.path() + "/job.sh", fs::perms::owner_all);
    Outcome outcome = run({"bash", "-c",
                           "cd " + folder_.path() + " && " STRAKE_PREFIX "/bin/strake run " +
                               options + " -- ./srun ./job.sh " + after});
    // Other tests may keep the machine busy.
    const std::size_t doubts = outcome.err.find("strake run: the times will say less");
    if (doubts != std::string::npos)
      outcome.err.erase(doubts, outcome.err.find('\n', doubts) + 1 - doubts);
    return outcome;
  }
  /// The folder has what it had before, and no more.
  void expect_tidy() const {
    int entries = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      ++entries;
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name == "srun" || name == "in" || name == "job.sh" || name == "c.json") << name;
    }
    EXPECT_GE(entries, 3);
    EXPECT_EQ(run({"cat", folder_.path() + "/in/a.dat"}).out, "data\n");
  }
  [[nodiscard]] nlohmann::json written() const {
    std::ifstream file(folder_.path() + "/c.json");
    return nlohmann::json::parse(file, nullptr, false);
  }
  TemporaryFolder folder_;
};

TEST_F(Compare, each_run_has_its_files_and_the_input) {
  const Outcome outcome = compare(
      "[ ! -e made ] || exit 9; touch made\n"
      "read line; read second; echo \"$line $second\"; cat in/a.dat; echo more >> in/a.dat",
      "--compare 2 --files 'in/*' --json c.json", "< <(echo typed; echo twice)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "typed twice\ndata\n") << "that of the first run";
  EXPECT_EQ(lines_with(outcome.err, "2 runs of each kind can't show a difference"), 1)
      << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "no process of this job used MPI"), 1) << outcome.err;
  const nlohmann::json json = written();
  EXPECT_EQ(json["strake"], STRAKE_VERSION);
  EXPECT_EQ(json["command"], nlohmann::json({"./srun", "./job.sh"}));
  EXPECT_EQ(json["alone"]["runs"].size(), 2U);
  EXPECT_EQ(json["output_differs"], nullptr);
  expect_tidy();
}

TEST_F(Compare, an_output_that_differs_is_said) {
  const Outcome outcome =
      compare("echo time $$; echo sum $((5 + ${STRAKE_DISABLE:-2}))", "--compare 2 --json c.json");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "output differs: alone \"sum 6\", under Strake \"sum 7\""), 1)
      << outcome.err;
  EXPECT_EQ(written()["output_differs"]["under_strake"], "sum 7");
}

TEST_F(Compare, a_run_that_fails_ends_it_with_its_status_and_shows_its_output) {
  const Outcome alone = compare("echo said; exit 3", "--compare 2");
  EXPECT_EQ(alone.status, 3);
  EXPECT_EQ(alone.out, "said\n");
  EXPECT_EQ(alone.err, "strake run: nothing is compared: run 1 of 2 alone ended with status 3\n");
  const Outcome under =
      compare("echo said; echo cried >&2; [ \"$STRAKE_DISABLE\" ] || kill -SEGV $$", "--compare 2");
  EXPECT_EQ(under.status, 139);
  EXPECT_EQ(under.out, "said\n");
  EXPECT_EQ(under.err,
            "cried\nstrake run: nothing is compared: run 1 of 2 under Strake ended with status 139 "
            "(Segmentation fault); 1 run alone succeeded before\n"
            "--- its standard output\nsaid\n--- its standard error\ncried\n");
  expect_tidy();
}

TEST_F(Compare, a_status_that_may_be_the_programs_own_is_called_no_signal) {
  const std::string fails = "strake run: nothing is compared: run 1 of 1 alone ended with status ";
  EXPECT_EQ(compare("exit 132", "--compare 1").err, fails + "132\n");
  EXPECT_EQ(
      compare("echo rank 1 exited on signal 4 \\(Illegal instruction\\); exit 132", "--compare 1")
          .err,
      fails + "132 (Illegal instruction)\n");
}

TEST_F(Compare, a_time_limit_is_named) {
  const Outcome outcome =
      run({"sh", "-c",
           "cd " + folder_.path() +
               " && " STRAKE_PREFIX "/bin/strake run --compare 1 -- timeout 0.2 ./srun sleep 60"});
  EXPECT_EQ(outcome.status, 124);
  EXPECT_EQ(lines_with(outcome.err, "status 124 (it ran past its time limit)"), 1) << outcome.err;
}

TEST_F(Compare, with_the_shared_heap_three_kinds_of_runs_go_in_an_order_that_rotates) {
  const TemporaryFile order("order", "");
  const Outcome outcome =
      compare("echo ${STRAKE_DISABLE:-0}${STRAKE_SHARED_HEAP:--} >> " + order.path() +
                  "; case $LD_PRELOAD in *heap*) echo heap;; *) echo none;; esac",
              "--compare 3 --shared-heap --json c.json");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(run({"cat", order.path()}).out, "1-\n0-\n01\n0-\n01\n1-\n01\n1-\n0-\n");
  EXPECT_EQ(
      lines_with(outcome.err, "output differs: alone no such line, with --shared-heap \"heap\""), 1)
      << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "under Strake              with --shared-heap"), 1)
      << outcome.err;
  const nlohmann::json json = written();
  EXPECT_EQ(json["output_differs"], nullptr);
  EXPECT_EQ(json["output_differs_with_shared_heap"]["with_shared_heap"], "heap");
  EXPECT_EQ(json["with_shared_heap"]["runs"].size(), 3U);
  EXPECT_EQ(json["take"], nullptr);
  expect_tidy();
}

TEST_F(Compare, a_shared_heap_of_the_environment_is_compared_too_and_the_others_go_without) {
  const TemporaryFile order("order", "");
  const Outcome outcome =
      run({"sh", "-c",
           "cd " + folder_.path() +
               " && STRAKE_SHARED_HEAP=1 " STRAKE_PREFIX
               "/bin/strake run --compare 1 -- ./srun sh -c 'echo $STRAKE_SHARED_HEAP >> " +
               order.path() + "' < /dev/null"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(run({"cat", order.path()}).out, "0\n0\n1\n");
}

TEST_F(Compare, a_run_with_the_shared_heap_that_fails_is_named) {
  const Outcome outcome =
      compare("[ \"${STRAKE_SHARED_HEAP:-0}\" = 0 ] || exit 5", "--compare 1 --shared-heap");
  EXPECT_EQ(outcome.status, 5);
  EXPECT_EQ(outcome.err,
            "strake run: nothing is compared: run 1 of 1 with --shared-heap ended with status 5; "
            "1 run alone succeeded before; 1 run under Strake succeeded before\n");
}

TEST_F(Compare, a_signal_ends_it_and_leaves_nothing) {
  // Behind an "and", $! would be the shell's.
  const Outcome outcome =
      compare("exec sleep 60",
              "--help > /dev/null; " STRAKE_PREFIX "/bin/strake run --compare 5 --files 'in/*'",
              "< /dev/null & sleep 0.5; kill -TERM $!; wait $!");
  EXPECT_EQ(outcome.status, 143);
  EXPECT_EQ(outcome.err, "strake run: nothing is compared: ended by a signal (Terminated)\n");
  expect_tidy();
}

TEST_F(Compare, a_reader_that_goes_away_ends_nothing) {
  const Outcome outcome =
      compare("seq 100000", "--compare 1", "< /dev/null | head -1; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "1\n");
  EXPECT_EQ(lines_with(outcome.err, "1 run of each kind can't show"), 1) << outcome.err;
}

TEST_F(Compare, results_that_cannot_be_written_are_said) {
  const Outcome outcome = compare("true", "--compare 1 --json /dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(lines_with(outcome.err, "strake run: --json: /dev/full can't be written"), 1)
      << outcome.err;
}

TEST_F(Compare, wrong_use_is_refused_before_anything_runs) {
  struct Row {
    const char* options;
    const char* message;
  };
  for (const auto& [options, message] :
       {Row{"--compare 0", "0 not in range"}, Row{"--compare many", "many not in range"},
        Row{"--compare 2 --quiet", "excludes"}, Row{"--compare 2 --disable", "excludes"},
        Row{"--files in/a.dat", "--files requires --compare"},
        Row{"--compare 2 --files 'out/*'", "strake run: --files: nothing matches out/*"},
        Row{"--compare 2 --files ../no-such-file in/a.dat", "nothing matches ../no-such-file"},
        Row{"--compare 2 --files /etc/passwd", "/etc/passwd is not in the current folder"},
        Row{"--compare 2 --json /no/such/folder/f", "/no/such/folder/f can't be written"}}) {
    const Outcome outcome = compare("touch ran", options);
    EXPECT_EQ(outcome.status, 2) << options;
    EXPECT_EQ(lines_with(outcome.err, message), 1) << options << "\n" << outcome.err;
  }
  EXPECT_EQ(run({"env", "STRAKE_DISABLE=1", STRAKE_PREFIX "/bin/strake", "run", "--compare", "2",
                 "--", folder_.path() + "/srun", "true"})
                .status,
            2);
  expect_tidy();
}

TEST_P(Run, compare_reads_the_time_inside_mpi) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/c.json";
  const Outcome outcome = job({"--compare", "1", "--json", file}, {hello()}, {"STANDIN_TIME=3 1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "hello 0 of 1"), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.err, "time in MPI 3.00 s → 1.00 s, whole run"), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "share of MPI   30 % (30 to 30)"), 1) << outcome.err;
  std::ifstream json(file);
  EXPECT_EQ(nlohmann::json::parse(json)["under_strake"]["in_mpi_s"]["median"], 1);
}

TEST_P(Run, compare_says_before_the_first_run_and_in_its_verdict_that_ranks_share_cpus) {
  const int cpus = std::stoi(run({"nproc"}).out);
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/c.json";
  const Outcome outcome =
      job({"--compare", "1", "--json", file}, join({ranks(cpus + 1), {hello()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string crowd =
      std::to_string(cpus + 1) + " ranks share " + std::to_string(cpus) + " CPU";
  EXPECT_EQ(outcome.err.find("strake run: the times will say less: "), 0U) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, crowd), 2) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "; doubtful, as "), 1) << outcome.err;
  std::ifstream json(file);
  EXPECT_NE(nlohmann::json::parse(json)["doubts"].dump().find(crowd), std::string::npos);
  // As many as there are CPUs: other tests may keep those busy.
  EXPECT_EQ(lines_with(job({"--compare", "1"}, {hello()}).err, "share"), 0);
}

TEST_F(Compare, busy_cpus_are_said) {
  const std::string cpus = run({"nproc"}).out;
  const Outcome outcome = run({"bash", "-c",
                               "for i in $(seq $(nproc)); do (exec timeout 20 sh -c 'while :; do "
                               ":; done') & done; sleep 0.2; "
                               "cd " +
                                   folder_.path() +
                                   "; " STRAKE_PREFIX "/bin/strake run --compare 1 -- ./srun true; "
                                   "kill $(jobs -p)"});
  EXPECT_EQ(lines_with(outcome.err, "the times will say less: other processes used "), 1)
      << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "; doubtful, as other processes used "), 1) << outcome.err;
}

}  // namespace
}  // namespace strake::tools_test
