/// \file  libstrake-measure-cuda.so: the GPU's benchmarks for `strake measure`.
#include <algorithm>
#include <set>
#include <tuple>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/machine.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

class CudaPlugin final : public Plugin {
 public:
  std::vector<Case> cases() override {
    Cases cases;
    for (const auto add_theme :
         {add_host_copies, add_pageable_copies, add_zero_copy, add_peer_copies, add_pack, add_puts,
          add_words, add_strided_copies, add_calls, add_graphs, add_ipc, add_cache_states,
          add_contention, add_managed}) {
      add_theme(cases);
    }
    return cases;
  }
  std::string machine() override { return description(); }
};

}  // namespace

std::vector<Pair> all_pairs() {
  const int devices = device_count();
  std::vector<Pair> pairs;
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from != to) pairs.push_back({from, to});
    }
  }
  return pairs;
}

void connect(const Pair& pair) {
  if (!can_reach(pair.from, pair.to) || !can_reach(pair.to, pair.from)) {
    throw Unsupported("devices " + pair.name() + " have no peer access");
  }
  set_peer_access(pair.from, pair.to, true);
  set_peer_access(pair.to, pair.from, true);
}

const std::vector<Pair>& full_pairs() {
  using Link = std::tuple<bool, int, double>;
  // Asked once: with many devices the answers are thousands.
  static const std::vector<Pair> firsts = [] {
    std::set<Link> seen;
    std::vector<Pair> found;
    for (const Pair& between : all_pairs()) {
      int rank = 0;
      check(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, between.from,
                                      between.to));
      const Link link{can_reach(between.from, between.to), rank,
                      peer_link(between.from, between.to)};
      if (seen.insert(link).second) found.push_back(between);
    }
    return found;
  }();
  return firsts;
}

bool in_full(const Pair& pair) {
  return std::any_of(full_pairs().begin(), full_pairs().end(), [&](const Pair& first) {
    return first.from == pair.from && first.to == pair.to;
  });
}

}  // namespace strake::measure::cuda

/// Null where the version differs or no device can be used.
extern "C" __attribute__((visibility("default"))) strake::measure::Plugin*
strake_make_measure_plugin(int version) {
  if (version != strake::measure::kPluginVersion || strake::measure::cuda::device_count() == 0) {
    return nullptr;
  }
  return new strake::measure::cuda::CudaPlugin;
}
