/// \file  The benchmarks by theme. Each function appends its cases; nothing is allocated until a
/// case is made.
#pragma once

#include <string>
#include <vector>

#include "measure/case.hpp"

namespace strake::measure::cuda {

/// Two devices of this machine, from the first to the second.
struct Pair {
  int from = 0;
  int to = 0;
  [[nodiscard]] std::string name() const { return std::to_string(from) + "-" + std::to_string(to); }
};
/// All pairs of different devices; empty with one device.
[[nodiscard]] std::vector<Pair> all_pairs();
/// The first pair of each kind of link: these get every benchmark. The others get the copies that a
/// bandwidth matrix needs.
[[nodiscard]] const std::vector<Pair>& full_pairs();
[[nodiscard]] bool in_full(const Pair& pair);
/// Both devices reach each other from now on. \throws Unsupported
void connect(const Pair& pair);

void add_host_copies(Cases& cases);      ///< pinned, write-combined, NUMA-pinned; local
void add_pageable_copies(Cases& cases);  ///< pageable, NUMA-pageable
void add_zero_copy(Cases& cases);        ///< mapped host memory; custom kernels
void add_peer_copies(Cases& cases);      ///< explicit, zero-copy and kernels between devices
void add_managed(Cases& cases);          ///< on demand and by prefetch
void add_strided_copies(Cases& cases);   ///< 2D, 3D, 3D-peer
void add_calls(Cases& cases);            ///< what calls of the runtime cost the CPU
void add_graphs(Cases& cases);           ///< instantiate and launch
void add_ipc(Cases& cases);              ///< open and close memory of another process
void add_pack(Cases& cases);             ///< Strake's own device back end
void add_cache_states(Cases& cases);     ///< device to pinned, target in cache or flushed
void add_contention(Cases& cases);       ///< packing against kernels and copies
void add_puts(Cases& cases);             ///< rounds of planned exchanges
void add_words(Cases& cases);            ///< fetch granularity, latency, atomics, flags

}  // namespace strake::measure::cuda
