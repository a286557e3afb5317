// Exchanges that ranks plan with their peers alone: no call is collective, and ranks that are no
// peers take no part.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "exchange/peers/group.hpp"
#include "exchange/plan/impl.hpp"
#include "exchange/progress/in_flight.hpp"
#include "mpi/real_mpi.hpp"
#include "place.hpp"
#include "strake/error.hpp"
#include "world.hpp"

namespace {

/// An interposer of another version, as this program's core meets it.
struct OtherVersion {
  static inline int asked = 0;
  static inline int advanced = 0;
  static inline std::atomic<int> in_flight{0};
  static inline const strake::exchange::CoreLink* met = nullptr;
  static inline const strake::exchange::CoreLink link{"99.9", [] { ++advanced; }, &in_flight};
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const strake::exchange::CoreLink*
strake_core_meet_1(const strake::exchange::CoreLink* theirs) {
  ++OtherVersion::asked;
  OtherVersion::met = theirs;
  return &OtherVersion::link;
}

namespace strake {
namespace peers_test {
namespace {

using Value = std::int32_t;
using test_memory::Buffer;
constexpr std::int64_t kValues = 600;
constexpr auto kBytes = static_cast<std::int64_t>(kValues * sizeof(Value));

/// Made by all ranks, once.
const std::shared_ptr<exchange::peers::Group>& group() {
  static const auto made = exchange::peers::Group::of(MPI_COMM_WORLD);
  return made;
}

/// As long as it lives, what is collective or makes a communicator is counted, and fails.
class NothingCollective {
 public:
  NothingCollective() : table_(mpi::real_mpi()) {
    table_.MPI_Allreduce = [](const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) {
      return refuse();
    };
    table_.MPI_Bcast = [](void*, int, MPI_Datatype, int, MPI_Comm) { return refuse(); };
    table_.MPI_Allgather = [](const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm) {
      return refuse();
    };
    table_.MPI_Ibarrier = [](MPI_Comm, MPI_Request*) { return refuse(); };
    table_.MPI_Comm_dup = [](MPI_Comm, MPI_Comm*) { return refuse(); };
    table_.MPI_Comm_split_type = [](MPI_Comm, int, int, MPI_Info, MPI_Comm*) { return refuse(); };
    calls() = 0;
    mpi::g_real_mpi = &table_;
  }
  ~NothingCollective() {
    mpi::g_real_mpi = before_;
    EXPECT_EQ(calls(), 0);
  }
  NothingCollective(const NothingCollective&) = delete;
  NothingCollective& operator=(const NothingCollective&) = delete;

 private:
  static int& calls() {
    static int number = 0;
    return number;
  }
  static int refuse() {
    ++calls();
    return MPI_ERR_OTHER;
  }
  const mpi::RealMpi* before_ = &mpi::real_mpi();
  mpi::RealMpi table_;
};

/// This rank and its peers send each other the odd values of an array, and get them side by side.
class Planned {
 public:
  explicit Planned(std::set<int> peers)
      : Planned(peers,
                Layout::box(0, sizeof(Value), std::vector{Dim{kValues / 2, 2 * sizeof(Value)}})) {}
  Planned(const std::set<int>& peers, const Layout& sends)
      : peers_(peers.begin(), peers.end()), out_(kValues), in_(peers.size() * kValues / 2) {
    ExchangePart part;
    (void)part.array(place(), kBytes);
    (void)part.array(place(), static_cast<std::int64_t>(in_.count() * sizeof(Value)));
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      part.send(peers_[i], 3, 0, sends);
      part.receive(peers_[i], 3, 1,
                   Layout::dense(kBytes / 2, static_cast<std::int64_t>(i) * kBytes / 2));
    }
    exchange_ = std::make_unique<Exchange::Impl>(group(), part);
  }
  void start(int round) {
    std::vector<Value> values(kValues);
    std::iota(values.begin(), values.end(), 100'000 * rank() + 10'000 * round);
    out_.set(values);
    in_.fill(-1);
    bases_ = {reinterpret_cast<std::byte*>(out_.data()), reinterpret_cast<std::byte*>(in_.data())};
    exchange_->start(bases_, false, {}, {});
  }
  void wait(int round) {
    exchange_->wait();
    const std::vector<Value>& got = in_.get();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const int from = peers_[i / (kValues / 2)];
      const auto at = static_cast<int>(2 * (i % (kValues / 2)));
      ASSERT_EQ(got[i], 100'000 * from + 10'000 * round + at) << "value " << i << " of " << from;
    }
  }
  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      start(round);
      wait(round);
    }
  }
  [[nodiscard]] std::string plan() const { return exchange_->plan(); }

 private:
  std::vector<int> peers_;
  Buffer<Value> out_, in_;
  std::vector<std::byte*> bases_;
  std::unique_ptr<Exchange::Impl> exchange_;
};

/// The ranks beside this one.
std::set<int> neighbours() {
  std::set<int> all;
  if (rank() > 0) all.insert(rank() - 1);
  if (rank() + 1 < ranks()) all.insert(rank() + 1);
  return all;
}

/// The text of the Error that `call` throws; empty if it throws none.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// All ranks begin and end each test together.
class Peers : public testing::Test {
 protected:
  void SetUp() override { (void)group(); }
  void TearDown() override { MPI_Barrier(MPI_COMM_WORLD); }
};

TEST_F(Peers, others_take_no_part) {
  if (ranks() < 3) GTEST_SKIP() << "needs others";
  if (rank() == 1 || rank() == 2) {
    const NothingCollective nothing;
    Planned planned({3 - rank()});
    planned.run(3);
  }
}

TEST_F(Peers, each_rank_plans_with_its_neighbours) {
  const NothingCollective nothing;
  Planned planned(neighbours());
  planned.run(4);
  EXPECT_EQ(planned.plan().find("rank") != std::string::npos, ranks() > 1);
}

TEST_F(Peers, others_go_on_while_a_rank_waits_for_its_peers) {
  if (ranks() < 2) GTEST_SKIP() << "needs peers";
  if (rank() < 2) {
    int turns = 0;
    exchange::planned::Setup setup(*group(), {1 - rank()}, [&turns] { ++turns; });
    if (rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(setup.conclude(false, true));
    if (rank() == 0) {
      EXPECT_GT(turns, 1);
    }
  }
}

TEST_F(Peers, an_interposer_of_another_version_is_met_once_and_advanced) {
  if (ranks() < 2) GTEST_SKIP() << "needs peers";
  if (rank() < 2) {
    Planned planned({1 - rank()});
    const int before = OtherVersion::advanced;
    if (rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    planned.start(0);
    if (rank() == 0) {
      EXPECT_GT(OtherVersion::in_flight, 0);
    }
    planned.wait(0);
    Planned({1 - rank()}).run(1);
    if (rank() == 0) {
      EXPECT_GT(OtherVersion::advanced, before);
    }
    EXPECT_EQ(OtherVersion::in_flight, 0);
    EXPECT_EQ(OtherVersion::asked, 1);
    ASSERT_NE(OtherVersion::met, nullptr);
    EXPECT_STRNE(OtherVersion::met->version, OtherVersion::link.version);
  }
}

TEST_F(Peers, exchanges_are_planned_while_others_go_on) {
  const NothingCollective nothing;
  Planned first(neighbours());
  first.start(0);
  if (rank() == 0) first.wait(0);
  Planned second(neighbours());
  if (rank() != 0) first.wait(0);
  second.run(2);
  first.run(2);
}

TEST_F(Peers, many_may_be_planned_and_ended_in_any_order) {
  const NothingCollective nothing;
  std::vector<std::unique_ptr<Planned>> all;
  for (int i = 0; i < 5; ++i) all.push_back(std::make_unique<Planned>(neighbours()));
  for (const int which : {3, 0, 4, 1, 2}) all[static_cast<std::size_t>(which)]->run(2);
  if (rank() % 2 != 0) std::swap(all.front(), all.back());
  all.clear();
  Planned(neighbours()).run(1);
}

/// Each rank learns of it a step of planning later than the one before it, and from some number of
/// ranks on not before its first round, or the second.
TEST_F(Peers, a_fault_of_one_rank_is_told_from_peer_to_peer) {
  if (ranks() < 2) GTEST_SKIP() << "needs peers";
  {
    const NothingCollective nothing;
    const std::string said = error_of([] {
      const Layout beyond = Layout::dense(kBytes / 2, kBytes);
      (rank() == 0 ? Planned(neighbours(), beyond) : Planned(neighbours())).run(2);
    });
    EXPECT_FALSE(said.empty());
    if (rank() < 2) {
      EXPECT_NE(said.find("array 0"), std::string::npos) << said;
      EXPECT_EQ(said.find("rank 0 can't plan") != std::string::npos, rank() == 1) << said;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  {
    const NothingCollective nothing;
    Planned(neighbours()).run(2);
  }
}

TEST_F(Peers, a_peer_that_does_not_exist_is_told_to_those_that_do) {
  if (ranks() < 2) GTEST_SKIP() << "needs peers";
  const NothingCollective nothing;
  const std::string said = error_of([] {
    std::set<int> peers = neighbours();
    if (rank() == 0) peers.insert(ranks() + 7);
    Planned(peers).run(2);
  });
  EXPECT_FALSE(said.empty());
  if (rank() < 2) {
    EXPECT_NE(said.find(std::to_string(ranks() + 7)), std::string::npos) << said;
  }
}

TEST_F(Peers, two_ranks_that_do_not_fit_are_told_both) {
  if (ranks() < 2) GTEST_SKIP() << "needs peers";
  if (rank() < 2) {
    const NothingCollective nothing;
    const std::string said = error_of(
        [] { rank() == 0 ? Planned({1}, Layout::dense(kBytes / 4)).run(1) : Planned({0}).run(1); });
    EXPECT_NE(said.find(std::to_string(kBytes / 4)), std::string::npos) << said;
    EXPECT_NE(said.find(std::to_string(kBytes / 2)), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace peers_test
}  // namespace strake
