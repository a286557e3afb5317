// choose() in a job of two nodes: what goes between nodes and what shares memory are measured
// apart.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../support/made_up_profile.hpp"
#include "exchange/choice/choice.hpp"
#include "machine/profile.hpp"

namespace strake::exchange {
namespace {

/// Between nodes packing is the faster way, and on a node the MPI library's own. Shared memory is
/// faster than packing on a node, but for blocks of 64 bytes.
machine::Profile made_up_profile() {
  machine::Profile profile;
  profile.key = machine::machine_key();
  for (const std::int64_t block : {8, 64}) {
    for (const std::int64_t bytes : {64, 1 << 24}) {
      const auto add = [&](const char* name, double microseconds) {
        profile.results.push_back(
            machine::result(name, bytes, block, 2 * block, microseconds * 1e-6, mpi_library()));
      };
      add("pack/cpu/box", 1);
      add("unpack/cpu/box", 1);
      add("mpi/net/system/box", 20);
      add("mpi/net/pack/box", 10);
      add("mpi/node/system/box", 2);
      add("mpi/node/pack/box", 5);
      add("mpi/node/shared/box", block == 8 ? 3 : 6);
    }
  }
  return profile;
}

/// The profile's file, and two pretended nodes, from before the first setting is read to the end.
struct Setting {
  std::string path = "/tmp/strake-choice-nodes-" + std::to_string(getpid()) + ".profile";
  Setting() {
    machine::write_compact(made_up_profile(), path);
    setenv("STRAKE_PROFILE", path.c_str(), 1);
    setenv("STRAKE_RANKS_PER_NODE", "1", 1);
  }
  ~Setting() { std::remove(path.c_str()); }
};
const Setting g_setting;

TEST(ChoiceOfSeveralNodes, shares_what_is_faster_than_the_way_that_goes_everywhere) {
  ASSERT_NE(machine::this_machine(), nullptr);
  for (const std::int64_t block : {8, 64}) {
    const std::int64_t bytes = 1 << 14;
    const Choice choice = choose({MessageDirection::Send, false, Place{}, bytes, bytes / block,
                                  Spread::Near, false, 2 * block});
    EXPECT_EQ(choice.transport, Transport::Pack) << block;
    EXPECT_EQ(choice.shares, block == 8) << block;
  }
}

}  // namespace
}  // namespace strake::exchange
