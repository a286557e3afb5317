/// \file  The kernels of the benchmarks, as launchers. Plain C++, so that callers are ordinary
/// sources. All run on the current device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace strake::measure::cuda {

/// \{ Patterns: byte i of pattern `seed`, on the host and on the device.
[[nodiscard]] std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t word) noexcept;
cudaError_t launch_fill(std::byte* to, std::int64_t bytes, std::uint64_t seed, cudaStream_t stream);
/// \}

/// Where packed byte p lies: block p / block begins at offsets[..], or at a multiple of the pitch.
struct Map {
  std::int64_t block = 0;                 ///< 0: dense, byte p lies at p
  std::int64_t pitch = 0;                 ///< where offsets is null
  const std::int64_t* offsets = nullptr;  ///< device memory
};
/// Counts in `wrong` (zeroed by the caller) the p below `bytes` where the byte that `data_map`
/// gives is not the pattern's byte that `pattern_map` gives.
cudaError_t launch_check(const std::byte* data, std::int64_t bytes, Map data_map,
                         std::uint64_t seed, Map pattern_map, unsigned long long* wrong,
                         cudaStream_t stream);

/// Spins until *gate (mapped host memory) is not 0 or `timeout_ns` have passed.
cudaError_t launch_hold(const volatile std::uint32_t* gate, std::uint64_t timeout_ns,
                        cudaStream_t stream);
/// A kernel without work that takes 0, 1, 256 or 4096 bytes of parameters.
cudaError_t launch_nothing(int parameter_bytes, cudaStream_t stream);
/// c = a + b for `count` floats, one a thread: fills every multiprocessor.
cudaError_t launch_add(float* c, const float* a, const float* b, std::int64_t count,
                       cudaStream_t stream);

/// \{ Bytes are a multiple of 16, addresses too. All multiprocessors take part, with 1 / `parts` of
/// their threads: as many such kernels run side by side.
/// Loads all and keeps nothing; where `sink` is given, xors all words into it.
cudaError_t launch_read(const void* from, std::int64_t bytes, std::uint64_t* sink, int parts,
                        cudaStream_t stream);
/// Stores pattern `seed`.
cudaError_t launch_write(void* to, std::int64_t bytes, std::uint64_t seed, int parts,
                         cudaStream_t stream);
cudaError_t launch_copy(void* to, const void* from, std::int64_t bytes, int parts,
                        cudaStream_t stream);
/// \}

/// Adds 1 to the first word of each `page` bytes.
cudaError_t launch_touch(std::byte* data, std::int64_t bytes, std::int64_t page,
                         cudaStream_t stream);

/// \{ The first word of each `pitch` bytes: loads it (xors it into `sink` where given) or stores
/// `value`.
cudaError_t launch_read_words(const void* from, std::int64_t bytes, std::int64_t pitch,
                              unsigned* sink, cudaStream_t stream);
cudaError_t launch_write_words(void* to, std::int64_t bytes, std::int64_t pitch, unsigned value,
                               cudaStream_t stream);
/// \}

/// Follows `steps` links from *at, one thread, and leaves the last in *at (device memory).
cudaError_t launch_chase(const std::uint64_t* ring, std::int64_t steps, std::uint64_t* at,
                         cudaStream_t stream);

/// Each of `blocks` x `threads` adds 1 `repeats` times by atomics of system scope to counter
/// (thread number modulo `counters`), `pitch` bytes apart, and needs each answer before the next.
cudaError_t launch_atomics(std::byte* counters_at, int counters, int pitch, std::int64_t repeats,
                           int blocks, int threads, unsigned* sink, cudaStream_t stream);

/// One side of a game of flags: waits for 2 i + first in *own, then stores 2 i + first + 1 to
/// *other, `rounds` times. Gives up after `timeout_ns` and then sets *failed.
struct Flags {
  volatile std::uint32_t* own = nullptr;
  volatile std::uint32_t* other = nullptr;
  unsigned* failed = nullptr;
};
cudaError_t launch_flags(Flags flags, std::uint32_t first, std::uint32_t rounds,
                         std::uint64_t timeout_ns, cudaStream_t stream);

}  // namespace strake::measure::cuda
