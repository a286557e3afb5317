/// \file  Ranks measure together, and a fault of any of them ends a case for all of them, not the
/// run. The ranks are threads here.
#include "measure/driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace strake::measure {
namespace {

/// Barrier, values and data that the threads share.
struct Meeting {
  explicit Meeting(int ranks) : sync(ranks), values(static_cast<std::size_t>(ranks)) {}
  std::barrier<> sync;
  std::vector<double> values;
  const void* data = nullptr;
};

class ThreadTeam final : public Team {
 public:
  ThreadTeam(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(meeting_.values.size()); }
  [[nodiscard]] std::string library() const override { return "threads"; }
  void broadcast(void* data, std::size_t bytes) override {
    if (rank_ == 0) meeting_.data = data;
    meeting_.sync.arrive_and_wait();
    if (rank_ != 0) std::memcpy(data, meeting_.data, bytes);
    meeting_.sync.arrive_and_wait();
  }
  void barrier() override { meeting_.sync.arrive_and_wait(); }
  double maximum(double value) override {
    meeting_.values[static_cast<std::size_t>(rank_)] = value;
    meeting_.sync.arrive_and_wait();
    const double largest = *std::max_element(meeting_.values.begin(), meeting_.values.end());
    meeting_.sync.arrive_and_wait();
    return largest;
  }

 private:
  Meeting& meeting_;
  int rank_;
};

/// An instance made of what a test wants to happen.
struct Script {
  std::function<double(std::int64_t)> run = [](std::int64_t n) {
    return static_cast<double>(n) * 1e-4;
  };
  std::function<void()> verify = [] {};
};

class Scripted final : public Instance {
 public:
  explicit Scripted(Script script) : script_(std::move(script)) {}
  double run(std::int64_t iterations) override { return script_.run(iterations); }
  void verify() override { script_.verify(); }

 private:
  Script script_;
};

Case case_of(const std::string& name, std::function<Script()> make, Scope scope = Scope::Job) {
  Case result;
  result.name = name;
  result.scope = scope;
  result.make = [make] { return std::make_unique<Scripted>(make()); };
  return result;
}

struct Report {
  Outcome outcome;
  std::map<std::string, machine::Result> results;
  std::map<std::string, std::string> failures;
};

Report measure_by(Leader& leader, const std::vector<Case>& cases,
                  const std::function<double()>& seconds_left) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    entries.push_back({cases[i], "threads", static_cast<std::int64_t>(i)});
  }
  Report report;
  Listener listener;
  listener.measured = [&](const machine::Result& r, bool) { report.results[r.name] = r; };
  listener.failed = [&](const Case& c, const std::string& why) { report.failures[c.name] = why; };
  report.outcome = measure_all(leader, entries, seconds_left, listener);
  report.outcome.left_out.clear();  // they point into `entries`
  return report;
}

/// Runs the cases that `cases_of(rank)` gives, on so many ranks.
Report measure_on(int ranks, const std::function<std::vector<Case>(int)>& cases_of) {
  Meeting meeting(ranks);
  std::vector<std::thread> others;
  for (int rank = 1; rank < ranks; ++rank) {
    others.emplace_back([&, rank] {
      ThreadTeam team(meeting, rank);
      serve(team, cases_of(rank));
    });
  }
  Report report;
  {
    ThreadTeam team(meeting, 0);
    Leader leader(&team);
    report = measure_by(leader, cases_of(0), [] { return 0.1; });
  }
  for (std::thread& other : others) other.join();
  return report;
}

TEST(Driver, ranks_measure_with_the_same_iterations_and_the_longest_counts) {
  std::mutex mutex;
  std::map<int, std::vector<std::int64_t>> iterations;
  const Report report = measure_on(3, [&](int rank) {
    return std::vector<Case>{case_of("together", [&, rank] {
      Script script;
      script.run = [&, rank](std::int64_t n) {
        const std::scoped_lock lock(mutex);
        iterations[rank].push_back(n);
        return static_cast<double>(n) * (rank == 2 ? 3e-4 : 1e-4);
      };
      return script;
    })};
  });
  EXPECT_EQ(report.outcome.measured, 1U);
  EXPECT_DOUBLE_EQ(report.results.at("together").median, 3e-4);
  EXPECT_EQ(report.results.at("together").mpi, "threads");
  EXPECT_EQ(iterations[0], iterations[1]);
  EXPECT_EQ(iterations[0], iterations[2]);
  EXPECT_GE(iterations[0].size(), 7U);
}

TEST(Driver, a_fault_of_one_rank_leaves_the_case_out_for_all) {
  for (const int faulty : {0, 1, 2}) {
    std::atomic<int> alive = 0;
    const Report report = measure_on(3, [&, faulty](int rank) {
      const bool mine = rank == faulty;
      std::vector<Case> cases;
      cases.push_back(case_of("make", [mine] {
        if (mine) throw std::runtime_error("no memory");
        return Script{};
      }));
      cases.push_back(case_of("run", [mine] {
        Script script;
        if (mine) script.run = [](std::int64_t) -> double { throw std::runtime_error("broken"); };
        return script;
      }));
      cases.push_back(case_of("verify", [mine] {
        Script script;
        if (mine) script.verify = [] { throw WrongData("byte 3 is 5, not 4"); };
        return script;
      }));
      cases.push_back(case_of("good", [&alive] {
        ++alive;
        return Script{};
      }));
      return cases;
    });
    EXPECT_EQ(report.outcome.measured, 1U);
    EXPECT_EQ(report.outcome.failed, 2U);
    EXPECT_EQ(report.outcome.wrong_data, 1U);
    EXPECT_EQ(alive, 3);
    EXPECT_EQ(report.results.size(), 1U);
    EXPECT_TRUE(report.results.contains("good"));
    if (faulty == 0) {
      EXPECT_EQ(report.failures.at("make"), "no memory");
      EXPECT_EQ(report.failures.at("verify"), "WRONG DATA: byte 3 is 5, not 4");
    }
  }
}

TEST(Driver, other_ranks_take_no_part_in_cases_of_one_process) {
  std::atomic<int> made = 0;
  const Report report = measure_on(2, [&](int) {
    return std::vector<Case>{case_of(
        "alone",
        [&] {
          ++made;
          return Script{};
        },
        Scope::Process)};
  });
  EXPECT_EQ(report.outcome.measured, 1U);
  EXPECT_EQ(made, 1);
}

TEST(Driver, a_case_that_makes_nothing_is_a_fault) {
  Leader leader(nullptr);
  Case nothing;
  nothing.name = "nothing";
  nothing.make = [] { return nullptr; };
  const Report report = measure_by(leader, {nothing}, [] { return 1.0; });
  EXPECT_EQ(report.outcome.failed, 1U);
}

TEST(Driver, shares_out_the_time_and_leaves_out_what_does_not_fit) {
  Leader leader(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const auto left = [&] {
    return 0.5 - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // Drifting, so that it is tried again as long as there is time.
  double drift = 1;
  const auto slow = [&] {
    Script script;
    script.run = [&](std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 1e-3 * (drift *= 1.01);
    };
    return script;
  };
  std::vector<Case> cases;
  for (int i = 0; i < 10; ++i) cases.push_back(case_of("case" + std::to_string(i), slow));
  const Report all = measure_by(leader, cases, left);
  EXPECT_EQ(all.outcome.measured, 10U);
  // Sleeps last longer on a busy machine, and a case has seven samples at least.
  EXPECT_GT(left(), -0.5);
  EXPECT_LT(left(), 0.3);

  std::vector<Entry> entries = {{cases[0], "", 0}, {cases[1], "", 1}};
  const Outcome late = measure_all(leader, entries, [] { return -1.0; }, {});
  ASSERT_EQ(late.left_out.size(), 2U);
  EXPECT_EQ(late.left_out[1]->what.name, "case1");
}

TEST(Driver, quick_cases_go_first) {
  Leader leader(nullptr);
  std::vector<Entry> entries;
  for (const char* name : {"slow0", "quick0", "slow1", "quick1"}) {
    entries.push_back({case_of(name, [] { return Script(); }), "", 0});
    entries.back().what.quick = name[0] == 'q';
  }
  std::vector<std::string> begun;
  Listener listener;
  listener.begins = [&](std::size_t, std::size_t, const Case& next) { begun.push_back(next.name); };
  const auto left = [&] { return begun.size() < 3 ? 0.05 : -1.0; };
  const Outcome outcome = measure_all(leader, entries, left, listener);
  EXPECT_EQ(begun, (std::vector<std::string>{"quick0", "quick1", "slow0"}));
  ASSERT_EQ(outcome.left_out.size(), 1U);
  EXPECT_EQ(outcome.left_out[0]->what.name, "slow1");
}

using Times = std::map<std::string, std::vector<double>>;

/// Cases that take these times [s], one a pass; in passes where there are more than one.
std::vector<Entry> in_passes(const Times& times, std::map<std::string, std::size_t>& made) {
  std::vector<Entry> entries;
  for (const auto& [name, all] : times) {
    const auto make = [&made, name = name, all = all] {
      const double time = all.at(made[name]++);
      Script script;
      script.run = [time](std::int64_t n) { return static_cast<double>(n) * time; };
      return script;
    };
    entries.push_back({case_of(name, make), "", 0});
    entries.back().what.in_passes = all.size() > 1;
  }
  return entries;
}

TEST(Driver, passes_lie_apart_and_their_median_counts) {
  Leader leader(nullptr);
  std::map<std::string, std::size_t> made;
  const std::vector<Entry> entries = in_passes({{"a", {5e-3, 1e-3, 2e-3, 2e-3, 2e-3, 9e-3}},
                                                {"b", {9.5e-4, 1e-3, 9.5e-4, 9e-3}},
                                                {"c", {3e-3}}},
                                               made);
  std::string begun;
  std::vector<std::size_t> alls;
  std::map<std::string, std::vector<double>> told;
  std::map<std::string, machine::Result> last_told;
  Listener listener;
  listener.begins = [&](std::size_t done, std::size_t all, const Case& next) {
    EXPECT_EQ(done, begun.size());
    begun += next.name;
    alls.push_back(all);
  };
  listener.measured = [&](const machine::Result& r, bool last) {
    told[r.name].push_back(r.median);
    if (last) last_told[r.name] = r;
  };
  const Outcome outcome = measure_all(
      leader, entries, [] { return 0.1; }, listener);
  EXPECT_EQ(begun, "abcababaa");  // "a" until three of its passes agree
  EXPECT_EQ(alls, (std::vector<std::size_t>{7, 7, 7, 7, 7, 7, 7, 8, 9}));
  EXPECT_EQ(outcome.measured, 3U);
  const std::vector<double> expected = {5e-3, 3e-3, 2e-3, 2e-3, 2e-3};
  ASSERT_EQ(told["a"].size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(told["a"][i], expected[i]);
  ASSERT_EQ(last_told.size(), 3U);
  const machine::Result& all = last_told["a"];
  EXPECT_DOUBLE_EQ(all.median, 2e-3);
  EXPECT_DOUBLE_EQ(all.p10, 1e-3);
  EXPECT_DOUBLE_EQ(all.p90, 5e-3);
  EXPECT_GE(all.samples, 35);
  EXPECT_GE(all.tries, 5);
  EXPECT_DOUBLE_EQ(last_told["b"].median, 9.5e-4);
  EXPECT_DOUBLE_EQ(last_told["c"].median, 3e-3);
}

TEST(Driver, passes_that_never_agree_end) {
  Leader leader(nullptr);
  std::map<std::string, std::size_t> made;
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) times.push_back(1e-3 * (i + 1));
  const std::vector<Entry> entries = in_passes({{"a", times}}, made);
  double median = 0;
  Listener listener;
  listener.measured = [&](const machine::Result& r, bool) { median = r.median; };
  const Outcome outcome = measure_all(
      leader, entries, [] { return 0.1; }, listener);
  EXPECT_EQ(outcome.measured, 1U);
  EXPECT_EQ(made["a"], static_cast<std::size_t>(kMostPasses));
  EXPECT_DOUBLE_EQ(median, 5e-3);
}

TEST(Driver, a_case_without_time_for_its_passes_has_the_first_ones) {
  Leader leader(nullptr);
  std::map<std::string, std::size_t> made;
  const std::vector<Entry> entries =
      in_passes({{"a", {5e-3, 1e-3, 2e-3}}, {"b", {4e-3, 4e-3, 4e-3}}}, made);
  std::map<std::string, machine::Result> told;
  int last_ones = 0;
  Listener listener;
  listener.measured = [&](const machine::Result& r, bool last) {
    told[r.name] = r;
    last_ones += last ? 1 : 0;
  };
  const auto left = [&] { return made["a"] < 2 ? 0.1 : -1.0; };
  const Outcome outcome = measure_all(leader, entries, left, listener);
  EXPECT_EQ(outcome.measured, 2U);
  EXPECT_EQ(last_ones, 2);
  EXPECT_TRUE(outcome.left_out.empty());
  EXPECT_DOUBLE_EQ(told["a"].median, 3e-3);
  EXPECT_DOUBLE_EQ(told["b"].median, 4e-3);
  EXPECT_EQ(made["b"], 1U);
}

TEST(Driver, a_fault_in_a_later_pass_is_the_cases_fault) {
  Leader leader(nullptr);
  int made = 0;
  const auto make = [&made] {
    Script script;
    if (++made == 2) script.verify = [] { throw WrongData("byte 3"); };
    return script;
  };
  std::vector<Entry> entries = {{case_of("broken", make), "", 0},
                                {case_of("good", [] { return Script(); }), "", 1}};
  for (Entry& entry : entries) entry.what.in_passes = true;
  std::vector<std::string> last_ones;
  std::vector<std::size_t> alls;
  Listener listener;
  listener.begins = [&](std::size_t, std::size_t all, const Case&) { alls.push_back(all); };
  listener.measured = [&](const machine::Result& r, bool last) {
    if (last) last_ones.push_back(r.name);
  };
  const Outcome outcome = measure_all(
      leader, entries, [] { return 0.1; }, listener);
  EXPECT_EQ(outcome.wrong_data, 1U);
  EXPECT_EQ(outcome.measured, 1U);
  EXPECT_EQ(last_ones, std::vector<std::string>{"good"});
  EXPECT_EQ(made, 2);
  // The third pass of "broken" is not waited for.
  EXPECT_EQ(alls, (std::vector<std::size_t>{6, 6, 6, 6, 5}));
}

/// Measures one case whose n-th measurement takes `times[n]` and is doubtful if `doubtful[n]`.
machine::Result measured_with(std::vector<double> times, const std::vector<bool>& doubtful,
                              bool in_passes, std::size_t& measurements) {
  measurements = 0;
  Case what = case_of("noisy", [&] {
    const double time = times.at(measurements++);
    return Script{[time](std::int64_t n) { return time * static_cast<double>(n); }};
  });
  what.in_passes = in_passes;
  const std::vector<Entry> entries = {{what, ""}};
  Listener listener;
  machine::Result last;
  listener.measured = [&](const machine::Result& result, bool) { last = result; };
  listener.doubt = [&] {
    return std::string(doubtful.at(measurements - 1) ? "a busy machine" : "");
  };
  Leader leader(nullptr);
  measure_all(
      leader, entries, [] { return 0.05; }, listener);
  return last;
}

TEST(Driver, what_was_doubtful_is_measured_once_more) {
  std::size_t measurements = 0;
  machine::Result result = measured_with({9e-4, 1e-4}, {true, false}, false, measurements);
  EXPECT_NEAR(result.median, 1e-4, 1e-9);
  EXPECT_EQ(result.doubtful, "");
  result = measured_with({9e-4, 8e-4}, {true, true}, false, measurements);
  EXPECT_EQ(result.doubtful, "a busy machine");
  EXPECT_EQ(measurements, 2U);
}

TEST(Driver, doubtful_passes_count_only_without_others) {
  std::size_t measurements = 0;
  machine::Result result =
      measured_with({9e-4, 1e-4, 9e-4, 1e-4}, {true, false, true, false}, true, measurements);
  EXPECT_EQ(measurements, 4U);
  EXPECT_NEAR(result.median, 1e-4, 1e-9);
  EXPECT_NEAR(result.p90, 1e-4, 1e-9);
  EXPECT_EQ(result.doubtful, "");
  result = measured_with({9e-4, 8e-4, 9e-4, 7e-4}, {true, true, true, true}, true, measurements);
  EXPECT_EQ(measurements, 4U);
  EXPECT_EQ(result.doubtful, "a busy machine");
}

}  // namespace
}  // namespace strake::measure
