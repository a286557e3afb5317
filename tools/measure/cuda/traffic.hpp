/// \file  Building blocks of most benchmarks: bytes that must get from one buffer to another, and
/// kernels that load and store memory beyond their device: a peer's, or mapped host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "measure/case.hpp"
#include "measure/cuda/hold.hpp"
#include "measure/cuda/memory.hpp"

namespace strake::measure::cuda {

/// Two buffers that an operation moves all bytes between, and whether it did. Copies share them.
struct Move {
  SharedBuffer to;
  SharedBuffer from;
  std::uint64_t seed = 0;

  Move(Where to_where, Where from_where, std::int64_t bytes, std::uint64_t pattern)
      : to(make_buffer(to_where, bytes)), from(make_buffer(from_where, bytes)), seed(pattern) {
    from->fill(seed);
    to->fill(~seed);
  }
  void verify(const std::string& what) const {
    to->expect(seed, what);
    to->fill(~seed);  // what is there already would prove nothing the next time
  }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(to->bytes()); }
};

/// A lane that copies by the runtime's cudaMemcpyAsync, issued by `device`.
inline Lane copy_lane(int device, const Move& move) {
  return {device, [move](cudaStream_t stream) {
            check(cudaMemcpyAsync(move.to->data(), move.from->data(), move.size(),
                                  cudaMemcpyDefault, stream));
          }};
}

/// The moves' lanes, held together, and all of their data looked at.
inline std::unique_ptr<Instance> held_moves(std::vector<Lane> lanes, std::vector<Move> moves,
                                            std::string what, HeldOptions options = {}) {
  return held(
      std::move(lanes),
      [moves = std::move(moves), what = std::move(what)] {
        for (const Move& move : moves) move.verify(what);
      },
      std::move(options));
}

/// A lane and how its data is looked at.
struct Task {
  Lane lane;
  std::function<void()> verify;
};
/// The tasks at the same time.
std::unique_ptr<Instance> together(std::vector<Task> tasks, HeldOptions options = {});

/// \{ Kernels of `device`, one of `parts` that share it; `remote` is readable and writable for
/// them. Bytes: a multiple of 16.
Task read_task(int device, Where remote, std::int64_t bytes, int parts = 1);
Task write_task(int device, Where remote, std::int64_t bytes, int parts = 1);
/// Copies from `from` to `to`, one of which is on `device`.
std::unique_ptr<Instance> make_kernel_copy(int device, Where to, Where from, std::int64_t bytes);
/// A lane with such a copy: one of `parts` kernels that share the device.
Lane kernel_lane(int device, const Move& move, int parts);
/// \}

}  // namespace strake::measure::cuda
