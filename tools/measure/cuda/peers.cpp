/// \file  Between two devices: explicit copies with and without peer access, zero-copy, and kernels
/// that pull and push.
#include "measure/cuda/cases.hpp"
#include "measure/cuda/links.hpp"
#include "measure/cuda/move.hpp"
#include "measure/cuda/traffic.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

constexpr std::int64_t kSizes[] = {64, KiB, 16 * KiB, 256 * KiB, 4 * MiB, 64 * MiB, GiB};
constexpr std::int64_t kQuickSize = 64 * MiB;

/// Both devices reach each other from now on. \throws Unsupported
void connect(const Pair& pair) {
  if (!can_reach(pair.from, pair.to) || !can_reach(pair.to, pair.from)) {
    throw Unsupported("devices " + pair.name() + " have no peer access");
  }
  set_peer_access(pair.from, pair.to, true);
  set_peer_access(pair.to, pair.from, true);
}

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

std::unique_ptr<Instance> make_copies(const Pair& pair, std::int64_t bytes, bool both_ways,
                                      bool peer_access) {
  std::shared_ptr<Apart> apart;
  if (peer_access) {
    connect(pair);
  } else {
    apart = std::make_shared<Apart>(pair);
  }
  const auto lane = [apart](const Pair& way, const Move& move) -> Lane {
    // The device that holds the source issues the copy.
    return {way.from, [apart, way, move](cudaStream_t stream) {
              check(cudaMemcpyPeerAsync(move.to->data(), way.to, move.from->data(), way.from,
                                        move.size(), stream));
            }};
  };
  const Where first{Kind::Device, pair.from};
  const Where second{Kind::Device, pair.to};
  std::vector<Move> moves = {Move(second, first, bytes, 1)};
  std::vector<Lane> lanes = {lane(pair, moves[0])};
  if (both_ways) {
    moves.emplace_back(first, second, bytes, 2);
    lanes.push_back(lane({pair.to, pair.from}, moves[1]));
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
  if (!in_full(pair)) return;
  // Staged by the driver in so many steps that larger ones fill the queue by themselves.
  if (bytes > 64 * MiB) return;
  put("gpu/no-peer/" + pair.name(), false, false);
  put("gpu/no-peer/" + pair.name() + "/both-ways", true, false);
}

void add_kernels(Cases& cases, const Pair& pair, std::int64_t bytes, bool quick) {
  const double limit = peer_link(pair.from, pair.to);
  const auto put = [&](const std::string& name, int ways, Make make) {
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
  put(zero_copy + "/read", 1, [=] { return make_read(here, far, bytes); });
  put(zero_copy + "/write", 1, [=] { return make_write(here, far, bytes); });
  put(zero_copy + "/read/both-ways", 2,
      [=] { return make_both_read(here, far, there, near, bytes); });
  put(zero_copy + "/write/both-ways", 2,
      [=] { return make_both_write(here, far, there, near, bytes); });
  put(kernel + "/pull", 1, [=] { return make_kernel_copy(there, far, near, bytes); });
  put(kernel + "/push", 1, [=] { return make_kernel_copy(here, far, near, bytes); });
}

}  // namespace

void add_peer_copies(Cases& cases) {
  for (const Pair& pair : all_pairs()) {
    if (!in_full(pair)) {
      for (const std::int64_t bytes : {MiB, kQuickSize}) {
        add_copies(cases, pair, bytes, bytes == kQuickSize && pair.from == 0);
      }
      continue;
    }
    for (const std::int64_t bytes : kSizes) {
      add_copies(cases, pair, bytes, bytes == kQuickSize);
      add_kernels(cases, pair, bytes, bytes == kQuickSize);
    }
  }
}

}  // namespace strake::measure::cuda
