/// \file  CPU clocks are held, and put back at every kind of end, in a made-up /sys.
#include "measure/clocks.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace strake::measure {
namespace fs = std::filesystem;
namespace {

class ClocksTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("strake-clocks-" + std::to_string(getpid()));
    for (int cpu = 0; cpu < 3; ++cpu) put(governor(cpu), cpu == 2 ? "performance" : "schedutil");
    put("cpufreq/boost", "1");
    put("cpuidle/current_driver", "none");  // not a CPU
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string governor(int cpu) {
    return "cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor";
  }
  void put(const std::string& file, const std::string& value) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << value << '\n';
  }
  [[nodiscard]] std::string get(const std::string& file) const {
    std::ifstream stream(root_ / file);
    std::string value;
    std::getline(stream, value);
    return value;
  }
  void expect_held() const {
    for (int cpu = 0; cpu < 3; ++cpu) EXPECT_EQ(get(governor(cpu)), "performance") << cpu;
    EXPECT_EQ(get("cpufreq/boost"), "0");
  }
  void expect_as_before() const {
    EXPECT_EQ(get(governor(0)), "schedutil");
    EXPECT_EQ(get(governor(1)), "schedutil");
    EXPECT_EQ(get(governor(2)), "performance");
    EXPECT_EQ(get("cpufreq/boost"), "1");
  }
  /// How a process ends that holds the clocks and gets this signal; 'h' in a file says they were.
  [[nodiscard]] int end_by(int signal) const {
    const pid_t child = fork();
    if (child == 0) {
      const Clocks clocks(root_.string());
      put("held", get(governor(0)) == "performance" && get("cpufreq/boost") == "0" ? "h" : "no");
      raise(signal);
      _exit(77);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  }

  fs::path root_;
};

TEST_F(ClocksTest, are_held_in_a_scope) {
  {
    const Clocks clocks(root_.string());
    expect_held();
    EXPECT_EQ(clocks.summary(), "governor performance; boost off");
  }
  expect_as_before();
}

TEST_F(ClocksTest, are_put_back_by_an_exception) {
  EXPECT_THROW(
      {
        const Clocks clocks(root_.string());
        expect_held();
        throw std::runtime_error("any");
      },
      std::runtime_error);
  expect_as_before();
}

TEST_F(ClocksTest, are_put_back_by_signals_which_still_end_the_process) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    EXPECT_EQ(end_by(signal), signal);
    EXPECT_EQ(get("held"), "h") << "signal " << signal;
    expect_as_before();
    put("held", "");
  }
}

TEST_F(ClocksTest, leave_ignored_signals_ignored) {
  signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(end_by(SIGHUP), -77);
  signal(SIGHUP, SIG_DFL);
}

TEST_F(ClocksTest, use_the_switch_of_intel_where_it_is) {
  put("intel_pstate/no_turbo", "0");
  {
    const Clocks clocks(root_.string());
    EXPECT_EQ(get("intel_pstate/no_turbo"), "1");
    EXPECT_EQ(get("cpufreq/boost"), "1");
  }
  EXPECT_EQ(get("intel_pstate/no_turbo"), "0");
}

TEST_F(ClocksTest, already_as_wanted_are_left_alone) {
  for (int cpu = 0; cpu < 3; ++cpu) put(governor(cpu), "performance");
  put("cpufreq/boost", "0");
  const Clocks clocks(root_.string());
  EXPECT_EQ(clocks.summary(), "governor performance already; boost off already");
}

TEST_F(ClocksTest, what_is_not_permitted_is_said) {
  // A folder in the file's place can't be written by root either.
  fs::remove(root_ / governor(1));
  fs::create_directories(root_ / governor(1));
  {
    const Clocks clocks(root_.string());
    EXPECT_EQ(get(governor(0)), "performance");
    EXPECT_EQ(clocks.summary(),
              "governor performance not permitted on 1 of 3: Is a directory; boost off");
  }
  EXPECT_EQ(get(governor(0)), "schedutil");
}

TEST(Clocks, that_a_system_does_not_have_are_said) {
  const Clocks clocks("/nonexistent");
  EXPECT_EQ(
      clocks.summary(),
      "governor performance: not set, this system has no cpufreq governors; boost off: not set, "
      "this system has no boost switch");
}

}  // namespace
}  // namespace strake::measure
