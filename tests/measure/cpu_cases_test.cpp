/// \file  The CPU's cases move the right bytes, and would say so if they did not.
#include "measure/cpu/cpu_cases.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "measure/host.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

Cases packs(std::int64_t memory) {
  Cases cases;
  add_cpu_packs(cases, memory);
  return cases;
}

Cases copies(std::int64_t memory) {
  Cases cases;
  add_memcpy(cases, memory);
  return cases;
}

Cases all_cases() {
  Cases cases;
  add_cpu_packs(cases, memory_to_spend());
  add_memcpy(cases, memory_to_spend());
  return cases;
}

constexpr std::int64_t kSmall = 65536;

TEST(CpuCases, run_and_find_wrong_data) {
  std::set<std::string> names;
  for (const Case& what : all_cases()) {
    if (what.bytes > kSmall) continue;
    SCOPED_TRACE(what.name + " " + std::to_string(what.bytes) + " " + std::to_string(what.block) +
                 " " + std::to_string(what.pitch));
    const auto instance = what.make();
    instance->run(0);
    EXPECT_THROW(instance->verify(), WrongData);
    EXPECT_GT(instance->run(1), 0);
    EXPECT_NO_THROW(instance->verify());
    names.insert(what.name);
  }
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box", "pack/cpu/blocks", "unpack/cpu/blocks",
                           "pack/cpu/indexed", "unpack/cpu/indexed", "pack/cpu/transpose",
                           "unpack/cpu/transpose", "copy/cpu/cached"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(CpuCases, have_distinct_identities_and_fit_into_the_memory) {
  constexpr std::int64_t kMemory = std::int64_t{1} << 28;
  std::set<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>> seen;
  for (const Cases& cases : {packs(kMemory), copies(kMemory)}) {
    for (const Case& what : cases) {
      EXPECT_TRUE(seen.emplace(what.name, what.bytes, what.block, what.pitch).second)
          << what.name << " " << what.bytes << " " << what.block << " " << what.pitch;
      const bool dense = what.block == 0 || what.name.ends_with("/transpose");
      const std::int64_t span = dense ? what.bytes : what.bytes / what.block * what.pitch;
      EXPECT_LE(span + what.bytes, kMemory);
      if (what.block > 0) {
        EXPECT_EQ(what.bytes % what.block, 0);
      }
    }
  }
  // All three pitch classes of one block.
  for (const std::int64_t pitch : {136, 1032, 2056}) {
    EXPECT_TRUE(seen.contains({"pack/cpu/box", 65536, 64, pitch})) << pitch;
  }
  // As large as they go.
  std::set<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>> large;
  for (const Case& what : packs(std::int64_t{1} << 32)) {
    large.emplace(what.name, what.bytes, what.block, what.pitch);
  }
  for (const std::int64_t block : {16, 64, 4096}) {
    const std::int64_t pitch = 16 * block + 8;
    EXPECT_TRUE(large.contains({"pack/cpu/box", 64 << 20, block, pitch})) << block;
  }
  EXPECT_TRUE(large.contains({"pack/cpu/box", 4 << 20, 8, 2056}));
}

TEST(CpuCases, quick_ones_are_few_and_small) {
  const Cases all = all_cases();
  const auto quick = std::count_if(all.begin(), all.end(), [](const Case& c) { return c.quick; });
  EXPECT_GT(quick, 20);
  EXPECT_LT(quick, 200);
  for (const Case& what : all) EXPECT_TRUE(!what.quick || what.bytes <= 16 << 20) << what.name;
}

TEST(Host, is_counted) {
  EXPECT_GE(host().sockets, 1);
  EXPECT_GE(host().cores, host().sockets);
  EXPECT_GE(host().threads, host().cores);
  EXPECT_GT(host().memory_bytes, memory_to_spend());
  EXPECT_GT(memory_to_spend(), 0);
}

/// The CPUs that the calling thread may run on.
std::set<int> allowed() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::set<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.insert(cpu);
  }
  return cpus;
}

/// "0-3,8" of /sys.
std::set<int> listed(const std::string& file) {
  std::ifstream in(file);
  std::set<int> cpus;
  for (int first = 0; in >> first;) {
    int last = first;
    if (in.peek() == '-' && in.ignore()) in >> last;
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    if (in.peek() == ',') in.ignore();
  }
  return cpus;
}

std::set<int> core_of(int cpu) {
  return listed("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                "/topology/thread_siblings_list");
}

/// Runs f on a thread of its own, whose place dies with it.
template <typename Function>
void on_a_thread(Function f) {
  std::thread(f).join();
}

TEST(Host, ranks_are_bound_to_cores_of_their_own) {
  if (host().cores < 2) GTEST_SKIP() << "one core";
  const std::set<int> all = allowed();
  std::set<int> seen;
  for (const int rank : {0, 1}) {
    on_a_thread([&] {
      const std::string place = bind_thread(rank, 2, 1);
      if (place == "where the launcher bound it") return;  // fewer CPUs than the machine has
      ASSERT_FALSE(place.starts_with("not bound")) << place;
      const std::set<int> cpus = allowed();
      ASSERT_FALSE(cpus.empty());
      EXPECT_EQ(place.substr(place.rfind(' ') + 1), std::to_string(*cpus.begin()));
      for (const int cpu : cpus) {
        EXPECT_TRUE(core_of(*cpus.begin()).contains(cpu)) << "CPU " << cpu << " is of another core";
        EXPECT_TRUE(all.contains(cpu));
        EXPECT_TRUE(seen.insert(cpu).second) << "two ranks on CPU " << cpu;
      }
    });
  }
}

TEST(Host, ranks_stay_where_their_launcher_bound_them_or_where_there_are_too_few_cores) {
  if (host().cores < 2) GTEST_SKIP() << "one core";
  on_a_thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(*allowed().begin(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const std::set<int> before = allowed();
    EXPECT_EQ(bind_thread(1, 2, 1), "where the launcher bound it");
    EXPECT_EQ(allowed(), before);
  });
  on_a_thread([] {
    const std::set<int> before = allowed();
    const std::string place = bind_thread(0, 100'000, 1);
    EXPECT_TRUE(place.starts_with("not bound: 100000 ranks share ") ||
                place == "where the launcher bound it")
        << place;
    EXPECT_EQ(allowed(), before);
  });
}

TEST(Host, a_thread_is_on_a_numa_node_until_the_end_of_the_scope) {
  const int node = host().numa_nodes.at(0);
  const std::set<int> of_node =
      listed("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  if (of_node.empty()) GTEST_SKIP() << "/sys does not tell which CPUs node " << node << " has";
  on_a_thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(*allowed().rbegin(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const std::set<int> before = allowed();
    {
      const OnNumaNode there(node);
      const std::set<int> now = allowed();
      EXPECT_FALSE(now.empty());
      for (const int cpu : now) EXPECT_TRUE(of_node.contains(cpu)) << cpu;
      EXPECT_TRUE(of_node.size() == 1 || now != before);
    }
    EXPECT_EQ(allowed(), before);
  });
}

TEST(Host, memory_lies_on_the_chosen_node) {
  const OnNumaNode there(host().numa_nodes.at(0));
  const HostMemory memory(1 << 20, host().numa_nodes.at(0));
  EXPECT_EQ(memory.data()[(1 << 20) - 1], std::byte{1});
  int node = -1;
  // Where its page is, not where it was asked to be; some containers forbid the question.
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0, memory.data(), MPOL_F_NODE | MPOL_F_ADDR) ==
      0) {
    EXPECT_EQ(node, host().numa_nodes.at(0));
  }
  EXPECT_THROW(HostMemory(4096, 4242), Unsupported);
  EXPECT_THROW(OnNumaNode(4242), Unsupported);
}

}  // namespace
}  // namespace strake::measure
