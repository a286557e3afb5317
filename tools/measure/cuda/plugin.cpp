/// \file  libstrake-measure-cuda.so: the GPU's benchmarks for `strake measure`.
#include <algorithm>
#include <tuple>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/links.hpp"
#include "measure/cuda/machine.hpp"

namespace strake::measure::cuda {
namespace {

class CudaPlugin final : public Plugin {
 public:
  std::vector<Case> cases() override {
    Cases cases;
    for (const auto add_theme :
         {add_host_copies, add_pageable_copies, add_zero_copy, add_peer_copies, add_pack, add_words,
          add_strided_copies, add_calls, add_graphs, add_ipc, add_cache_states, add_contention,
          add_managed}) {
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

bool in_full(const Pair& pair) {
  const auto link = [](const Pair& between) {
    int rank = 0;
    check(
        cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, between.from, between.to));
    return std::tuple(can_reach(between.from, between.to), rank,
                      peer_link(between.from, between.to));
  };
  const std::vector<Pair> all = all_pairs();
  const auto first = std::find_if(all.begin(), all.end(),
                                  [&](const Pair& other) { return link(other) == link(pair); });
  return first->from == pair.from && first->to == pair.to;
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
