/// \file  Kernels that the benchmarks compare with: each written for its one case, all constants
/// known to the compiler.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// One way to write the kernel of a case: how many words a thread moves, how many threads a block
/// has.
struct HandWritten {
  int words_per_thread;
  int threads;
  cudaError_t (*launch)(std::byte* dense, std::byte* strided, std::int64_t blocks,
                        cudaStream_t stream);
};
/// The ways for blocks of `block_bytes` at pitch max(2 * block, 64). Empty for other lengths.
std::vector<HandWritten> hand_written(int block_bytes, bool pack);

/// Holds the stream until `*release` (mapped host memory) is not zero, for two seconds at most.
cudaError_t launch_hold(const volatile int* release, cudaStream_t stream);
/// A kernel that does nothing.
cudaError_t launch_empty(cudaStream_t stream);
/// Reads one 4-byte word in every `pitch` bytes.
cudaError_t launch_touch(const std::byte* data, std::int64_t pitch, std::int64_t touches,
                         unsigned* sink, cudaStream_t stream);
/// \{ Reads, or writes, one byte at each of the listed offsets (device memory), and that is all:
/// what the memory takes for a list.
cudaError_t launch_touch_list(const std::byte* data, const std::int64_t* offsets,
                              std::int64_t touches, unsigned* sink, cudaStream_t stream);
cudaError_t launch_write_list(std::byte* data, const std::int64_t* offsets, std::int64_t touches,
                              cudaStream_t stream);
/// \}
/// Writes blocks of 16 << block_log2 bytes, `pitch` apart, and reads nothing.
cudaError_t launch_fill_blocks(std::byte* data, int block_log2, std::int64_t pitch,
                               std::int64_t blocks, cudaStream_t stream);
/// Reads everything, 16 bytes at a time.
cudaError_t launch_read(const std::byte* data, std::int64_t bytes, unsigned* sink,
                        cudaStream_t stream);

}  // namespace bench
