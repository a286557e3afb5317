/// \file  Reasons to doubt a result, from made-up numbers; the watch on this machine, made busy.
#include "measure/noise.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "measure/command_line.hpp"

namespace strake::measure {
namespace {

/// The disturbance of one second on two CPUs.
Disturbance second_with(double busy, double stolen, double own, double waiting) {
  return between({100, 500, 3, 40, 1}, {101, 500 + busy, 3 + stolen, 40 + own, 1 + waiting}, 2);
}

TEST(Noise, of_a_quiet_machine_is_no_reason_to_doubt) {
  EXPECT_EQ(doubt(second_with(1.1, 0.02, 1.0, 0.05)), "");
  EXPECT_EQ(doubt(second_with(2.0, 0, 2.0, 0)), "");  // both ranks at work
  EXPECT_EQ(doubt(second_with(0.9, 0, 1.0, 0)), "");  // ticks are coarse
  EXPECT_EQ(doubt(between({}, {}, 2)), "");
}

TEST(Noise, is_named_with_its_amount) {
  EXPECT_EQ(doubt(second_with(2.3, 0, 1.0, 0)), "other processes used 1.3 of 2 CPUs");
  EXPECT_EQ(doubt(second_with(1.0, 0.4, 1.0, 0)), "the hypervisor took 0.4 of 2 CPUs");
  EXPECT_EQ(doubt(second_with(1.0, 0, 1.0, 0.18)), "this job waited 18 % of the time for a CPU");
  Disturbance slow = second_with(1.0, 0, 1.0, 0);
  slow.slowdown = 1.64;
  EXPECT_EQ(doubt(slow), "a reference copy took 1.6 times its usual time");
}

TEST(Noise, of_one_process_matters_on_few_cpus_only) {
  Disturbance one;
  one.others = 1;
  one.cpus = 4;
  EXPECT_NE(doubt(one), "");
  one.cpus = 64;
  EXPECT_EQ(doubt(one), "");
  one.others = 8;
  EXPECT_NE(doubt(one), "");
}

TEST(Noise, of_processes_is_seen_and_the_own_is_not) {
  // One process for each CPU, so that it is seen however busy the machine is already.
  std::vector<pid_t> spinning;
  const auto cpus = std::max(std::thread::hardware_concurrency(), 1U);
  for (unsigned i = 0; i < cpus; ++i) {
    spinning.push_back(fork());
    if (spinning.back() == 0) {
      for (alarm(20);;) asm volatile("");
    }
  }
  Watch watch({getpid()});
  Watch knows(spinning);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::string all = watch.doubt();
  const std::string others = knows.doubt();
  for (const pid_t process : spinning) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  const auto cpus_in = [](const std::string& reason) {
    const std::string begin = "other processes used ";
    return reason.starts_with(begin) ? std::stod(reason.substr(begin.size())) : 0;
  };
  EXPECT_GT(cpus_in(all), 0) << all;
  EXPECT_LT(cpus_in(others), cpus_in(all)) << others;
}

TEST(CommandLine, to_resume_is_what_was_typed) {
  EXPECT_EQ(with_resume({"mpirun", "-n", "2", "strake", "measure", "--filter", "^mpi/(a|b) 1"}),
            "mpirun -n 2 strake measure --resume --filter '^mpi/(a|b) 1'");
  EXPECT_EQ(with_resume({"strake", "measure", "--quick", "--resume"}),
            "strake measure --quick --resume");
  EXPECT_EQ(with_resume({"strake", "measure", "--output", "it's"}),
            "strake measure --resume --output 'it'\\''s'");
  EXPECT_EQ(with_resume({"mpirun", "./script"}), "");
}

}  // namespace
}  // namespace strake::measure
