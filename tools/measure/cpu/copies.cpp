// memcpy within a NUMA node and between each two, with the caches as the copy before left them, and
// flushed.
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "../cache.hpp"
#include "../host.hpp"
#include "cpu_cases.hpp"

namespace strake::measure {
namespace {

/// The compiler must take the copied bytes for read.
void keep(const void* data) { asm volatile("" ::"g"(data) : "memory"); }

class Copy final : public Instance {
 public:
  /// From one NUMA node to another, by a thread on the first; or where this thread is.
  Copy(std::int64_t bytes, int from, int to, bool flush)
      : bytes_(static_cast<std::size_t>(bytes)),
        node_(from),
        flush_(flush),
        from_(bytes_, from),
        to_(bytes_, to) {
    // A period that no power of two divides: bytes from a wrong place differ.
    for (std::size_t i = 0; i < bytes_; ++i) from_.data()[i] = static_cast<std::byte>(i % 251);
  }

  double run(std::int64_t iterations) override {
    const OnNumaNode there(node_);
    std::memset(to_.data(), 0xEE, bytes_);  // no byte of the pattern has this value
    const auto once = [&] { copy(); };
    if (!flush_) return time_calls(iterations, once);
    return sum_calls(iterations, [&] {
      flush_cache(from_.data(), bytes_);
      flush_cache(to_.data(), bytes_);
      return time_calls(1, once);
    });
  }

  void verify() override {
    for (std::size_t i = 0; i < bytes_; ++i) {
      if (to_.data()[i] == static_cast<std::byte>(i % 251)) continue;
      throw WrongData(fmt::format("byte {} of {} is {}, not {}", i, bytes_,
                                  static_cast<int>(to_.data()[i]), i % 251));
    }
  }

 private:
  void copy() {
    keep(from_.data());
    std::memcpy(to_.data(), from_.data(), bytes_);
    keep(to_.data());
  }

  std::size_t bytes_;
  int node_;
  bool flush_;
  HostMemory from_;
  HostMemory to_;
};

void add_copy(Cases& cases, const std::string& name, std::int64_t bytes, int from, int to,
              bool flush, bool quick) {
  add(cases, name + (flush ? "/flushed" : "/cached"), bytes, [=] {
    return std::make_unique<Copy>(bytes, from, to, flush);
  }).quick = quick;
}

}  // namespace

void add_memcpy(Cases& cases, std::int64_t memory) {
  const std::vector<bool> states =
      can_flush_cache() ? std::vector<bool>{false, true} : std::vector<bool>{false};
  for (const bool flush : states) {
    for (std::int64_t bytes = kKiB; bytes <= kGiB && 2 * bytes <= memory; bytes *= 4) {
      add_copy(cases, "copy/cpu", bytes, kAnyNode, kAnyNode, flush,
               among({4 * kKiB, 256 * kKiB, 16 * kMiB}, bytes));
    }
  }
  const std::vector<int>& nodes = host().numa_nodes;
  if (nodes.size() < 2) return;
  // Fewer sizes: the number of pairs is the square of that of the nodes.
  for (const int from : nodes) {
    for (const int to : nodes) {
      for (const bool flush : states) {
        for (const std::int64_t bytes : {4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, 256 * kMiB}) {
          if (2 * bytes > memory) continue;
          add_copy(cases, fmt::format("copy/numa/{}-{}", from, to), bytes, from, to, flush,
                   bytes == 16 * kMiB && flush);
        }
      }
    }
  }
}

}  // namespace strake::measure
