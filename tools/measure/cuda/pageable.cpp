/// \file  Copies between pageable host memory and a device: the calling thread stages the bytes, so
/// wall time for one direction, and a thread for each where both go on.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"
#include "measure/host.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

std::unique_ptr<Instance> make_one_way(Move move, int node) {
  return timed(
      0,
      [move, node](std::int64_t iterations) {
        const OnNumaNode on_node(node);
        const Stopwatch watch;
        for (std::int64_t i = 0; i < iterations; ++i) {
          check(cudaMemcpy(move.to->data(), move.from->data(), move.size(), cudaMemcpyDefault));
        }
        // The last copy to the device may still be on its way from the staging buffer.
        check(cudaDeviceSynchronize());
        return watch.seconds();
      },
      [move] { move.verify("copy of pageable memory"); });
}

/// Both streams are held until both threads are in their calls, which return only when their bytes
/// are staged.
class BothWays final : public Instance {
 public:
  BothWays(std::int64_t bytes, int node)
      : node_(node),
        moves_{Move({Kind::Device}, {Kind::Pageable, 0, node}, bytes, 1),
               Move({Kind::Pageable, 0, node}, {Kind::Device}, bytes, 2)} {
    gate_.open();
    (void)once();
  }
  double run(std::int64_t iterations) override {
    return sum_calls(iterations, [this] { return once(); });
  }
  void verify() override {
    for (const Move& move : moves_) move.verify("copy of pageable memory, both ways");
  }

 private:
  double once() {
    for (;;) {
      check(cudaSetDevice(0));
      std::atomic<int> calling{0};
      std::atomic<bool> go{false};
      cudaError_t codes[2] = {cudaSuccess, cudaSuccess};
      const auto copy = [&](int i) {
        try {
          const OnNumaNode on_node(node_);
          check(cudaSetDevice(0));
          const Move& move = moves_[i];
          calling.fetch_add(1);
          while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
          calling.fetch_add(1);
          codes[i] = cudaMemcpyAsync(move.to->data(), move.from->data(), move.size(),
                                     cudaMemcpyDefault, streams_[i].get());
        } catch (const Error&) {
          codes[i] = cudaErrorUnknown;
          calling.fetch_add(2);
        }
      };
      std::thread first(copy, 0);
      std::thread second(copy, 1);
      while (calling.load() < 2) std::this_thread::yield();
      const Stopwatch watch;
      gate_.close(streams_[0].get());
      check(cudaEventRecord(start_.get(), streams_[0].get()));
      check(cudaStreamWaitEvent(streams_[1].get(), start_.get(), 0));
      go.store(true, std::memory_order_release);
      while (calling.load() < 4) std::this_thread::yield();
      // Both threads are in their calls. Give them time to reach the stream, without another call:
      // theirs may keep the driver locked until the gate opens.
      const Stopwatch entered;
      while (entered.seconds() < kEnter) {
      }
      const bool was_held = watch.seconds() < gate_.holds();
      gate_.open();
      first.join();
      second.join();
      check(codes[0]);
      check(codes[1]);
      check(cudaEventRecord(end_.get(), streams_[1].get()));
      check(cudaStreamWaitEvent(streams_[0].get(), end_.get(), 0));
      check(cudaEventRecord(stop_.get(), streams_[0].get()));
      check(cudaEventSynchronize(stop_.get()));
      if (was_held) {
        float ms = 0;
        check(cudaEventElapsedTime(&ms, start_.get(), stop_.get()));
        return static_cast<double>(ms) * 1e-3;
      }
      gate_.lengthen();
    }
  }

  static constexpr double kEnter = 10e-6;  // [s] a call reaches its stream within 5 us
  int node_;
  Move moves_[2];
  Gate gate_{0};
  OwnedStream streams_[2] = {OwnedStream(0), OwnedStream(0)};
  OwnedEvent start_{0, true};
  OwnedEvent stop_{0, true};
  OwnedEvent end_{0, false};
};

void add_kind(Cases& cases, const std::string& kind, int node,
              const std::vector<std::int64_t>& sizes, std::int64_t quick_size) {
  const double limit = host_link(0);
  const Where host{Kind::Pageable, 0, node};
  const Where device{Kind::Device};
  for (const std::int64_t bytes : sizes) {
    Case* added = &add(cases, "gpu/copy/" + kind + "-to-device", bytes,
                       [=] { return make_one_way(Move(device, host, bytes, 1), node); });
    added->quick = bytes == quick_size;
    added->limit = limit;
    added = &add(cases, "gpu/copy/device-to-" + kind, bytes,
                 [=] { return make_one_way(Move(host, device, bytes, 2), node); });
    added->quick = bytes == quick_size;
    added->limit = limit;
    if (bytes < 64 * kKiB) continue;  // staged within the call: the two never meet
    added = &add(cases, "gpu/copy/" + kind + "/both-ways", 2 * bytes,
                 [=] { return std::make_unique<BothWays>(bytes, node); });
    added->quick = bytes == quick_size;
    added->limit = 2 * limit;
  }
}

}  // namespace

void add_pageable_copies(Cases& cases) {
  add_kind(cases, "pageable", -1,
           {1, 64, kKiB, 16 * kKiB, 256 * kKiB, 4 * kMiB, 64 * kMiB, 256 * kMiB}, 4 * kMiB);
  for (const int node : host().numa_nodes) {
    add_kind(cases, fmt::format("pageable-node{}", node), node,
             {kKiB, 64 * kKiB, 4 * kMiB, 64 * kMiB}, 0);
  }
}

}  // namespace strake::measure::cuda
