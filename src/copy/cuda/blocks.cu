/// \file  Dense <-> block lists: each thread finds its word's block by one division, or by a search
/// within a tile.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

struct BlocksArguments {
  Side side;
  std::byte* dense;
  std::byte* strided;
  std::int64_t first;
  std::int64_t end;
};

template <int Log2, Direction Way, bool Listed, int PerThread>
__global__ void __launch_bounds__(kThreads) blocks_kernel(const __grid_constant__ BlocksArguments a,
                                                          const __grid_constant__ Signal signal) {
  const std::int64_t first =
      a.first + static_cast<std::int64_t>(blockIdx.x) * (PerThread * kThreads);
  const auto dense = [&](std::int64_t word) { return a.dense + (word << Log2); };
  const auto strided = [&](std::int64_t word) {
    const std::int64_t p = word << Log2;
    const strake_spot spot = Listed ? strake_in_listed(&a.side.root, a.side.tree, p)
                                    : strake_in_blocks(&a.side.root, a.side.tree, p);
    return a.strided + spot.offset;
  };
  if constexpr (Way == Direction::Pack) {
    move_tile<Log2, PerThread>(first, a.end, strided, dense);
  } else {
    move_tile<Log2, PerThread>(first, a.end, dense, strided);
  }
  raise_signal(signal);
}

template <int Log2, Direction Way, bool Listed>
void start_blocks(const BlocksArguments& a, bool wide, const Signal& signal, cudaStream_t stream) {
  const std::int64_t words = a.end - a.first;
  if (wide) {
    blocks_kernel<Log2, Way, Listed, 4><<<blocks_for(words, 4), kThreads, 0, stream>>>(a, signal);
  } else {
    blocks_kernel<Log2, Way, Listed, 1><<<blocks_for(words, 1), kThreads, 0, stream>>>(a, signal);
  }
}

}  // namespace

cudaError_t launch_blocks(const BlocksLaunch& launch, Shape shape, const Signal& signal,
                          cudaStream_t stream) {
  const BlocksArguments arguments{launch.side, launch.dense,
                                  launch.strided + launch.side.root.offset,
                                  launch.begin >> launch.word_log2, launch.end >> launch.word_log2};
  const bool wide = shape.words_per_thread > 1;
  const bool listed = launch.side.root.kind == STRAKE_LISTED;
  with_word(launch.word_log2, [&]<int Log2>() {
    if (launch.direction == Direction::Pack) {
      listed ? start_blocks<Log2, Direction::Pack, true>(arguments, wide, signal, stream)
             : start_blocks<Log2, Direction::Pack, false>(arguments, wide, signal, stream);
    } else {
      listed ? start_blocks<Log2, Direction::Unpack, true>(arguments, wide, signal, stream)
             : start_blocks<Log2, Direction::Unpack, false>(arguments, wide, signal, stream);
    }
  });
  return cudaGetLastError();
}

}  // namespace strake::cuda
