// Sentences, tables and JSON of `strake run --compare` about its runs.
#include "run/comparison.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "run/machine_doubts.hpp"
#include "run/next_steps.hpp"
#include "run/output_difference.hpp"

namespace strake::run {
namespace {

/// Runs of which each is 1 % longer than the one before.
std::vector<MeasuredRun> runs(int count, double wall_s, double in_mpi_s) {
  std::vector<MeasuredRun> all;
  for (int i = 0; i < count; ++i) {
    const double more = 1 + 0.01 * i;
    all.push_back({wall_s * more, MpiTime{in_mpi_s * more, in_mpi_s / wall_s}});
  }
  return all;
}

std::vector<MeasuredRun> without_mpi(std::vector<MeasuredRun> all) {
  all.back().in_mpi.reset();
  return all;
}

/// Bytes, which are as many as the columns or more.
void expect_100_columns(const std::string& table) {
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    EXPECT_LE(end - at, 100U);
    at = end + 1;
  }
}

TEST(Comparison, its_sentence_has_both_times_and_the_ratio_with_its_error) {
  EXPECT_EQ(Comparison({runs(5, 4, 2.81), runs(5, 2.8, 1.2)}).sentence(),
            "time in MPI 2.87 s → 1.22 s, 2.3 ± 0.1 ×; whole run 1.43 ± 0.04 ×");
  EXPECT_EQ(Comparison({without_mpi(runs(5, 4, 2)), runs(5, 2, 1)}).sentence(),
            "whole run 4.08 s → 2.04 s, 2.0 ± 0.1 ×");
}

TEST(Comparison, its_sentence_says_slower_and_no_difference_plainly) {
  EXPECT_EQ(Comparison({runs(5, 4, 1), runs(5, 4, 2)}).sentence(),
            "time in MPI 1.02 s → 2.04 s, 2.0 ± 0.1 times as long under Strake; "
            "whole run: no difference that 5 runs can show");
  EXPECT_EQ(Comparison({runs(5, 4, 1), runs(5, 4, 1)}).sentence(),
            "no difference that 5 runs can show: time in MPI 0.97 to 1.03 ×, "
            "whole run 0.97 to 1.03 ×");
  EXPECT_EQ(Comparison({runs(1, 4, 2e-3), runs(1, 3, 1e-5)}).sentence(),
            "1 run of each kind can't show a difference (4 or more can): "
            "time in MPI 2.00 ms → 10.0 µs, whole run 4.00 s → 3.00 s");
}

TEST(Comparison, its_table_has_a_row_for_each_time_within_100_columns) {
  const std::string table = Comparison({runs(5, 4000, 2000), runs(5, 2000, 1000)}).table();
  for (const char* cell : {"whole run      4080 s (4000 to 4160)", "time in MPI", "50 % (50 to 50)",
                           "2.00 × (1.94 to 2.06)"}) {
    EXPECT_NE(table.find(cell), std::string::npos) << cell << "\n" << table;
  }
  expect_100_columns(table);
  EXPECT_EQ(Comparison({runs(5, 4, 2), without_mpi(runs(5, 2, 1))}).table().find("MPI"),
            std::string::npos);
}

TEST(Comparison, its_json_has_every_run) {
  const auto json = Comparison({runs(4, 4, 2), without_mpi(runs(4, 2, 1))}).json();
  EXPECT_EQ(json["runs_each"], 4);
  EXPECT_EQ(json["alone"]["runs"].size(), 4U);
  EXPECT_EQ(json["alone"]["runs"][0]["in_mpi_s"], 2.0);
  EXPECT_EQ(json["under_strake"]["runs"][3]["in_mpi_s"], nullptr);
  EXPECT_EQ(json["ratio"]["in_mpi"], nullptr);
  EXPECT_EQ(json["ratio"]["wall"]["verdict"], "faster");
  EXPECT_EQ(json["verdict"], "faster");
}

/// Alone, under Strake and with the shared heap.
Comparison three(MeasuredRuns alone, MeasuredRuns under, MeasuredRuns heap, bool has_heap = true) {
  return Comparison({std::move(alone), std::move(under), std::move(heap)}, has_heap);
}

void expect_end(const Comparison& all, KindIndex best, const std::string& sentence) {
  EXPECT_EQ(all.best(), best);
  EXPECT_EQ(all.sentence(), sentence);
}

TEST(ThreeKinds, a_faster_heap_is_taken_with_both_ratios) {
  expect_end(three(runs(5, 4, 2.81), runs(5, 2.8, 1.2), runs(5, 2.3, 0.8)), kHeap,
             "time in MPI 2.87 s alone, 1.22 s under Strake, 816 ms with --shared-heap: "
             "3.5 ± 0.1 × with it, 1.50 ± 0.04 × by it; "
             "whole run 1.7 ± 0.1 × with it, 1.22 ± 0.04 × by it; take --shared-heap");
  EXPECT_EQ(three(runs(5, 4, 2), without_mpi(runs(5, 4, 2)), runs(5, 2, 1)).sentence(),
            "whole run 4.08 s alone, 4.08 s under Strake, 2.04 s with --shared-heap: "
            "2.0 ± 0.1 × with it, 2.0 ± 0.1 × by it; take --shared-heap");
  EXPECT_EQ(three(runs(5, 9, 2), runs(5, 9, 1.5), runs(5, 9, 1)).sentence(),
            "time in MPI 2.04 s alone, 1.53 s under Strake, 1.02 s with --shared-heap: "
            "2.0 ± 0.1 × with it, 1.50 ± 0.04 × by it; "
            "whole run: no difference that 5 runs can show; take --shared-heap");
}

TEST(ThreeKinds, a_heap_without_a_difference_is_left_out) {
  expect_end(three(runs(5, 4, 2.81), runs(5, 2.8, 1.2), runs(5, 2.8, 1.2)), kUnder,
             "under Strake time in MPI 2.87 s → 1.22 s, 2.3 ± 0.1 ×; whole run 1.43 ± 0.04 ×; "
             "--shared-heap makes no difference that 5 runs can show (time in MPI 0.97 to 1.03 ×, "
             "whole run 0.97 to 1.03 ×); take Strake without --shared-heap");
  expect_end(three(runs(5, 4, 1), runs(5, 4, 1), runs(5, 4, 1)), kAlone,
             "under Strake no difference that 5 runs can show: time in MPI 0.97 to 1.03 ×, "
             "whole run 0.97 to 1.03 ×; --shared-heap makes no difference that 5 runs can show "
             "(time in MPI 0.97 to 1.03 ×, whole run 0.97 to 1.03 ×); take the job alone");
}

TEST(ThreeKinds, a_slower_heap_is_left_out) {
  expect_end(three(runs(5, 4, 2.81), runs(5, 2.8, 1.2), runs(5, 2.8, 2.4)), kUnder,
             "under Strake time in MPI 2.87 s → 1.22 s, 2.3 ± 0.1 ×; whole run 1.43 ± 0.04 ×; "
             "slower with --shared-heap (time in MPI 2.0 ± 0.1 times as long, whole run 0.97 to "
             "1.03 ×): leave it out; take Strake without --shared-heap");
  // The heap may cost more outside MPI than it saves inside.
  const Comparison whole = three(runs(5, 4, 2), runs(5, 3, 1), runs(5, 3.5, 0.5));
  EXPECT_EQ(whole.best(), kUnder);
  EXPECT_NE(whole.sentence().find("slower with --shared-heap (time in MPI 2.0 ± 0.1 ×, "
                                  "whole run 1.17 ± 0.03 times as long): leave it out"),
            std::string::npos)
      << whole.sentence();
}

TEST(ThreeKinds, of_which_none_is_faster_than_alone_the_job_alone_is_taken) {
  EXPECT_EQ(three(runs(5, 4, 1), runs(5, 4, 2), runs(5, 4, 1)).sentence(),
            "under Strake time in MPI 1.02 s → 2.04 s, 2.0 ± 0.1 times as long; whole run: no "
            "difference that 5 runs can show; faster with --shared-heap than without (time in MPI "
            "2.0 ± 0.1 ×, whole run 0.97 to 1.03 ×), but not than alone; take the job alone");
  EXPECT_EQ(three(runs(5, 4, 1), runs(5, 4, 1.025), runs(5, 4, 1.045)).sentence(),
            "under Strake no difference that 5 runs can show: time in MPI 0.95 to 1.00 ×, whole "
            "run 0.97 to 1.03 ×; slower with --shared-heap than alone (time in MPI 1.04 ± 0.03 "
            "times as long, whole run 0.97 to 1.03 ×); take the job alone");
}

TEST(ThreeKinds, a_heap_that_only_the_job_alone_is_slower_than_claims_nothing_by_itself) {
  expect_end(
      three(runs(5, 4, 1.045), runs(5, 4, 1.025), runs(5, 4, 1)), kHeap,
      "time in MPI 1.07 s alone, 1.05 s under Strake, 1.02 s with --shared-heap: 1.04 ± 0.03 "
      "× with it, no difference by it; whole run: no difference that 5 runs can show; "
      "take --shared-heap, as 5 runs show no gain without it");
}

TEST(ThreeKinds, a_heap_that_no_rank_had_is_never_taken) {
  expect_end(three(runs(5, 4, 2.81), runs(5, 2.8, 1.2), runs(5, 2, 0.5), false), kUnder,
             "under Strake time in MPI 2.87 s → 1.22 s, 2.3 ± 0.1 ×; whole run 1.43 ± 0.04 ×; "
             "no rank had the shared heap; take Strake without --shared-heap");
}

TEST(ThreeKinds, too_few_runs_show_times_and_no_way_to_take) {
  const Comparison all = three(runs(3, 4, 2), runs(3, 3, 1), runs(3, 2, 0.5));
  EXPECT_EQ(all.sentence(),
            "3 runs of each kind can't show a difference (4 or more can): time in MPI 2.02 s "
            "alone, 1.01 s under Strake, 505 ms with --shared-heap; whole run 4.04 s alone, "
            "3.03 s under Strake, 2.02 s with --shared-heap");
  EXPECT_EQ(all.json()["take"], nullptr);
}

TEST(ThreeKinds, their_table_has_a_column_each_and_rows_of_ratios_within_100_columns) {
  const std::string table =
      three(runs(5, 4000, 2000), runs(5, 2000, 1000), runs(5, 1000, 500)).table();
  EXPECT_EQ(table.find("                 alone                     under Strake              "
                       "with --shared-heap\n"
                       "  whole run      4080 s (4000 to 4160)     2040 s (2000 to 2080)     "
                       "1020 s (1000 to 1040)\n"
                       "  alone / this                             2.00 × (1.94 to 2.06)     "
                       "4.00 × (3.88 to 4.12)\n"
                       "  Strake / this                                                      "
                       "2.00 × (1.94 to 2.06)\n"
                       "  time in MPI "),
            0U)
      << table;
  expect_100_columns(table);
}

TEST(ThreeKinds, their_json_adds_keys_and_keeps_those_of_two) {
  const auto two = Comparison({runs(4, 4, 2), runs(4, 2, 1)}).json();
  const auto json = three(runs(4, 4, 2), runs(4, 2, 1), runs(4, 1, 0.5)).json();
  for (const auto& [key, value] : two.items()) {
    if (key == "sentence") continue;
    EXPECT_EQ(json[key], value) << key;
  }
  EXPECT_FALSE(two.contains("take"));
  EXPECT_EQ(json["with_shared_heap"]["runs"].size(), 4U);
  EXPECT_EQ(json["ratio_with_shared_heap"]["wall"]["value"], 4.0);
  EXPECT_EQ(json["ratio_by_shared_heap"]["in_mpi"]["value"], 2.0);
  EXPECT_EQ(json["ratio_by_shared_heap"]["in_mpi"]["verdict"], "faster");
  EXPECT_EQ(json["take"], "with_shared_heap");
  EXPECT_EQ(std::prev(json.end()).key(), "sentence");
}

TEST(OutputDifference, is_not_in_the_order_of_lines_nor_in_numbers_that_vary) {
  EXPECT_FALSE(output_difference({"rank 0\nrank 1\n", "rank 1\nrank 0\n"}, {"rank 1\nrank 0\n"}));
  EXPECT_FALSE(
      output_difference({"took 1.5 s, sum 7\n", "took 1.6 s, sum 7\n"}, {"took 0.9 s,  sum 7\n"}));
  EXPECT_FALSE(output_difference({"one", "two"}, {"three"})) << "text that varies alone, too";
  EXPECT_FALSE(output_difference({"took 1.5 s"}, {"took 0.9 s"})) << "one run shows no variation";
}

TEST(OutputDifference, is_in_numbers_that_are_the_same_alone_and_in_text) {
  const auto number = output_difference({"took 1 s\nsum 7", "took 2 s\nsum 7"},
                                        {"took 1 s\nsum 7", "took 2 s\nsum 8"});
  ASSERT_TRUE(number);
  EXPECT_EQ(number->alone, "sum 7");
  EXPECT_EQ(number->under, "sum 8");
  const auto text = output_difference({"a\nwarning: b 1"}, {"a\nb\nwarning: b 2"});
  ASSERT_TRUE(text);
  EXPECT_EQ(text->alone, "");
  EXPECT_EQ(text->under, "b");
  EXPECT_EQ(output_difference({"a\nb"}, {"a"})->alone, "b");
}

TEST(NextSteps, are_lines_to_paste) {
  EXPECT_EQ(shell_line({"mpirun", "./a b", "it's", ""}), "mpirun './a b' 'it'\\''s' ''");
  const std::string steps =
      next_steps({"mpirun", "--allow-run-as-root", "-n", "4", "./a"}, "mpirun", nullptr);
  EXPECT_NE(steps.find("mpirun --allow-run-as-root -n 2 "), std::string::npos) << steps;
  EXPECT_NE(steps.find(" measure --quick\n"), std::string::npos) << steps;
  EXPECT_NE(steps.find(" doctor -- mpirun --allow-run-as-root -n 4 ./a\n"), std::string::npos);
  EXPECT_EQ(steps.find(" explain "), std::string::npos) << steps;
}

TEST(NextSteps, go_by_the_summary) {
  const nlohmann::json summary = {
      {"profile", {{"used", true}}},
      {"calls",
       {{{"function", "MPI_Allreduce"}, {"seconds", 3}, {"datatype", "MPI_DOUBLE"}},
        {{"function", "MPI_Send"}, {"seconds", 2}, {"datatype", "vector(9,1,2,double)"}},
        {{"function", "MPI_Send"}, {"seconds", 1}, {"datatype", "vector(8,1,2,double)"}}}}};
  const std::string steps = next_steps({"mpirun", "./a"}, "mpirun", summary);
  EXPECT_NE(steps.find(" explain 'vector(9,1,2,double)'\n"), std::string::npos) << steps;
  EXPECT_EQ(steps.find(" measure "), std::string::npos) << steps;
}

TEST(NextSteps, of_a_program_with_contiguous_messages_alone_name_the_page_and_nothing_to_measure) {
  nlohmann::json summary = {
      {"methods", {{"library", {{"calls", 80}}}, {"pack", {{"calls", 0}}}}},
      {"reasons",
       {{"contiguous host memory", {{"calls", 80}}}, {"collective operations", {{"calls", 2}}}}}};
  const Arguments command = {"mpirun", "./a"};
  const std::string steps = next_steps(command, "mpirun", summary);
  EXPECT_EQ(steps.find("all your messages are contiguous: "), 0U) << steps;
  EXPECT_NE(steps.find("docs/how-to/no-gain.md"), std::string::npos) << steps;
  EXPECT_EQ(steps.find(" measure "), std::string::npos) << steps;
  summary["methods"]["pack"]["calls"] = 1;
  EXPECT_EQ(next_steps(command, "mpirun", summary).find("contiguous"), std::string::npos);
}

TEST(NextSteps, keep_the_shared_heap_where_that_is_to_be_taken) {
  const nlohmann::json contiguous = {{"methods", {{"library", {{"calls", 80}}}}},
                                     {"reasons", {{"contiguous host memory", {{"calls", 80}}}}}};
  const std::string steps = next_steps({"mpirun", "./a"}, "mpirun", contiguous, true);
  EXPECT_NE(steps.find(" run --shared-heap -- mpirun ./a\n"), std::string::npos) << steps;
  EXPECT_EQ(steps.find("contiguous"), std::string::npos) << steps;
  EXPECT_EQ(next_steps({"mpirun", "./a"}, "mpirun", nullptr).find("--shared-heap"),
            std::string::npos);
}

TEST(NextSteps, tell_a_python_program_with_several_threads_of_its_level) {
  using job::Letter;
  const Arguments python = {"mpirun", "/usr/bin/python3.11", "a"};
  EXPECT_NE(
      python_advice(python, {Letter::Started, Letter::Threads}).find("mpi4py.rc.thread_level"),
      std::string::npos);
  EXPECT_EQ(python_advice(python, {Letter::Started}), "");
  EXPECT_EQ(python_advice({"mpirun", "./a"}, {Letter::Threads}), "");
}

TEST(MachineDoubts, know_limits_of_the_clocks) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / ("clocks-" + std::to_string(getpid()));
  EXPECT_EQ(clock_limit(root), "");
  const fs::path folder = root / "cpu0/cpufreq";
  fs::create_directories(folder);
  const auto write = [&](const char* file, const char* value) {
    std::ofstream(folder / file) << value << "\n";
  };
  write("cpuinfo_max_freq", "3500000");
  write("scaling_max_freq", "3500000");
  write("scaling_governor", "powersave");
  write("scaling_driver", "intel_pstate");
  EXPECT_EQ(clock_limit(root), "");
  write("scaling_driver", "acpi-cpufreq");
  EXPECT_EQ(clock_limit(root), "the CPUs run at their lowest clock (governor powersave)");
  write("scaling_max_freq", "2000000");
  EXPECT_EQ(clock_limit(root), "the CPUs are limited to 2.0 of 3.5 GHz");
  fs::remove_all(root);
}

TEST(Launcher, ranks_are_those_that_its_segments_name) {
  EXPECT_EQ(ranks_of(Launcher::OpenMpi, {"mpirun", "-n", "2", "./a", ":", "-np", "3", "./b"}), 5);
  EXPECT_EQ(ranks_of(Launcher::Hydra, {"mpiexec", "-n", "4", "./a", "-n", "9"}), 4);
  EXPECT_EQ(ranks_of(Launcher::OpenMpi, {"mpirun", "./a"}), 0);
  EXPECT_EQ(ranks_of(Launcher::Hydra, {"mpiexec", "-hosts", "a,b", "-n", "4", "./a"}),
            std::nullopt);
  EXPECT_EQ(ranks_of(Launcher::Srun, {"srun", "-n", "4", "./a"}), std::nullopt);
}

}  // namespace
}  // namespace strake::run
