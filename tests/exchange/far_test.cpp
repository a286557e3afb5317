// Planned exchanges between nodes whose messages go in sections: one transfer that is cut lies
// between small ones, in one memory of each rank or in two.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "place.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {
namespace far {
namespace {

using Value = std::int32_t;
constexpr std::int64_t kBlock = 40, kBlocks = 60'000, kLarge = kBlock * kBlocks, kSmall = 200;
constexpr std::int64_t kOut = 2 * kSmall + 2 * kLarge, kIn = 2 * kSmall + kLarge;

/// Each rank exchanges with the one that is half of all ranks away.
int opposite() { return (rank() + ranks() / 2) % ranks(); }
bool all_are_near() { return on_one_node(rank(), opposite()); }

/// The bytes of a layout, in packed order.
std::vector<std::byte> packed(const Layout& layout, const std::vector<std::byte>& bytes) {
  std::vector<std::byte> all;
  layout.for_each_block([&](std::int64_t at, std::int64_t count) {
    all.insert(all.end(), bytes.begin() + at, bytes.begin() + at + count);
  });
  return all;
}

/// Values that tell ranks, arrays and rounds apart.
std::vector<std::byte> filled(int from, int array, std::int64_t bytes, int round) {
  std::vector<std::byte> all(static_cast<std::size_t>(bytes));
  auto* const values = reinterpret_cast<Value*>(all.data());
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(Value)); ++i)
    values[i] = static_cast<Value>(i % 1009 + from * 10'007 + array * 3001 + round * 500'009);
  return all;
}

class Large {
 public:
  /// \param places  of this rank's memories: each has an array to send and one to receive
  /// \param before  called before it is planned, once there are arrays
  explicit Large(
      std::vector<Place> places, const std::function<void(Large&)>& before = [](Large&) {})
      : places_(std::move(places)) {
    ExchangePart part;
    for (int i = 0; i < memories(); ++i) {
      for (const std::int64_t bytes : {kOut, kIn}) {
        (void)part.array(place(i), bytes);
        bases.push_back(arrays_.emplace_back(bytes, place(i)).data());
      }
      for (int k = 0; k < 3; ++k) {
        part.send(opposite(), 3 * i + k, 2 * i, sends[static_cast<std::size_t>(k)]);
        part.receive(opposite(), 3 * i + k, 2 * i + 1, receives[static_cast<std::size_t>(k)]);
      }
    }
    before(*this);
    exchange = Exchange(MPI_COMM_WORLD, part);
  }
  [[nodiscard]] int memories() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] Place place(int memory) const { return places_[static_cast<std::size_t>(memory)]; }
  void set(int memory, bool received, const std::vector<std::byte>& bytes) {
    const Layout all = Layout::dense(std::ssize(bytes));
    CopyPlan::compile(all, place(memory), all, {}).run(base(memory, received), bytes.data());
  }
  [[nodiscard]] std::vector<std::byte> get(int memory, bool received) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(received ? kIn : kOut));
    const Layout all = Layout::dense(std::ssize(bytes));
    CopyPlan::compile(all, {}, all, place(memory)).run(bytes.data(), base(memory, received));
    return bytes;
  }

  const std::array<Layout, 3> sends = {
      Layout::dense(kSmall), Layout::box(kSmall, kBlock, std::array{Dim{kBlocks, 2 * kBlock}}),
      Layout::dense(kSmall, kOut - kSmall)};
  const std::array<Layout, 3> receives = {Layout::dense(kSmall), Layout::dense(kLarge, kSmall),
                                          Layout::dense(kSmall, kIn - kSmall)};
  std::vector<std::byte*> bases;
  Exchange exchange;

 private:
  [[nodiscard]] std::byte* base(int memory, bool received) const {
    return bases[static_cast<std::size_t>(2 * memory + (received ? 1 : 0))];
  }
  std::vector<Place> places_;
  std::vector<SharedArray> arrays_;
};

/// Rounds forward, and, the odd ones, back.
void expect_all_arrives(Large& large) {
  EXPECT_NE(large.exchange.plan().find("message each way in "), std::string::npos)
      << large.exchange.plan();
  for (int round = 0; round < 4; ++round) {
    const bool back = round % 2 != 0;
    for (int i = 0; i < large.memories(); ++i)
      large.set(i, back, filled(rank(), i, back ? kIn : kOut, round));
    const Combine as_it_is = replace();
    back ? large.exchange.start_reverse(large.bases, std::span(&as_it_is, 1))
         : large.exchange.start(large.bases);
    large.exchange.wait();
    for (int i = 0; i < large.memories(); ++i) {
      const auto theirs = filled(opposite(), i, back ? kIn : kOut, round);
      const auto got = large.get(i, !back);
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_TRUE(packed((back ? large.sends : large.receives)[k], got) ==
                    packed((back ? large.receives : large.sends)[k], theirs))
            << "round " << round << ", memory " << i << ", transfer " << k;
    }
  }
}

TEST(Far, large_messages_of_one_memory_go_in_sections) {
  if (all_are_near()) GTEST_SKIP() << "needs two nodes";
  Large large({place()});
  expect_all_arrives(large);
}

TEST(Far, large_messages_of_two_memories_go_in_sections) {
  if (all_are_near()) GTEST_SKIP() << "needs two nodes";
  Large large({place(), Place{}});
  expect_all_arrives(large);
}

TEST(Far, values_in_a_transfer_that_is_cut_are_combined_once) {
  if (all_are_near() || test_memory::on_device())
    GTEST_SKIP() << "needs two nodes, and host memory";
  Large large({Place{}});
  large.set(0, false, filled(rank(), 0, kOut, 0));
  large.set(0, true, filled(rank(), 1, kIn, 0));
  const Combine add = sum<Value>();
  large.exchange.start_reverse(large.bases, std::span(&add, 1));
  large.exchange.wait();
  const auto before = filled(rank(), 0, kOut, 0), came = filled(opposite(), 1, kIn, 0);
  const auto got = large.get(0, false);
  for (std::size_t k = 0; k < 3; ++k) {
    const auto sums = packed(large.sends[k], got), mine = packed(large.sends[k], before),
               theirs = packed(large.receives[k], came);
    const auto value = [](const std::vector<std::byte>& all, std::size_t i) {
      return reinterpret_cast<const Value*>(all.data())[i];
    };
    for (std::size_t i = 0; i < sums.size() / sizeof(Value); ++i)
      ASSERT_EQ(value(sums, i), value(mine, i) + value(theirs, i)) << k << ", " << i;
  }
}

/// Each rank exchanges with the other one of its node, too, by its device.
TEST(Far, small_messages_of_a_device_are_packed_by_the_launch_that_puts) {
  if (all_are_near() || ranks_per_node() != 2 || !test_memory::on_device())
    GTEST_SKIP() << "needs two nodes of two ranks, and devices";
  constexpr std::int64_t kCount = 700, kBytes = kCount * static_cast<std::int64_t>(sizeof(Value));
  // Every second value of the first half, and of the second.
  const auto sent = [](std::size_t half) {
    return Layout::box(static_cast<std::int64_t>(half) * kBytes / 2, sizeof(Value),
                       std::array{Dim{kCount / 4, 2 * sizeof(Value)}});
  };
  const auto received = [](std::size_t half) {
    return Layout::dense(kBytes / 4, static_cast<std::int64_t>(half) * kBytes / 4);
  };
  const std::array<int, 2> peers = {rank() ^ 1, opposite()};
  ExchangePart part;
  std::vector<SharedArray> arrays;
  std::vector<std::byte*> bases;
  for (int i = 0; i < 2; ++i) {
    (void)part.array(place(), kBytes);
    bases.push_back(arrays.emplace_back(kBytes, place()).data());
  }
  for (std::size_t i = 0; i < 2; ++i) {
    part.send(peers[i], 7, 0, sent(i));
    part.receive(peers[i], 7, 1, received(i));
  }
  Exchange exchange(MPI_COMM_WORLD, part);
  const std::string plan = exchange.plan();
  const bool puts =
      plan.find("staged:") == std::string::npos && plan.find(", device:") == std::string::npos;
  EXPECT_EQ(puts, plan.find("by the launch that puts") != std::string::npos) << plan;
  const Layout all = Layout::dense(kBytes);
  for (int round = 0; round < 6; ++round) {
    const bool back = round % 2 != 0;
    const auto mine = filled(rank(), 0, kBytes, round);
    CopyPlan::compile(all, place(), all, {}).run(bases[back ? 1 : 0], mine.data());
    const Combine as_it_is = replace();
    back ? exchange.start_reverse(bases, std::span(&as_it_is, 1)) : exchange.start(bases);
    exchange.wait();
    std::vector<std::byte> got(static_cast<std::size_t>(kBytes));
    CopyPlan::compile(all, {}, all, place()).run(got.data(), bases[back ? 0 : 1]);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto theirs = filled(peers[i], 0, kBytes, round);
      EXPECT_TRUE(packed(back ? sent(i) : received(i), got) ==
                  packed(back ? received(i) : sent(i), theirs))
          << "round " << round << ", peer " << peers[i];
    }
  }
}

constexpr const char* kPinnedRoom = "STANDIN_PINNED_MIB";  // of the stand-in for a device

/// Returns what one exchange of all large transfers throws; empty: it is done, and right.
/// `poor`: it gets no pinned memory.
std::string fault_of_a_round(bool poor) {
  try {
    Large large({place()}, [poor](Large& made) {
      made.set(0, false, filled(rank(), 0, kOut, 0));
      if (poor) setenv(kPinnedRoom, "0", 1);
    });
    large.exchange.start(large.bases);
    large.exchange.wait();
    unsetenv(kPinnedRoom);
    const auto theirs = filled(opposite(), 0, kOut, 0);
    const auto got = large.get(0, true);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_TRUE(packed(large.receives[k], got) == packed(large.sends[k], theirs)) << k;
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Far, a_rank_that_gets_no_pinned_memory_says_so) {
  if (all_are_near() || !test_memory::on_device()) GTEST_SKIP() << "needs two nodes, and devices";
  constexpr int kPoor = 1;
  const std::string said = fault_of_a_round(rank() == kPoor);
  unsetenv(kPinnedRoom);
  int poor_has_failed = said.empty() ? 0 : 1;
  MPI_Bcast(&poor_has_failed, 1, MPI_INT, kPoor, MPI_COMM_WORLD);
  if (poor_has_failed == 0) {  // it had some left
    EXPECT_EQ(said, "");
  } else if (rank() == kPoor) {
    EXPECT_NE(said.find("memory"), std::string::npos) << said;
  } else if (opposite() == kPoor) {
    EXPECT_NE(said.find("rank " + std::to_string(kPoor)), std::string::npos) << said;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(fault_of_a_round(false), "");
}

/// Some sections have come then, and others are on their way.
TEST(Far, who_fails_in_the_midst_of_a_message_ends_well) {
  if (all_are_near() || test_memory::on_device())
    GTEST_SKIP() << "needs two nodes, and host memory";
  Large large({Place{}, Place{}});
  int calls = 0;
  const Combine fails = [&calls](std::byte*, const std::byte*, std::int64_t) {
    if (++calls > 1) throw std::runtime_error("the program's");
  };
  const Combine add = sum<Value>();
  const auto go_back = [&] {
    large.exchange.start_reverse(large.bases, std::span(rank() == 0 ? &fails : &add, 1));
    large.exchange.wait();
  };
  if (rank() == 0) {
    EXPECT_THROW(go_back(), std::runtime_error);
  } else {
    try {
      go_back();
    } catch (const Error&) {
      EXPECT_EQ(opposite(), 0) << "only rank 0's peer misses anything";
    }
  }
  large.exchange = Exchange();
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace far
}  // namespace strake
