/// \file  `strake measure` from outside: options, exit status, files.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "machine/profile.hpp"
#include "tools/command.hpp"

namespace strake::measure {
namespace fs = std::filesystem;
using tools_test::lines_with;
using tools_test::Outcome;
using tools_test::Words;
namespace {

class Measure : public testing::Test {
 protected:
  void SetUp() override {
    cache_ = fs::temp_directory_path() / ("strake-measure-" + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(cache_); }

  /// `rank`: as the launcher of the stand-in would start it.
  [[nodiscard]] Outcome measure(Words arguments, bool rank = false) const {
    arguments.insert(arguments.begin(), "measure");
    Words environment = {"XDG_CACHE_HOME=" + cache_.string()};
    if (rank) environment.emplace_back("OMPI_COMM_WORLD_SIZE=1");
    return tools_test::strake(arguments, environment);
  }
  [[nodiscard]] std::string path(const char* ending) const {
    return (cache_ / "strake" / (machine::hash_of_key(machine::machine_key()) + ending)).string();
  }
  [[nodiscard]] nlohmann::json profile() const {
    std::ifstream file(path(".json"));
    return nlohmann::json::parse(file);
  }
  /// How many of the profile's results nothing disturbed: other tests may keep the machine busy.
  [[nodiscard]] std::size_t sound() const {
    const auto json = profile();
    return static_cast<std::size_t>(
        std::count_if(json["results"].begin(), json["results"].end(),
                      [](const auto& result) { return !result.contains("doubtful"); }));
  }

  fs::path cache_;
};

TEST_F(Measure, lists_without_measuring) {
  const Outcome all = measure({"--list"});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_EQ(lines_with(all.out, "pack/cpu/box 65536 64 136"), 2);  // pack and unpack
  const Outcome quick = measure({"--list", "--quick", "--filter", "^pack"});
  EXPECT_GT(lines_with(quick.out, "pack"), 3);
  EXPECT_EQ(lines_with(quick.out, "pack"), lines_with(quick.out, " quick"));
  EXPECT_EQ(lines_with(quick.out, "copy/"), 0);
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(Measure, prints_a_table_and_writes_both_forms) {
  const Outcome outcome = measure({"--quick", "--filter", "^pack/cpu/box 1024 64 (136|1032)"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "GB/s"), 1);
  EXPECT_EQ(lines_with(outcome.out, "pack/cpu/box   1 KiB    64 B   136 B "), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.err, "2 cases measured"), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "Profile: " + path(".json")), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "Clocks: "), 1);

  const auto json = profile();
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["key"], machine::machine_key());
  EXPECT_GE(json["machine"]["cores"], 1);
  ASSERT_EQ(json["results"].size(), 2U);
  const auto& result = json["results"][0];
  EXPECT_EQ(result["bytes"], 1024);
  EXPECT_GE(result["samples"], 7);
  EXPECT_GT(result["median"], 0);
  EXPECT_LE(result["p10"], result["median"]);
  EXPECT_GE(result["p90"], result["median"]);
  const machine::Profile compact = machine::read_compact(path(".profile"));
  EXPECT_EQ(compact.results.size(), 2U);
  EXPECT_EQ(compact.results[0].median, result["median"]);
}

TEST_F(Measure, prints_json_lines) {
  const Outcome outcome = measure({"--json", "--filter", "^standin/(good|make) "}, true);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(nlohmann::json::parse(line)["name"], "standin/good") << line;
  }
  EXPECT_EQ(count, 1);
}

TEST_F(Measure, ends_in_the_time_that_it_is_given) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = measure({"--time", "20", "--filter", "^pack/cpu/"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(measure({"--time", "19"}).status, 2);
}

TEST_F(Measure, updates_what_is_asked_and_resumes) {
  EXPECT_EQ(measure({"--quick", "--filter", "^standin/(good|second) "}, true).status, 0);
  const auto before = profile();
  EXPECT_EQ(measure({"--filter", "^standin/third "}, true).status, 0);
  const auto after = profile();
  ASSERT_EQ(after["results"].size(), 3U);
  EXPECT_EQ(after["results"][0], before["results"][0]);
  EXPECT_EQ(after["results"][2]["mode"], "full");
  const auto known = static_cast<std::size_t>(
      std::count_if(before["results"].begin(), before["results"].end(),
                    [](const auto& result) { return !result.contains("doubtful"); }));

  const Outcome resumed =
      measure({"--quick", "--resume", "--filter", "^standin/(good|second|third|fourth) "}, true);
  EXPECT_EQ(resumed.status, 0);
  EXPECT_EQ(lines_with(resumed.err, fmt::format("{} of 4 cases are measured already", known)), 1)
      << resumed.err;
  EXPECT_EQ(lines_with(resumed.err, fmt::format("{} cases measured", 4 - known)), 1) << resumed.err;
  if (!before["results"][0].contains("doubtful")) {
    EXPECT_EQ(profile()["results"][0], before["results"][0]);
  }
  EXPECT_EQ(profile()["results"].size(), 4U);
}

TEST_F(Measure, writes_where_it_is_told) {
  const std::string file = (cache_ / "here.json").string();
  EXPECT_EQ(measure({"--output", file, "--filter", "^standin/good "}, true).status, 0);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_TRUE(fs::exists(cache_ / "here.profile"));
  EXPECT_FALSE(fs::exists(path(".json")));
}

TEST_F(Measure, two_runs_at_once_keep_what_both_measured) {
  // Each takes 2 s or more, so both have begun when either ends.
  const std::string strake = STRAKE_PREFIX "/bin/strake measure --filter ";
  const Outcome outcome =
      tools_test::run({"sh", "-c",
                       strake + "'^standin/(good|slow) ' & first=$!; " + strake +
                           "'^pack/cpu/box 1024 64 136' || exit 3; wait $first"},
                      {"XDG_CACHE_HOME=" + cache_.string(), "OMPI_COMM_WORLD_SIZE=1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::set<std::string> names;
  const auto json = profile();
  for (const auto& result : json["results"]) names.insert(result["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"pack/cpu/box", "standin/good", "standin/slow"}));
  EXPECT_EQ(machine::read_compact(path(".profile")).results.size(), 3U);
}

TEST_F(Measure, two_forms_under_one_name_are_refused) {
  const std::string file = (cache_ / "here.profile").string();
  const Outcome outcome = measure({"--output", file, "--filter", "^pack/cpu/box 1024 64 136"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(lines_with(outcome.err, file + ": .profile is for the compact form"), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "should end with .json"), 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(Measure, says_that_there_is_no_place_for_the_profile) {
  const Words nowhere = {"XDG_CACHE_HOME=", "HOME=", "OMPI_COMM_WORLD_SIZE=1"};
  const Outcome outcome = tools_test::strake({"measure", "--filter", "^standin/good "}, nowhere);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(lines_with(outcome.err, "there is no place for the profile"), 1) << outcome.err;
  for (const char* name : {"XDG_CACHE_HOME", "HOME", "--output"})
    EXPECT_EQ(lines_with(outcome.err, name), 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(tools_test::strake({"measure", "--list"}, nowhere).status, 0);
  const std::string file = (cache_ / "here.json").string();
  EXPECT_EQ(tools_test::strake({"measure", "--output", file, "--filter", "^standin/good "}, nowhere)
                .status,
            0);
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(Measure, usage_errors_end_with_2) {
  EXPECT_EQ(measure({"--frobnicate"}).status, 2);
  EXPECT_EQ(measure({"--list", "--json"}).status, 2);
  const Outcome regex = measure({"--filter", "pack("});
  EXPECT_EQ(regex.status, 2);
  EXPECT_EQ(lines_with(regex.err, "'pack(' is no regular expression"), 1) << regex.err;
  const Outcome none = measure({"--filter", "no such case"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(lines_with(none.err, "no case here matches"), 1) << none.err;
}

TEST_F(Measure, goes_on_after_cases_that_can_not_be_measured) {
  const Outcome outcome = measure({"--filter", "^standin/(good|make|run) "}, true);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err, "standin/make, 1000 B: there is no such thing here"), 1);
  EXPECT_EQ(lines_with(outcome.err, "standin/run, 1000 B: it broke"), 1);
  EXPECT_EQ(lines_with(outcome.err, "1 case measured, 2 could not be measured"), 1) << outcome.err;
  const auto json = profile();
  ASSERT_EQ(json["results"].size(), 1U);
  EXPECT_EQ(json["results"][0]["name"], "standin/good");
  EXPECT_EQ(json["results"][0]["mpi"], "Stand-in MPI 1.0");
  EXPECT_EQ(json["machine"]["driver"], "1.0");
  EXPECT_EQ(json["gpu_aware"][0]["mpi"], "Stand-in MPI 1.0");
  EXPECT_EQ(json["gpu_aware"][0]["aware"], true);
}

TEST_F(Measure, says_why_a_device_could_not_be_tried) {
  const Outcome outcome = tools_test::strake(
      {"measure", "--filter", "^standin/good "},
      {"XDG_CACHE_HOME=" + cache_.string(), "OMPI_COMM_WORLD_SIZE=1", "STANDIN_PROBLEM=it rains"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.err,
                       "Whether Stand-in MPI 1.0 takes device pointers could not be "
                       "tried: it rains"),
            1)
      << outcome.err;
  EXPECT_TRUE(profile()["gpu_aware"].empty());
  const Outcome without = measure({"--filter", "^standin/good "}, true);
  EXPECT_EQ(lines_with(without.err, "takes device pointers"), 0) << without.err;
}

TEST_F(Measure, wrong_data_ends_with_1_and_gives_no_result) {
  const Outcome outcome = measure({"--filter", "^standin/(good|wrong) "}, true);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(lines_with(outcome.err, "standin/wrong, 1000 B: WRONG DATA: byte 7 is 1, not 2"), 1)
      << outcome.err;
  EXPECT_EQ(profile()["results"].size(), 1U);
}

TEST_F(Measure, a_rank_of_a_library_without_plugin_is_an_error) {
  const Outcome outcome = tools_test::strake({"measure", "--list"}, {"PMI_RANK=0", "PMI_SIZE=2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(lines_with(outcome.err, "libstrake-measure-mpich.so"), 1) << outcome.err;
}

TEST_F(Measure, an_interrupted_run_is_resumed) {
  // Results are saved every 2 s; the slow case takes 9 samples of 300 ms.
  const Outcome cut =
      tools_test::run({"timeout", "8", STRAKE_PREFIX "/bin/strake", "measure", "--filter",
                       "standin/(good|slow|endless) "},
                      {"XDG_CACHE_HOME=" + cache_.string(), "OMPI_COMM_WORLD_SIZE=1"});
  EXPECT_EQ(cut.status, 124) << cut.err;  // timeout's own
  EXPECT_EQ(lines_with(cut.err, "strake measure: ended by a signal; "), 1) << cut.err;
  EXPECT_EQ(lines_with(cut.err, " of this run are kept, in " + path(".json")) +
                lines_with(cut.err, " of this run is kept, in " + path(".json")),
            1)
      << cut.err;
  EXPECT_EQ(lines_with(cut.err, "/strake measure --resume --filter "), 1) << cut.err;
  const std::size_t known = sound();
  const Outcome resumed = measure({"--resume", "--filter", "^standin/(good|slow) "}, true);
  EXPECT_EQ(resumed.status, 0);
  EXPECT_EQ(lines_with(resumed.err, fmt::format("{} of 2 cases are measured already", known)), 1)
      << resumed.err;
  EXPECT_EQ(machine::read_compact(path(".profile")).results.size(), 2U);
}

TEST_F(Measure, says_that_the_machine_is_busy_and_how_to_measure_again) {
  std::vector<pid_t> spinning;
  for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1U); ++i) {
    spinning.push_back(fork());
    if (spinning.back() == 0) {
      for (alarm(60);;) asm volatile("");
    }
  }
  const Outcome busy = measure({"--filter", "^standin/good "}, true);
  for (const pid_t process : spinning) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  EXPECT_EQ(busy.status, 0) << busy.err;
  EXPECT_EQ(lines_with(busy.err, "This machine is busy: other processes used "), 1) << busy.err;
  EXPECT_EQ(lines_with(busy.err, "1 of 1 result is doubtful: other processes used "), 1)
      << busy.err;
  EXPECT_EQ(lines_with(busy.err, "/strake measure --resume --filter '^standin/good '"), 1)
      << busy.err;
  EXPECT_EQ(lines_with(busy.out, "doubtful"), 1) << busy.out;
  const std::string reason = profile()["results"][0]["doubtful"];
  EXPECT_TRUE(reason.starts_with("other processes used ")) << reason;
  EXPECT_EQ(machine::read_compact(path(".profile")).results[0].doubtful, reason);

  const Outcome again = measure({"--resume", "--filter", "^standin/good "}, true);
  EXPECT_EQ(lines_with(again.err, "0 of 1 case is measured already"), 1) << again.err;
  EXPECT_EQ(lines_with(again.err, "1 case measured"), 1) << again.err;
  EXPECT_EQ(lines_with(again.err, "1 of 1 result is doubtful"), sound() == 0 ? 1 : 0) << again.err;
}

TEST_F(Measure, ranks_of_each_mpi_library_measure_together) {
  std::istringstream flavors(STRAKE_FLAVORS);
  for (std::string flavor; flavors >> flavor;) {
    SCOPED_TRACE(flavor);
    Words command;
    std::istringstream words(flavor == "openmpi" ? STRAKE_MPIRUN_OPENMPI : STRAKE_MPIRUN_MPICH);
    for (std::string word; words >> word;) command.push_back(word);
    command = tools_test::join({command,
                                {"-n", "2", STRAKE_BUILT, "measure", "--quick", "--filter",
                                 "^(mpi/node/host 1024|pack/cpu/box 1024 64 136)"}});
    const Outcome outcome = tools_test::run(command, {"XDG_CACHE_HOME=" + cache_.string()});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(lines_with(outcome.err, "Profile: "), 1) << outcome.err;  // rank 0 alone
    int of_flavor = 0;
    const auto json = profile();
    for (const auto& result : json["results"]) {
      const std::string mpi = result.value("mpi", "");
      if (result["name"] == "pack/cpu/box") {
        EXPECT_EQ(mpi, "");
      } else if (mpi.starts_with(flavor == "openmpi" ? "Open MPI " : "MPICH ")) {
        ++of_flavor;
      }
    }
    EXPECT_EQ(of_flavor, 1);
  }
}

}  // namespace
}  // namespace strake::measure
