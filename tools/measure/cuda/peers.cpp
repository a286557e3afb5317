/// \file  Between two devices: explicit copies with and without peer access, zero-copy, and kernels
/// that pull and push; one device with many.
#include <algorithm>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

constexpr std::int64_t kSizes[] = {64, kKiB, 16 * kKiB, 256 * kKiB, 4 * kMiB, 64 * kMiB, kGiB};
constexpr std::int64_t kQuickSize = 64 * kMiB;

/// Neither reaches the other while it lives: copies go through the host.
class Apart {
 public:
  explicit Apart(const Pair& pair) : pair_(pair) { set(false); }
  ~Apart() {
    try {
      set(true);
    } catch (const Error&) {
      (void)cudaGetLastError();
    }
  }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

 private:
  void set(bool wanted) {
    if (can_reach(pair_.from, pair_.to)) set_peer_access(pair_.from, pair_.to, wanted);
    if (can_reach(pair_.to, pair_.from)) set_peer_access(pair_.to, pair_.from, wanted);
  }
  Pair pair_;
};

/// The device that holds the source issues the copy.
Lane peer_lane(const Move& move) {
  const int to = move.to->device();
  const int from = move.from->device();
  return {from, [=](cudaStream_t stream) {
            check(cudaMemcpyPeerAsync(move.to->data(), to, move.from->data(), from, move.size(),
                                      stream));
          }};
}

std::unique_ptr<Instance> make_copies(const Pair& pair, std::int64_t bytes, bool both_ways,
                                      bool peer_access) {
  std::shared_ptr<Apart> apart;
  if (peer_access) {
    connect(pair);
  } else {
    apart = std::make_shared<Apart>(pair);
  }
  const Where first{Kind::Device, pair.from};
  const Where second{Kind::Device, pair.to};
  std::vector<Move> moves = {Move(second, first, bytes, 1)};
  if (both_ways) moves.emplace_back(first, second, bytes, 2);
  std::vector<Lane> lanes;
  for (const Move& move : moves) {
    Lane lane = peer_lane(move);
    lane.enqueue = [apart, enqueue = std::move(lane.enqueue)](cudaStream_t s) { enqueue(s); };
    lanes.push_back(std::move(lane));
  }
  return held_moves(std::move(lanes), std::move(moves), "copy between devices " + pair.name());
}

void add_copies(Cases& cases, const Pair& pair, std::int64_t bytes, bool quick) {
  const double limit = peer_link(pair.from, pair.to);
  const auto put = [&](const std::string& name, bool both_ways, bool peer_access) {
    const int ways = both_ways ? 2 : 1;
    Case& added = add(cases, name, ways * bytes,
                      [=] { return make_copies(pair, bytes, both_ways, peer_access); });
    added.quick = quick;
    added.limit = peer_access ? ways * limit : 0;  // through the host: which links is not known
  };
  put("gpu/peer/" + pair.name(), false, true);
  if (pair.from < pair.to) put("gpu/peer/" + pair.name() + "/both-ways", true, true);
  if (!in_full(pair) && can_reach(pair.from, pair.to) && can_reach(pair.to, pair.from)) return;
  // Staged by the driver in so many steps that larger ones fill the queue by themselves.
  if (bytes > 64 * kMiB) return;
  put("gpu/no-peer/" + pair.name(), false, false);
  put("gpu/no-peer/" + pair.name() + "/both-ways", true, false);
}

void add_kernels(Cases& cases, const Pair& pair, std::int64_t bytes, bool quick) {
  const double limit = peer_link(pair.from, pair.to);
  const auto put = [&](const std::string& name, int ways, MakeInstance make) {
    Case& added = add(cases, name, ways * bytes, [=] {
      connect(pair);
      return make();
    });
    added.quick = quick;
    added.limit = ways * limit;
  };
  const std::string zero_copy = "gpu/zero-copy/peer/" + pair.name();
  const std::string kernel = "gpu/peer/" + pair.name();
  const int here = pair.from;
  const int there = pair.to;
  const Where near{Kind::Device, here};
  const Where far{Kind::Device, there};
  put(zero_copy + "/read", 1, [=] { return together({read_task(here, far, bytes)}); });
  put(zero_copy + "/write", 1, [=] { return together({write_task(here, far, bytes)}); });
  put(zero_copy + "/read/both-ways", 2, [=] {
    return together({read_task(here, far, bytes), read_task(there, near, bytes)});
  });
  put(zero_copy + "/write/both-ways", 2, [=] {
    return together({write_task(here, far, bytes), write_task(there, near, bytes)});
  });
  put(kernel + "/pull", 1, [=] { return make_kernel_copy(there, far, near, bytes); });
  put(kernel + "/push", 1, [=] { return make_kernel_copy(here, far, near, bytes); });
}

enum class Flow : std::uint8_t { Egress, Ingress };

/// `bytes` between device 0 and each of its first `peers` peers, all at once: by the copy engines
/// of the sources, or by kernels that store to the targets.
std::unique_ptr<Instance> make_fan(Flow flow, int peers, std::int64_t bytes, bool kernels) {
  std::vector<Move> moves;
  std::vector<Lane> lanes;
  for (int peer = 1; peer <= peers; ++peer) {
    connect({0, peer});
    const Where hub{Kind::Device, 0};
    const Where other{Kind::Device, peer};
    const bool out = flow == Flow::Egress;
    const Move& move = moves.emplace_back(out ? other : hub, out ? hub : other, bytes,
                                          static_cast<unsigned>(peer));
    lanes.push_back(kernels ? kernel_lane(move.from->device(), move, out ? peers : 1)
                            : peer_lane(move));
  }
  return held_moves(std::move(lanes), std::move(moves), "copies between device 0 and its peers");
}

void add_fans(Cases& cases) {
  const int most = device_count() - 1;
  for (int peers = 1; peers <= most; peers = peers < most ? std::min(2 * peers, most) : most + 1) {
    double limit = std::min(peers * peer_link(0, 1), all_links(0));
    // Not known where links of several kinds share a device's own.
    for (int peer = 2; peer <= peers; ++peer) {
      if (peer_link(0, peer) != peer_link(0, 1)) limit = 0;
    }
    for (const std::int64_t bytes : {kMiB, 16 * kMiB, kQuickSize}) {
      for (const Flow flow : {Flow::Egress, Flow::Ingress}) {
        for (const bool kernels : {false, true}) {
          Case& added =
              add(cases,
                  std::string("gpu/fan/") + (flow == Flow::Egress ? "egress" : "ingress") +
                      (kernels ? "/push" : ""),
                  peers * bytes, [=] { return make_fan(flow, peers, bytes, kernels); });
          added.count = peers;
          added.quick = peers == most && most > 1 && bytes == kQuickSize && !kernels;
          added.limit = limit;
        }
      }
    }
  }
}

}  // namespace

void add_peer_copies(Cases& cases) {
  for (const Pair& pair : all_pairs()) {
    if (!in_full(pair)) {
      for (const std::int64_t bytes : {kMiB, kQuickSize}) {
        add_copies(cases, pair, bytes, bytes == kQuickSize && pair.from == 0);
      }
      continue;
    }
    for (const std::int64_t bytes : kSizes) {
      add_copies(cases, pair, bytes, bytes == kQuickSize);
      add_kernels(cases, pair, bytes, bytes == kQuickSize);
    }
  }
  add_fans(cases);
}

}  // namespace strake::measure::cuda
