// measure_mpi_test PLUGIN FLAVOR RANKS [NAME]: what the plug-in promises the driver of `strake
// measure`. Started by the launcher of FLAVOR with RANKS ranks, or alone (0 ranks). NAME: only the
// cases that have it in their names, and all of them rather than the quick ones.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "case.hpp"

namespace {

using namespace strake::measure;

std::string g_flavor;
std::string g_name;
int g_ranks = 0;
std::unique_ptr<Plugin> g_plugin;
MakePlugin g_make = nullptr;

class MeasureMpi : public testing::Test {
 protected:
  void SetUp() override {
    if (g_ranks == 0) GTEST_SKIP() << "no job";
    ASSERT_NE(g_plugin, nullptr);
    ASSERT_NE(g_plugin->team(), nullptr);
  }
  static Team& team() { return *g_plugin->team(); }
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

rusage used_by_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

/// How often it has slept, or waited for something else than a core.
long sleeps() { return used_by_thread().ru_nvcsw; }

double processor_seconds() {
  const rusage usage = used_by_thread();
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(MeasurePlugin, takes_no_part_without_a_launcher) {
  if (g_ranks != 0) GTEST_SKIP() << "in a job";
  EXPECT_EQ(g_plugin, nullptr);
}

TEST(MeasurePlugin, another_version_gets_none) { EXPECT_EQ(g_make(kPluginVersion + 1), nullptr); }

TEST_F(MeasureMpi, team_is_the_job) {
  EXPECT_EQ(team().size(), g_ranks);
  EXPECT_GE(team().rank(), 0);
  EXPECT_LT(team().rank(), g_ranks);
  EXPECT_EQ(team().maximum(team().rank()), g_ranks - 1);
  EXPECT_EQ(team().maximum(-1.5), -1.5);
}

TEST_F(MeasureMpi, library_has_a_name_and_a_version) {
  const std::string title = g_flavor == "openmpi" ? "Open MPI " : "MPICH ";
  ASSERT_EQ(team().library().substr(0, title.size()), title);
  const std::string version = team().library().substr(title.size());
  EXPECT_NE(version.find('.'), std::string::npos) << version;
  EXPECT_EQ(version.find_first_of(", \t\n"), std::string::npos) << version;
}

TEST_F(MeasureMpi, broadcast_brings_the_bytes_of_rank_0) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    std::vector<char> data(bytes, team().rank() == 0 ? 'x' : 'y');
    team().broadcast(data.data(), bytes);
    EXPECT_EQ(data, std::vector<char>(bytes, 'x'));
  }
}

TEST_F(MeasureMpi, who_waits_for_all_sleeps) {
  // Three ways of waiting; rank 0 keeps the others for a while each time.
  constexpr double kWait = 0.1;
  double busy = 0;
  team().barrier();  // nobody takes part any more in what other tests measured
  for (int way = 0; way < 3; ++way) {
    team().barrier();
    if (team().rank() == 0) std::this_thread::sleep_for(std::chrono::duration<double>(kWait));
    const double before = processor_seconds();
    const auto begin = std::chrono::steady_clock::now();
    int value = 0;
    if (way == 0) team().barrier();
    if (way == 1) team().broadcast(&value, sizeof(value));
    if (way == 2) team().maximum(0);
    if (team().rank() != 0) {
      EXPECT_GT(seconds_since(begin), kWait / 3) << way;
      busy = std::max(busy, processor_seconds() - before);
    }
  }
  // Waking a thousand times a second takes a few percent of a core at most.
  EXPECT_LT(busy, kWait / 3);
}

TEST_F(MeasureMpi, who_took_part_stays_awake_for_a_while) {
  team().barrier();
  team().maximum(1e-6);
  team().barrier();  // the next case
  const auto wait = [&](int milliseconds) {
    if (team().rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    team().maximum(0);
  };
  const long slept = sleeps();
  wait(20);
  // Asleep it would be ten times in the first 2 ms. A core that others want is given away, too, but
  // not by sleeping.
  if (team().rank() != 0) {
    EXPECT_LT(sleeps() - slept, 5);
  }
  const double before = processor_seconds();
  wait(300);
  if (team().rank() != 0) {
    EXPECT_LT(processor_seconds() - before, 0.2);
  }
  team().barrier();
}

using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Key key_of(const Case& one) { return {one.name, one.bytes, one.block, one.pitch, one.count}; }

TEST_F(MeasureMpi, cases_are_the_same_on_all_ranks_and_none_is_there_twice) {
  const std::vector<Case> cases = g_plugin->cases();
  std::set<Key> keys;
  double digest = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(keys.insert(key_of(cases[i])).second) << cases[i].name;
    EXPECT_EQ(cases[i].scope, Scope::Job) << cases[i].name;
    EXPECT_TRUE(cases[i].make) << cases[i].name;
    digest += static_cast<double>(std::hash<std::string>{}(cases[i].name) % 9973 * (i + 1)) +
              static_cast<double>(cases[i].bytes + cases[i].block * 3 + cases[i].pitch * 7) +
              (cases[i].quick ? 0.5 : 0);
  }
  EXPECT_EQ(team().maximum(digest), digest);
  EXPECT_EQ(-team().maximum(-digest), digest);
}

TEST_F(MeasureMpi, names_fit_the_job) {
  std::set<std::string> names;
  for (const Case& one : g_plugin->cases()) names.insert(one.name);
  const auto has = [&](const char* name) { return names.count(name) == 1; };
  const char* set = std::getenv("STRAKE_RANKS_PER_NODE");
  const int per_node = set != nullptr ? std::atoi(set) : g_ranks;
  const bool node = per_node >= 2;
  for (const char* name :
       {"mpi/node/host", "mpi/node/packed", "mpi/node/both-ways", "mpi/node/system/box",
        "mpi/node/system/indexed", "mpi/node/system/transpose", "mpi/node/pack/box",
        "mpi/node/pack/indexed", "mpi/node/pack/transpose", "mem/cma", "mem/shared"}) {
    EXPECT_EQ(has(name), node) << name;
  }
  const char* share = std::getenv("STRAKE_SHARE");
  for (const char* name :
       {"mpi/node/shared/box", "mpi/node/shared/indexed", "mpi/node/shared/transpose"})
    EXPECT_EQ(has(name), node && share == nullptr) << name;
  for (const char* name : {"mpi/net/host", "mpi/net/packed", "mpi/net/both-ways",
                           "mpi/net/system/box", "mpi/net/pack/box"}) {
    EXPECT_EQ(has(name), g_ranks > per_node) << name;
  }
  EXPECT_EQ(has("mpi/node/pairs"), per_node >= 4);
  EXPECT_EQ(has("mpi/net/pairs"), g_ranks > per_node && per_node >= 2);
  EXPECT_EQ(has("mpi/collective/barrier"), g_ranks >= 2);
}

TEST_F(MeasureMpi, shared_memory_has_the_cases_of_packing_that_jobs_can_send_by_it) {
  const std::vector<Case> cases = g_plugin->cases();
  const char* share = std::getenv("STRAKE_SHARE");
  const std::int64_t most = std::getenv("STRAKE_SHARE_BYTES") != nullptr ? 1 << 20 : 64 << 20;
  const auto shape_of = [](const Case& one) {
    return std::tuple(one.bytes, one.block, one.pitch, one.quick, one.in_passes);
  };
  std::size_t packed = 0;
  std::size_t shared = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string& name = cases[i].name;
    shared += name.starts_with("mpi/node/shared/") ? 1 : 0;
    if (!name.starts_with("mpi/node/pack/")) continue;
    // Shorter messages than a header message, and longer ones than the memory, go by MPI.
    if (share != nullptr || cases[i].bytes <= 992 || cases[i].bytes > most) continue;
    ++packed;
    ASSERT_LT(i + 1, cases.size());
    const Case& next = cases[i + 1];  // measured right after it
    EXPECT_EQ(next.name, "mpi/node/shared/" + name.substr(name.rfind('/') + 1));
    EXPECT_EQ(shape_of(next), shape_of(cases[i])) << name << ' ' << cases[i].bytes;
  }
  EXPECT_EQ(shared, packed);
}

TEST_F(MeasureMpi, every_case_runs_and_moves_the_right_bytes) {
  for (const Case& one : g_plugin->cases()) {
    if (g_name.empty() ? !one.quick : one.name.find(g_name) == std::string::npos) continue;
    SCOPED_TRACE(one.name + " " + std::to_string(one.bytes) + " " + std::to_string(one.block) +
                 " " + std::to_string(one.pitch) + " " + std::to_string(one.count));
    std::unique_ptr<Instance> instance;
    try {
      instance = one.make();
    } catch (const std::exception& error) {
      // The kernel may forbid it, here as anywhere; all ranks know.
      EXPECT_EQ(one.name, "mem/cma") << error.what();
    }
    if (team().maximum(instance ? 0 : 1) > 0) continue;
    constexpr std::int64_t kIterations = 3;
    instance->run(kIterations);
    const auto begin = std::chrono::steady_clock::now();
    const double mine = instance->run(kIterations);
    const double most = team().maximum(mine);
    EXPECT_GT(most, 0);
    EXPECT_LE(mine, seconds_since(begin));
    EXPECT_NO_THROW(instance->verify());
    if (team().rank() == 0 && std::getenv("MEASURE_MPI_PRINT") != nullptr) {
      std::printf("%-28s %9ld %5ld %6ld %3ld  %10.2f us %9.2f MB/s\n", one.name.c_str(), one.bytes,
                  one.block, one.pitch, one.count, most / kIterations * 1e6,
                  static_cast<double>(one.bytes) * kIterations / most * 1e-6);
    }
  }
}

TEST_F(MeasureMpi, a_device_is_tried_where_there_is_one) {
  if (std::getenv("FAKE_DEVICE") != nullptr && access("/dev/nvidiactl", F_OK) == 0) {
    GTEST_SKIP() << "a real device is here";
  }
  const char* fake = std::getenv("FAKE_DEVICE");
  int answer = -1;
  if (team().rank() == 0) answer = g_plugin->gpu_aware();
  team().broadcast(&answer, sizeof(answer));
  if (fake != nullptr) {
    EXPECT_EQ(answer, std::string(fake) == "plain" ? 1 : 0);
  } else if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    EXPECT_EQ(answer, -1);
  }
  testing::Test::RecordProperty("gpu_aware", answer);
  bool device_cases = false;
  std::set<std::string> device_collectives;
  for (const Case& one : g_plugin->cases()) {
    device_cases = device_cases || one.name.find("/device") != std::string::npos;
    if (one.name.starts_with("mpi/collective/device/")) device_collectives.insert(one.name);
  }
  if (fake != nullptr) {
    EXPECT_EQ(device_collectives.size(), answer == 1 ? 4U : 0U);
  }
  EXPECT_EQ(device_cases, answer == 1 && g_ranks > 1);
  if (answer >= 0 && team().rank() == 0) {
    EXPECT_EQ(g_plugin->gpu_aware_problem(), "");
  }
}

TEST_F(MeasureMpi, without_a_device_there_is_no_problem) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) GTEST_SKIP() << "a driver is here";
  if (team().rank() != 0) return;
  EXPECT_EQ(g_plugin->gpu_aware(), -1);
  EXPECT_EQ(g_plugin->gpu_aware_problem(), "");
}

/// With the only launcher of these tests: fake_launcher.sh.
TEST_F(MeasureMpi, what_keeps_the_device_from_being_tried_is_told) {
  const char* const mode = std::getenv("FAKE_LAUNCHER");
  if (mode == nullptr) GTEST_SKIP() << "needs the launcher that fails";
  const std::string launcher = std::getenv("FAKE_LAUNCHER_FOLDER") + std::string("/mpirun");
  const int answer = g_plugin->gpu_aware();
  const std::string problem = g_plugin->gpu_aware_problem();
  if (mode == std::string("says")) {
    EXPECT_EQ(answer, -1);
    EXPECT_EQ(problem, launcher +
                           " printed: There are no slots for the 2 ranks that were asked "
                           "for by the application.");
  } else if (mode == std::string("silent")) {
    EXPECT_EQ(answer, -1);
    EXPECT_EQ(problem, launcher + " ended with status 3 and printed nothing");
  } else if (mode == std::string("missing")) {
    EXPECT_EQ(answer, -1);
    EXPECT_EQ(problem.substr(0, 21), "no launcher (mpirun) ") << problem;
  } else if (mode == std::string("long")) {
    EXPECT_EQ(answer, -1);
    EXPECT_EQ(problem.size(), (launcher + " printed: ").size() + 200) << problem;
    EXPECT_NE(problem.find(" printed: a line of many"), std::string::npos) << problem;
  } else {
    // The answer behind more than is kept.
    ASSERT_STREQ(mode, "noisy");
    EXPECT_EQ(answer, 1);
    EXPECT_EQ(problem, "");
  }
}

/// Goes on in a process whose parent, this one, is no launcher, nor has one beside it, and which
/// finds none but the fake one.
void go_on_without_launcher() {
  const pid_t rank = fork();
  if (rank != 0) {
    int status = 0;
    if (rank < 0 || waitpid(rank, &status, 0) != rank) std::exit(2);
    std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
  }
  for (const char* prefix : {"OPAL_PREFIX", "PRTE_PREFIX", "MPI_HOME"}) unsetenv(prefix);
  const bool missing = std::getenv("FAKE_LAUNCHER") == std::string("missing");
  setenv("PATH", missing ? "/nonexistent" : std::getenv("FAKE_LAUNCHER_FOLDER"), 1);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 4) {
    std::fprintf(stderr, "usage: measure_mpi_test PLUGIN FLAVOR RANKS [NAME]\n");
    return 2;
  }
  if (std::getenv("FAKE_LAUNCHER") != nullptr) {
    go_on_without_launcher();
  } else if (std::getenv("FAKE_DEVICE") != nullptr) {
    // Two ranks on one node take no remote shell: none is found here.
    setenv("PATH", "/nonexistent", 1);
  }
  g_flavor = argv[2];
  g_ranks = std::atoi(argv[3]);
  if (argc > 4) g_name = argv[4];
  void* object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (object != nullptr) {
    g_make = reinterpret_cast<MakePlugin>(dlsym(object, "strake_make_measure_plugin"));
  }
  if (g_make == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  g_plugin.reset(g_make(kPluginVersion));
  if (g_plugin != nullptr && g_plugin->team()->rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (std::getenv("MEASURE_MPI_PRINT") != nullptr) {
      delete listeners.Release(listeners.default_result_printer());
    }
  }
  const int verdict = RUN_ALL_TESTS();
  g_plugin.reset();  // MPI_Finalize
  return verdict;
}
