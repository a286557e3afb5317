// The model of planned exchanges, by a made-up machine: its sums against arithmetic on the
// machine's rates.
#include "machine/exchange_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "machine/transports.hpp"
#include "placement/partition.hpp"
#include "strake/error.hpp"
#include "summit_profile.hpp"

namespace strake::machine {
namespace {

using placement::Partition;
using placement::Position;

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr double kClose = 2e-3;  // of a time: curves are interpolated

PathEnd gpu_end(int rank, int node, int gpu) { return {MemoryKind::Device, rank, node, gpu}; }
PathEnd host_end(int rank, int node) { return {MemoryKind::Host, rank, node}; }

PlannedTransfer dense(PathEnd from, PathEnd to, std::int64_t bytes) {
  return {{from, to}, {bytes, bytes, 0}};
}

ExchangeModel model() { return {summit::profile(), summit::kMpi}; }
ExchangeModel model_without(const std::string& part) {
  Profile profile = summit::profile();
  std::erase_if(profile.results, [&](const Result& result) { return result.name == part; });
  return {profile, summit::kMpi};
}
double seconds_of(const Prediction& prediction) { return prediction.seconds.value_or(-1); }

/// A periodic grid of 256^3 cells a GPU, 4 fields of doubles, radius 3, one rank a GPU. A node has
/// 3 x 2 x 1 of its subgrids, those of one socket in a row.
struct Job {
  static constexpr std::int64_t kCells = 256;
  static constexpr std::int64_t kRadius = 3;
  static constexpr std::int64_t kCellBytes = 4 * 8;
  static constexpr Position kOfNode = {summit::kPerSocket, 2, 1};

  explicit Job(int nodes_along, std::int64_t cell_bytes = kCellBytes) {
    Position counts{};
    Index3 extent{};
    for (std::size_t i = 0; i < 3; ++i) {
      counts[i] = nodes_along * kOfNode[i];
      extent[i] = counts[i] * kCells;
    }
    const Partition grid(extent, counts);
    ranks = counts[0] * counts[1] * counts[2];
    const auto end = [&](int part) {
      const Position at = grid.position_of(part);
      const int node =
          at[0] / kOfNode[0] + nodes_along * (at[1] / kOfNode[1] + nodes_along * at[2]);
      return gpu_end(part, node, at[0] % kOfNode[0] + kOfNode[0] * (at[1] % kOfNode[1]));
    };
    for (int rank = 0; rank < ranks; ++rank) {
      for (const strake::Direction d : kDirections) {
        const Box sent = border({{}, {kCells, kCells, kCells}}, d, kRadius);
        const int peer = grid.neighbour(rank, d, {true, true, true}).value();
        transfers.push_back(
            {{end(rank), end(peer)},
             {sent.size() * cell_bytes, sent.extent(0) * 8, (kCells + 2 * kRadius) * 8}});
      }
    }
  }

  /// Ghost cells of a GPU, and those of them that are outside of its node. `inner` counts along
  /// each axis the sides on which the node goes on.
  static std::int64_t ghosts(const Position& inner) {
    std::int64_t all = 1;
    std::int64_t within = 1;
    for (const int sides : inner) {
      all *= kCells + 2 * kRadius;
      within *= kCells + sides * kRadius;
    }
    return all - within;
  }

  int ranks = 0;
  std::vector<PlannedTransfer> transfers;
};

constexpr int kCorners = 4;  // GPUs of a node at an end of their row of three
constexpr int kMiddles = 2;

TEST(ExchangeModel, predicts_24576_gpus_within_seconds_and_finds_the_network_s_bound) {
  const Job job(16);
  ASSERT_EQ(job.ranks, 4096 * summit::kGpus);
  const ExchangeModel predicts = model();
  const auto begin = std::chrono::steady_clock::now();
  const Prediction prediction = predicts.predict(job.transfers);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(took.count(), 5);
#endif
  ASSERT_TRUE(prediction.seconds);

  const std::int64_t leaving =
      kCorners * Job::ghosts({1, 1, 0}) + kMiddles * Job::ghosts({2, 1, 0});
  const std::int64_t all = summit::kGpus * Job::ghosts({0, 0, 0});
  const auto bytes = [&](PathLink link) {
    return prediction.bytes[static_cast<std::size_t>(link)];
  };
  EXPECT_EQ(bytes(PathLink::OtherNode), 4096 * leaving * Job::kCellBytes);
  EXPECT_EQ(bytes(PathLink::PeerGpu), 4096 * (all - leaving) * Job::kCellBytes);
  EXPECT_EQ(std::accumulate(prediction.bytes.begin(), prediction.bytes.end(), std::int64_t{0}),
            4096 * all * Job::kCellBytes);

  EXPECT_TRUE(prediction.bound.resource == Resource::NodeOut ||
              prediction.bound.resource == Resource::NodeIn)
      << name_of(prediction.bound.resource);
  EXPECT_EQ(prediction.bound.bytes, leaving * Job::kCellBytes);
  const double network = static_cast<double>(leaving * Job::kCellBytes) / summit::kNetwork;
  EXPECT_NEAR(prediction.bound.seconds / network, 1, 1e-9);
  EXPECT_GT(seconds_of(prediction), network);
  EXPECT_LT(seconds_of(prediction), 1.5 * network);
  // Each node has as much to do as in a small job.
  EXPECT_NEAR(seconds_of(predicts.predict(Job(3).transfers)) / seconds_of(prediction), 1, 1e-9);
}

TEST(ExchangeModel, a_forced_transport_costs_what_the_rates_say) {
  const Job job(3);
  const double network =
      static_cast<double>((kCorners * Job::ghosts({1, 1, 0}) + kMiddles * Job::ghosts({2, 1, 0})) *
                          Job::kCellBytes) /
      summit::kNetwork;
  const auto of_gpu = static_cast<double>(Job::ghosts({0, 0, 0}) * Job::kCellBytes);
  // A GPU at an end of its row has 3 neighbours in its node.
  constexpr int kFar = 23;
  const double host_links = 2 * of_gpu / summit::kOneShot;
  const double one_shot = 2 * summit::kLaunch + kFar * summit::kMessage + host_links + network;
  const Prediction forced = model().predict(job.transfers, Transport::OneShot);
  EXPECT_NEAR(seconds_of(forced) / one_shot, 1, kClose);
  for (const auto& transport : forced.transports) EXPECT_EQ(transport, Transport::OneShot);
  EXPECT_GT(seconds_of(forced), seconds_of(model().predict(job.transfers)));
  // Transfers that can't go by the forced transport get a chosen one.
  const Prediction engine = model().predict(job.transfers, Transport::Engine);
  for (std::size_t i = 0; i < job.transfers.size(); ++i) {
    const bool peers = link_of(job.transfers[i].path) == PathLink::PeerGpu;
    EXPECT_EQ(engine.transports[i] == Transport::Engine, peers);
  }
}

TEST(ExchangeModel, chosen_transports_are_as_fast_as_any_forced_one) {
  for (const int nodes_along : {1, 3}) {
    for (const std::int64_t cell_bytes : {1, 8, 64}) {
      const Job job(nodes_along, cell_bytes);
      const double chosen = seconds_of(model().predict(job.transfers));
      for (int i = 0; i < kTransports; ++i) {
        const auto transport = static_cast<Transport>(i);
        const double forced = seconds_of(model().predict(job.transfers, transport));
        EXPECT_LE(chosen, forced * (1 + 1e-9)) << name_of(transport) << ", " << cell_bytes;
      }
    }
  }
}

TEST(ExchangeModel, transfers_of_a_unit_go_by_one_of_its_candidates) {
  // Long rows alone would be read where they lie, short blocks packed (see below).
  const PathEnd here = gpu_end(0, 0, 0), there = gpu_end(1, 0, 1);
  const Shape rows{4 * kMi, kMi, 2 * kMi}, blocks{4 * kMi, 8, 16};
  std::vector<PlannedTransfer> transfers{{{here, there}, rows}, {{here, there}, blocks}};
  const Prediction apart = model().predict(transfers);
  EXPECT_NE(apart.transports[0], apart.transports[1]);
  EXPECT_TRUE(apart.alternatives.empty());
  for (PlannedTransfer& transfer : transfers) {
    transfer.unit = 0;
    transfer.candidates = set_of(Transport::Put) | set_of(Transport::OneShot);
  }
  // Another one, which has no choice.
  transfers.push_back({{here, there}, rows, 2, set_of(Transport::Staged)});
  const Prediction together = model().predict(transfers);
  EXPECT_EQ(together.transports[0], Transport::Put);
  EXPECT_EQ(together.transports[1], Transport::Put);
  EXPECT_EQ(together.transports[2], Transport::Staged);
  ASSERT_EQ(together.alternatives.size(), 3U);
  ASSERT_EQ(together.alternatives[0].size(), 2U);
  EXPECT_EQ(together.alternatives[0][0].transport, Transport::Put);
  EXPECT_EQ(together.alternatives[0][1].transport, Transport::OneShot);
  EXPECT_LT(together.alternatives[0][0].seconds, together.alternatives[0][1].seconds);
  EXPECT_TRUE(together.alternatives[1].empty());
  EXPECT_EQ(together.alternatives[2].size(), 1U);
  EXPECT_GE(seconds_of(together), together.alternatives[0][0].seconds);
  // None that is possible for all.
  for (PlannedTransfer& transfer : transfers) transfer.candidates = set_of(Transport::Pack);
  const Prediction none = model().predict(transfers);
  EXPECT_EQ(none.transports[0], std::nullopt);
  EXPECT_EQ(none.seconds, std::nullopt);
}

TEST(ExchangeModel, half_the_bytes_are_never_slower) {
  for (int forced = -1; forced < kTransports; ++forced) {
    const auto transport =
        forced < 0 ? std::nullopt : std::optional(static_cast<Transport>(forced));
    double before = 0;
    for (std::int64_t cell_bytes = 8; cell_bytes <= 128; cell_bytes *= 2) {
      const double seconds = seconds_of(model().predict(Job(3, cell_bytes).transfers, transport));
      EXPECT_GT(seconds, before) << forced << ": " << cell_bytes;
      before = seconds;
    }
  }
}

TEST(ExchangeModel, bytes_on_one_link_add_up) {
  const ExchangeModel predicts = model();
  const PathEnd ends[] = {gpu_end(0, 0, 0), gpu_end(1, 0, 1), gpu_end(2, 0, 2), gpu_end(3, 0, 3)};
  constexpr std::int64_t kBytes = 64 * kMi;
  const auto bound = [&](const std::vector<PlannedTransfer>& transfers) {
    return predicts.predict(transfers, Transport::Put).bound;
  };
  const auto expect = [](const Busy& busy, Resource resource, double bytes, double rate) {
    EXPECT_EQ(busy.resource, resource) << name_of(busy.resource);
    EXPECT_NEAR(busy.seconds / (bytes / rate), 1, kClose);
    EXPECT_EQ(busy.bytes, static_cast<std::int64_t>(bytes));
  };
  const PlannedTransfer there = dense(ends[0], ends[1], kBytes);
  expect(bound({there}), Resource::PeerPair, kBytes, summit::kNvlink);
  expect(bound({there, there}), Resource::PeerPair, 2 * kBytes, summit::kNvlink);
  // The other way is another link.
  expect(bound({there, dense(ends[1], ends[0], kBytes)}), Resource::PeerPair, kBytes,
         summit::kNvlink);
  expect(bound({there, dense(ends[0], ends[2], kBytes)}), Resource::PeerOut, 2 * kBytes,
         summit::kFan);
  expect(bound({dense(ends[0], ends[2], kBytes), dense(ends[1], ends[2], kBytes)}),
         Resource::PeerIn, 2 * kBytes, summit::kFan);
  // A pair of which kernels were not measured is like the one with the same rate of copies.
  expect(bound({dense(ends[2], ends[3], kBytes)}), Resource::PeerPair, kBytes, summit::kBus);
}

TEST(ExchangeModel, a_round_of_puts_takes_what_was_measured_of_it_as_a_whole) {
  constexpr double kOwn = 12e-6;
  constexpr double kRound = 30e-6;
  Profile profile = summit::profile();
  for (Result& result : profile.results) {
    if (result.name == "gpu/mail/own") result.median = kOwn;
    if (result.name == "gpu/mail/0-1/device") result.median = kRound;
  }
  const ExchangeModel predicts(profile, summit::kMpi);
  const auto seconds = [&](const std::vector<PlannedTransfer>& transfers) {
    return seconds_of(predicts.predict(transfers, Transport::Put));
  };
  const PathEnd here = gpu_end(0, 0, 0);
  const PlannedTransfer own = dense(here, here, 8);
  const PlannedTransfer out = dense(here, gpu_end(1, 0, 1), 8);
  const PlannedTransfer in = dense(gpu_end(1, 0, 1), here, 8);
  // Two ranks that share a GPU launch twice.
  const PlannedTransfer beside = dense(here, gpu_end(2, 0, 0), 8);
  EXPECT_NEAR(seconds({own}) / kOwn, 1, kClose);
  EXPECT_NEAR(seconds({out}) / kRound, 1, kClose);
  EXPECT_NEAR(seconds({out, own, in, in}) / kRound, 1, kClose);
  EXPECT_NEAR(seconds({beside}) / (2 * summit::kLaunch), 1, kClose);
  // Kernels that a rank launches at once take as long as the longest of them.
  EXPECT_NEAR(seconds({own, beside}) / (kOwn + summit::kLaunch), 1, kClose);
}

TEST(ExchangeModel, ranks_share_their_node_s_network_and_transfers_a_rank) {
  const ExchangeModel predicts = model();
  constexpr auto kBytes = static_cast<double>(64 * kMi);
  constexpr double kEnd = kBytes / summit::kCpuPack + summit::kMessage / 2;
  for (const bool out : {true, false}) {
    for (const bool one_rank : {true, false}) {
      std::vector<PlannedTransfer> transfers;
      for (int count = 1; count <= summit::kGpus; ++count) {
        const PathEnd near = host_end(one_rank ? 0 : count, 0);
        const PathEnd far = host_end(100 + count, count);
        transfers.push_back(out ? dense(near, far, 64 * kMi) : dense(far, near, 64 * kMi));
        // Below a rank's own rate the node's network is no limit.
        const int of_rank = one_rank ? count : 1;
        const double wire =
            std::max(of_rank * kBytes / summit::kMessages, count * kBytes / summit::kNetwork);
        const double expected = of_rank * kEnd + wire + kEnd;
        EXPECT_NEAR(seconds_of(predicts.predict(transfers)) / expected, 1, kClose) << count;
      }
    }
  }
}

TEST(ExchangeModel, launches_count_once_for_a_rank_and_messages_once_for_two) {
  const ExchangeModel predicts = model();
  const auto time = [&](const std::vector<PlannedTransfer>& transfers) {
    return seconds_of(predicts.predict(transfers, Transport::OneShot));
  };
  const PlannedTransfer first = dense(gpu_end(0, 0, 0), gpu_end(1, 1, 0), 1);
  const PlannedTransfer second = dense(gpu_end(0, 0, 0), gpu_end(2, 2, 0), 1);
  const double one = 2 * summit::kLaunch + summit::kMessage;
  EXPECT_NEAR(time({first}), one, 1e-9);
  EXPECT_NEAR(time({first, first}), one, 1e-9);
  EXPECT_NEAR(time({first, second}), one + summit::kMessage / 2, 1e-9);
  EXPECT_EQ(time({}), 0);
}

TEST(ExchangeModel, short_blocks_are_packed_and_long_ones_read_where_they_lie) {
  const ExchangeModel predicts = model();
  const auto chosen = [&](PathEnd from, PathEnd to, std::int64_t block) {
    const std::vector<PlannedTransfer> one = {{{from, to}, {16 * kMi, block, 2 * block}}};
    return predicts.predict(one).transports[0];
  };
  EXPECT_EQ(chosen(gpu_end(0, 0, 0), gpu_end(1, 0, 1), 4), Transport::Put);
  EXPECT_EQ(chosen(gpu_end(0, 0, 0), gpu_end(1, 0, 1), 4096), Transport::Direct);
  EXPECT_EQ(chosen(host_end(0, 0), host_end(1, 0), 8), Transport::Shared);
  EXPECT_EQ(chosen(host_end(0, 0), host_end(1, 0), 4096), Transport::Direct);
  EXPECT_EQ(chosen(host_end(0, 0), host_end(1, 1), 4096), Transport::Pack);
  EXPECT_EQ(chosen(host_end(0, 0), host_end(0, 0), 4096), Transport::Self);
  EXPECT_EQ(chosen(gpu_end(0, 0, 0), gpu_end(1, 0, 0), 4096), Transport::Direct);
}

TEST(ExchangeModel, a_pitch_that_is_not_known_is_twice_the_block) {
  const ExchangeModel predicts = model();
  const auto seconds = [&](Transport transport, std::int64_t block, std::int64_t pitch) {
    const std::vector<PlannedTransfer> one = {
        {{gpu_end(0, 0, 0), gpu_end(1, 0, 1)}, {16 * kMi, block, pitch}}};
    return seconds_of(predicts.predict(one, transport));
  };
  for (const std::int64_t block : {8, 1024}) {
    for (const auto transport : {Transport::Put, Transport::OneShot, Transport::Staged})
      EXPECT_EQ(seconds(transport, block, 0), seconds(transport, block, 2 * block))
          << name_of(transport);
  }
}

TEST(ExchangeModel, which_transports_are_possible_depends_on_memories_and_link) {
  using enum Transport;
  const auto possible = [](PathEnd from, PathEnd to) {
    std::set<Transport> found;
    for (const TransportFacts& row : transports())
      if (is_possible(row.transport, {from, to})) found.insert(row.transport);
    return found;
  };
  using Transports = std::set<Transport>;
  const PathEnd gpu = gpu_end(0, 0, 0);
  EXPECT_EQ(possible(gpu, gpu), Transports({Self, Library}));
  EXPECT_EQ(possible(gpu, gpu_end(1, 0, 0)), Transports({Direct, Put, OneShot, Staged, Library}));
  EXPECT_EQ(possible(gpu, gpu_end(1, 0, 1)),
            Transports({Direct, Put, Engine, OneShot, Staged, Library}));
  EXPECT_EQ(possible(gpu, gpu_end(1, 1, 0)), Transports({OneShot, Staged, Device, Library}));
  EXPECT_EQ(possible(gpu, host_end(1, 0)), Transports({OneShot, Staged, Library}));
  EXPECT_EQ(possible(host_end(1, 1), gpu), Transports({OneShot, Staged, Library}));
  EXPECT_EQ(possible(host_end(0, 0), host_end(1, 0)), Transports({Direct, Shared, Library}));
  EXPECT_EQ(possible(gpu, gpu_end(0, 0, 1)),
            Transports({Direct, Put, Engine, OneShot, Staged, Library}));
  EXPECT_EQ(possible(gpu, host_end(0, 0)), Transports({OneShot, Staged, Library}));
  EXPECT_EQ(possible(host_end(0, 0), host_end(1, 1)), Transports({Pack, Library}));
  PathEnd managed = gpu;
  managed.memory = MemoryKind::Managed;
  EXPECT_EQ(possible(managed, managed), Transports());
}

TEST(ExchangeModel, a_part_that_was_not_measured_is_named) {
  const Job job(3);
  const auto names = [](const Prediction& prediction, const std::string& what) {
    return std::ranges::find(prediction.left_out, what) != prediction.left_out.end();
  };
  EXPECT_TRUE(model().predict(job.transfers).left_out.empty());
  const Prediction no_network = model_without("mpi/net/pairs").predict(job.transfers);
  EXPECT_FALSE(no_network.seconds);
  EXPECT_TRUE(names(no_network, "staged over other node: mpi/net/pairs"));
  for (std::size_t i = 0; i < job.transfers.size(); ++i) {
    const bool far = link_of(job.transfers[i].path) == PathLink::OtherNode;
    EXPECT_EQ(no_network.transports[i].has_value(), !far);
  }
  const Prediction no_aware = model_without("mpi/net/device").predict(job.transfers);
  EXPECT_TRUE(no_aware.seconds);
  EXPECT_EQ(no_aware.left_out, std::vector<std::string>{"device over other node: mpi/net/device"});
  const Prediction forced =
      model_without("gpu/fan/egress").predict(job.transfers, Transport::Engine);
  EXPECT_FALSE(forced.seconds);
  EXPECT_EQ(forced.left_out, std::vector<std::string>{"engine over peer GPU: gpu/fan/egress"});
}

TEST(ExchangeModel, without_any_one_part_the_answer_is_whole_or_says_what_lacks) {
  std::vector<PlannedTransfer> transfers = Job(1).transfers;
  transfers.resize(26);
  for (const auto& [from, to] :
       {std::pair(host_end(50, 0), host_end(51, 0)), std::pair(host_end(50, 0), host_end(52, 1)),
        std::pair(host_end(50, 0), host_end(50, 0)), std::pair(gpu_end(0, 0, 0), host_end(50, 0)),
        std::pair(host_end(50, 0), gpu_end(60, 7, 0))})
    transfers.push_back({{from, to}, {kMi, 64, 128}});
  std::set<std::string> parts;
  for (const Result& result : summit::profile().results) parts.insert(result.name);
  for (const std::string& part : parts) {
    const ExchangeModel predicts = model_without(part);
    for (int forced = -1; forced < kTransports; ++forced) {
      const auto transport =
          forced < 0 ? std::nullopt : std::optional(static_cast<Transport>(forced));
      const Prediction prediction = predicts.predict(transfers, transport);
      if (prediction.seconds) {
        EXPECT_GT(*prediction.seconds, 0) << part;
      } else {
        EXPECT_FALSE(prediction.left_out.empty()) << part;
      }
    }
  }
  const Prediction nothing = ExchangeModel(Profile(), summit::kMpi).predict(transfers);
  EXPECT_FALSE(nothing.seconds);
  EXPECT_FALSE(nothing.left_out.empty());
}

TEST(ExchangeModel, doubtful_results_count_as_not_measured) {
  const Job job(1);
  const auto transfers = std::span(job.transfers).first(26);
  std::set<std::string> names;
  for (const Result& result : summit::profile().results) names.insert(result.name);
  for (const std::string& name : names) {
    // One point of each part, and then all of them.
    for (const bool all : {false, true}) {
      const auto with = [&](double absurd) {
        Profile profile = summit::profile();
        for (Result& result : profile.results) {
          if (result.name != name) continue;
          result.doubtful = "other processes used 2.0 of 2 CPUs";
          result.median = absurd;
          if (!all) break;
        }
        return ExchangeModel(profile, summit::kMpi).predict(transfers);
      };
      const Prediction fast = with(1e-15);
      const Prediction slow = with(1e3);
      EXPECT_EQ(fast.transports, slow.transports) << name;
      EXPECT_EQ(fast.left_out, slow.left_out) << name;
      EXPECT_EQ(fast.seconds, slow.seconds) << name;
      if (!all) continue;
      const Prediction without = model_without(name).predict(transfers);
      EXPECT_EQ(fast.transports, without.transports) << name;
      EXPECT_EQ(fast.seconds, without.seconds) << name;
    }
  }
}

TEST(ExchangeModel, what_is_no_transfer_is_refused) {
  const ExchangeModel predicts = model();
  const auto predict = [&](PlannedTransfer transfer) {
    return predicts.predict(std::vector<PlannedTransfer>{transfer});
  };
  const PathEnd gpu = gpu_end(0, 0, 0);
  EXPECT_THROW(predict(dense(gpu, gpu, 0)), InvalidArgument);
  EXPECT_THROW(predict({{gpu, gpu}, {64, 0, 0}}), InvalidArgument);
  EXPECT_THROW(predict(dense(gpu, gpu_end(1, 0, -1), 64)), InvalidArgument);
  EXPECT_THROW(predict(dense(gpu, host_end(-1, 0), 64)), InvalidArgument);
  EXPECT_THROW(predict(dense(gpu, host_end(1, -1), 64)), InvalidArgument);
}

}  // namespace
}  // namespace strake::machine
