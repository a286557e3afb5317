/// \file  The CPU's cases move the right bytes, and would say so if they did not.
#include "measure/cpu/cpu_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "measure/host.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

constexpr std::int64_t kSmall = 65536;

TEST(CpuCases, run_and_find_wrong_data) {
  std::set<std::string> names;
  for (const Case& what : CpuSuite().cases()) {
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
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box", "pack/cpu/indexed",
                           "unpack/cpu/indexed", "copy/cpu/cached"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(CpuCases, have_distinct_identities_and_fit_into_the_memory) {
  constexpr std::int64_t kMemory = std::int64_t{1} << 28;
  std::set<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>> seen;
  for (const auto& cases : {pack_cases(kMemory), memcpy_cases(kMemory)}) {
    for (const Case& what : cases) {
      EXPECT_TRUE(seen.emplace(what.name, what.bytes, what.block, what.pitch).second)
          << what.name << " " << what.bytes << " " << what.block << " " << what.pitch;
      const std::int64_t span = what.block == 0 ? what.bytes : what.bytes / what.block * what.pitch;
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
  for (const Case& what : pack_cases(std::int64_t{1} << 32)) {
    large.emplace(what.name, what.bytes, what.block, what.pitch);
  }
  for (const std::int64_t block : {16, 64, 4096}) {
    const std::int64_t pitch = 16 * block + 8;
    EXPECT_TRUE(large.contains({"pack/cpu/box", 64 << 20, block, pitch})) << block;
  }
  EXPECT_TRUE(large.contains({"pack/cpu/box", 4 << 20, 8, 2056}));
}

TEST(CpuCases, quick_ones_are_few_and_small) {
  const std::vector<Case> all = CpuSuite().cases();
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

TEST(Host, memory_lies_on_the_chosen_node) {
  if (!can_use_numa()) {
    EXPECT_THROW(HostMemory(4096, 0), Unsupported);
    return;
  }
  const OnNumaNode there(host().numa_nodes.at(0));
  const HostMemory memory(1 << 20, host().numa_nodes.at(0));
  EXPECT_EQ(memory.data()[(1 << 20) - 1], std::byte{1});
  EXPECT_THROW(HostMemory(4096, 4242), Unsupported);
  EXPECT_THROW(OnNumaNode(4242), Unsupported);
}

}  // namespace
}  // namespace strake::measure
