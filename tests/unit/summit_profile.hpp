/// \file  A made-up profile of a machine like Summit, with round numbers: nodes of 6 GPUs, 3 to a
/// socket, NVLink within these, the sockets' bus between them. Nothing in it was measured.
#pragma once

#include <cstdint>
#include <string>

#include "machine/profile.hpp"

namespace strake::machine::summit {

inline constexpr const char* kMpi = "Some MPI 1.2";
inline constexpr int kGpus = 6;
inline constexpr int kPerSocket = 3;
// Bytes per second.
inline constexpr double kGB = 1e9;
inline constexpr double kNvlink = 50 * kGB;    // of a pair of GPUs, one way
inline constexpr double kBus = 30 * kGB;       // likewise, on different sockets
inline constexpr double kFan = 80 * kGB;       // of one GPU, to all others
inline constexpr double kHostLink = 40 * kGB;  // of a GPU
inline constexpr double kOneShot = 10 * kGB;
inline constexpr double kDevice = 400 * kGB;  // copied within a GPU's memory
inline constexpr double kCpuPack = 8 * kGB;  // in host memory, by one rank; short blocks: a quarter
inline constexpr double kMessages = 12 * kGB;  // of one rank
inline constexpr double kDeviceMessages = 8 * kGB;
inline constexpr double kNetwork = 23 * kGB;  // of a node
inline constexpr double kNodeMemory = 60 * kGB;
// Seconds.
inline constexpr double kLaunch = 10e-6;
inline constexpr double kEngineCall = 2e-6;
inline constexpr double kCopy = 10e-6;
inline constexpr double kMessage = 2e-6;

/// Puts results into a profile.
class SummitResults {
 public:
  void put(const std::string& name, std::int64_t bytes, std::int64_t block, std::int64_t count,
           double median) {
    Result& result = made.results.emplace_back();
    result.name = name;
    if (name.starts_with("mpi/") || name.starts_with("mem/")) result.mpi = kMpi;
    result.bytes = bytes;
    result.block = block;
    result.pitch = 2 * block;
    result.count = count;
    result.median = median;
  }
  void dense(const std::string& name, double fixed, double rate) {
    for (std::int64_t bytes = 1; bytes <= std::int64_t{1} << 30; bytes *= 4)
      put(name, bytes, 0, 0, fixed + static_cast<double>(bytes) / rate);
  }
  void box(const std::string& name, double fixed, std::int64_t block, double rate) {
    for (std::int64_t bytes = 4096; bytes <= std::int64_t{1} << 26; bytes *= 4)
      put(name, bytes, block, 0, fixed + static_cast<double>(bytes) / rate);
  }
  void call(const char* name, double seconds) { put(name, 0, 0, 1, seconds); }
  void together(const std::string& name, int count, std::int64_t bytes, double rate) {
    put(name, bytes, 0, count, static_cast<double>(bytes * count) / rate);
  }

  Profile made;
};

/// One GPU, and what a CPU packs.
inline void put_copies(SummitResults& results) {
  results.call("gpu/call/launch-and-wait/stream", kLaunch);
  results.call("gpu/mail/own", kLaunch);
  results.dense("gpu/kernel/local", kLaunch, kDevice);
  for (const std::string operation : {"pack", "unpack"}) {
    for (const std::int64_t block : {8, 64, 1024, 4096}) {
      results.box(operation + "/device/box", kLaunch, block, block < 64 ? kDevice / 8 : kDevice);
      results.box(operation + "/one-shot/box", kLaunch, block, kOneShot);
      results.box(operation + "/cpu/box", 1e-9, block, block < 64 ? kCpuPack / 4 : kCpuPack);
    }
  }
  results.dense("copy/device-to-pinned", kCopy, kHostLink);
  results.dense("copy/pinned-to-device", kCopy, kHostLink);
}

/// The links between the GPUs of a node.
inline void put_links(SummitResults& results) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  for (int from = 0; from < kGpus; ++from) {
    for (int to = 0; to < kGpus; ++to) {
      if (from == to) continue;
      const std::string pair = std::to_string(from) + "-" + std::to_string(to);
      const double rate = from / kPerSocket == to / kPerSocket ? kNvlink : kBus;
      results.dense("gpu/peer/" + pair, kEngineCall, rate);
      // Kernels: the first pair of each kind of link.
      if (from != 0 || (to != 1 && to != kPerSocket)) continue;
      results.dense("gpu/peer/" + pair + "/pull", kLaunch, rate);
      results.dense("gpu/peer/" + pair + "/push", kLaunch, rate);
      for (const char* method : {"device", "engine", "one-shot"})
        results.put("gpu/mail/" + pair + "/" + method, 0, 0, 1, 2 * kLaunch);
      // 32 bytes are fetched for a word.
      results.put("gpu/fetch/peer/" + pair + "/read", 4 * kMi, 4, 0,
                  static_cast<double>(32 * kMi) / rate);
    }
  }
  // The bytes of a fan are those of all its peers.
  for (const char* fan :
       {"gpu/fan/egress", "gpu/fan/ingress", "gpu/fan/egress/push", "gpu/fan/ingress/push"}) {
    results.put(fan, 64 * kMi, 0, 1, static_cast<double>(64 * kMi) / kNvlink);
    results.put(fan, 5 * 64 * kMi, 0, 5, static_cast<double>(5 * 64 * kMi) / kFan);
  }
}

inline Profile profile() {
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  SummitResults results;
  put_copies(results);
  put_links(results);
  results.dense("mpi/net/packed", kMessage, kMessages);
  results.dense("mpi/net/device", 2 * kMessage, kDeviceMessages);
  results.together("mpi/net/pairs", 1, 4 * kMi, kMessages);
  results.together("mpi/net/pairs", kGpus, 4 * kMi, kNetwork);
  results.together("mpi/node/pairs", kGpus, 4 * kMi, kNodeMemory);
  for (const char* memory : {"mem/shared", "mem/cma"}) {
    results.dense(memory, 1e-9, 10 * kGB);
    for (const std::int64_t block : {8, 64, 4096})
      results.box(memory, 1e-9, block, block < 64 ? kGB : 10 * kGB);
  }
  results.dense("copy/cpu/cached", 1e-9, 20 * kGB);
  return results.made;
}

}  // namespace strake::machine::summit
