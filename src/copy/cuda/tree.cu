/// \file  Any layout <-> any layout, one copy or a batch: each thread finds its word in the tables.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

struct TreeArguments {
  Side to;
  Side from;
  std::byte* to_base;
  const std::byte* from_base;
  std::int64_t first;
  std::int64_t end;
};

__device__ __forceinline__ std::int64_t offset_in(const Side& side, std::int64_t p) {
  if (side.root.kind == STRAKE_BOX && side.root.count == 0) return side.root.offset + p;
  return strake_locate(&side.root, side.tree, p).offset;
}

template <int Log2, int PerThread>
__device__ __forceinline__ void move_tree_tile(const Side& to, const Side& from, std::byte* to_base,
                                               const std::byte* from_base, std::int64_t first,
                                               std::int64_t end) {
  move_tile<Log2, PerThread>(
      first, end, false,
      [&](std::int64_t word) { return from_base + offset_in(from, word << Log2); },
      [&](std::int64_t word) { return to_base + offset_in(to, word << Log2); });
}

template <int Log2, int PerThread>
__global__ void __launch_bounds__(kThreads)
    tree_kernel(const __grid_constant__ TreeArguments a, const __grid_constant__ Signal signal) {
  const std::int64_t first =
      a.first + static_cast<std::int64_t>(blockIdx.x) * (PerThread * kThreads);
  move_tree_tile<Log2, PerThread>(a.to, a.from, a.to_base, a.from_base, first, a.end);
  raise_signal(signal);
}

template <int Items>
struct BatchArguments {
  BatchItem items[Items];
  int count;
};

template <int Items>
__global__ void __launch_bounds__(kThreads)
    batch_kernel(const __grid_constant__ BatchArguments<Items> a,
                 const __grid_constant__ Signal signal) {
  const auto tile = static_cast<std::int32_t>(blockIdx.x);
  int lo = 0;
  int hi = a.count - 1;
  while (lo < hi) {
    const int mid = (lo + hi + 1) >> 1;
    if (a.items[mid].first_tile <= tile) {
      lo = mid;
    } else {
      hi = mid - 1;
    }
  }
  const BatchItem& item = a.items[lo];
  const std::int64_t first = static_cast<std::int64_t>(tile - item.first_tile) * kBatchTileWords;
  constexpr int kPerThread = kBatchTileWords / kThreads;
  switch (item.word_log2) {
    case 4:
      move_tree_tile<4, kPerThread>(*item.to, *item.from, item.to_base, item.from_base, first,
                                    item.words);
      break;
    case 3:
      move_tree_tile<3, kPerThread>(*item.to, *item.from, item.to_base, item.from_base, first,
                                    item.words);
      break;
    case 2:
      move_tree_tile<2, kPerThread>(*item.to, *item.from, item.to_base, item.from_base, first,
                                    item.words);
      break;
    case 1:
      move_tree_tile<1, kPerThread>(*item.to, *item.from, item.to_base, item.from_base, first,
                                    item.words);
      break;
    default:
      move_tree_tile<0, kPerThread>(*item.to, *item.from, item.to_base, item.from_base, first,
                                    item.words);
  }
  raise_signal(signal);
}

template <int Items>
cudaError_t start_batch(const BatchItem* items, int count, std::int32_t tiles, const Signal& signal,
                        const Stream& stream) {
  BatchArguments<Items> arguments;
  for (int i = 0; i < count; ++i) arguments.items[i] = items[i];
  arguments.count = count;
  return start_kernel(batch_kernel<Items>, static_cast<unsigned>(tiles), stream, arguments, signal);
}

// The common case, neighbours of a grid cell, fits a small table: parameters cost launch time by
// their size.
constexpr int kSmallBatchItems = 64;

}  // namespace

cudaError_t launch_tree(const TreeLaunch& launch, Unroll unroll, const Signal& signal,
                        const Stream& stream) {
  const TreeArguments arguments{launch.to,
                                launch.from,
                                launch.to_base,
                                launch.from_base,
                                launch.begin >> launch.word_log2,
                                launch.end >> launch.word_log2};
  const std::int64_t words = arguments.end - arguments.first;
  return with_word(launch.word_log2, [&]<int Log2>() {
    return unroll.words_per_thread > 1
               ? start_kernel(tree_kernel<Log2, 2>, blocks_for(words, 2), stream, arguments, signal)
               : start_kernel(tree_kernel<Log2, 1>, blocks_for(words, 1), stream, arguments,
                              signal);
  });
}

cudaError_t launch_batch(const BatchItem* items, int count, std::int32_t tiles,
                         const Signal& signal, const Stream& stream) {
  return count <= kSmallBatchItems
             ? start_batch<kSmallBatchItems>(items, count, tiles, signal, stream)
             : start_batch<kBatchItems>(items, count, tiles, signal, stream);
}

}  // namespace strake::cuda
