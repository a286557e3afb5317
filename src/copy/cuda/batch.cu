/// \file  Many different copies in one launch. Of n warps each moves every n-th tile, whose copy it
/// finds in a table.
#include "copy/cuda/batch_code.cuh"

namespace strake::cuda {
namespace {

template <int Slots>
struct BatchArguments {
  const strake_batch_copy* copies;
  const strake_batch_tile* tiles;
  std::uint32_t tile_count;
  std::int32_t tile_log2;
  std::byte* bases[Slots];
};

template <int Dims, bool Any, int Slots>
__global__ void __launch_bounds__(kThreads, Any ? kBlocksOfAny : kBlocksOfBoxes)
    batch_kernel(const __grid_constant__ BatchArguments<Slots> a,
                 const __grid_constant__ Signal signal) {
  std::uint32_t number = blockIdx.x * kWarps + threadIdx.x / kWarp;
  strake_batch_tile next = number < a.tile_count ? a.tiles[number] : strake_batch_tile{0, 0};
  wait_for_work_before();
  while (number < a.tile_count) {
    const strake_batch_tile tile = next;
    number += gridDim.x * kWarps;
    if (number < a.tile_count) next = a.tiles[number];
    move_numbered<Dims, Any>(a.copies[tile.copy], tile.index, a.tile_log2, a.bases);
  }
  raise_signal(signal);
}

// Parameters cost launch time by their size.
constexpr int kFewTogether = 8;

/// A batch of two slots among others.
struct Joined {
  const strake_batch_copy* copies;
  const strake_batch_tile* tiles;
  std::byte* bases[2];
  std::uint32_t end;  ///< of its tiles, in the numbers of all
  std::int32_t tile_log2;
};

template <int Batches>
struct TogetherArguments {
  Joined batches[Batches];
  std::uint32_t tile_count;
};

template <int Dims, bool Any, int Batches>
__global__ void __launch_bounds__(kThreads, Any ? kBlocksOfAny : kBlocksOfBoxes)
    together_kernel(const __grid_constant__ TogetherArguments<Batches> a,
                    const __grid_constant__ Signal signal) {
  std::uint32_t number = blockIdx.x * kWarps + threadIdx.x / kWarp;
  wait_for_work_before();
  std::uint32_t begin = 0;
  for (int i = 0; number < a.tile_count; number += gridDim.x * kWarps) {
    for (; number >= a.batches[i].end; ++i) begin = a.batches[i].end;
    const Joined& batch = a.batches[i];
    const strake_batch_tile tile = batch.tiles[number - begin];
    move_numbered<Dims, Any>(batch.copies[tile.copy], tile.index, batch.tile_log2, batch.bases);
  }
  raise_signal(signal);
}

template <int Slots>
cudaError_t start_batch(const BatchLaunch& launch, const Signal& signal,
                        const LaunchTarget& target) {
  BatchArguments<Slots> arguments;
  arguments.copies = launch.copies;
  arguments.tiles = launch.tiles;
  arguments.tile_count = launch.tile_count;
  arguments.tile_log2 = launch.tile_log2;
  for (int i = 0; i < launch.slots; ++i) arguments.bases[i] = launch.bases[i];
  const auto blocks = static_cast<unsigned>(batch_blocks(launch, target));
  const auto kernel = launch.any             ? batch_kernel<STRAKE_BOX_DIMS, true, Slots>
                      : launch.box_dims <= 3 ? batch_kernel<3, false, Slots>
                                             : batch_kernel<STRAKE_BOX_DIMS, false, Slots>;
  return start_kernel(kernel, blocks, target, arguments, signal);
}

template <int Batches>
cudaError_t start_together(Items<const BatchLaunch> launches, bool any, unsigned blocks,
                           const Signal& signal, const LaunchTarget& target) {
  TogetherArguments<Batches> arguments;
  arguments.tile_count = 0;
  Joined* joined = arguments.batches;
  for (const BatchLaunch& launch : launches) {
    arguments.tile_count += launch.tile_count;
    *joined++ = {launch.copies,
                 launch.tiles,
                 {launch.bases[0], launch.bases[1]},
                 arguments.tile_count,
                 launch.tile_log2};
  }
  const auto kernel =
      any ? together_kernel<STRAKE_BOX_DIMS, true, Batches> : together_kernel<3, false, Batches>;
  return start_kernel(kernel, blocks, target, arguments, signal);
}

bool needs_any(Items<const BatchLaunch> launches) {
  for (const BatchLaunch& launch : launches) {
    if (launch.any || launch.box_dims > 3) return true;
  }
  return false;
}

}  // namespace

std::int64_t batch_blocks(const BatchLaunch& launch, const LaunchTarget& target) noexcept {
  return blocks_of(launch.tile_count, launch.any, target);
}

cudaError_t launch_batch(const BatchLaunch& launch, const Signal& signal,
                         const LaunchTarget& target) {
  // Parameters cost launch time by their size.
  constexpr int kFew = 16;
  constexpr int kSome = 256;
  if (launch.slots <= kFew) return start_batch<kFew>(launch, signal, target);
  if (launch.slots <= kSome) return start_batch<kSome>(launch, signal, target);
  return start_batch<kBatchSlots>(launch, signal, target);
}

std::int64_t together_blocks(Items<const BatchLaunch> launches,
                             const LaunchTarget& target) noexcept {
  std::int64_t tiles = 0;
  for (const BatchLaunch& launch : launches) tiles += launch.tile_count;
  return blocks_of(tiles, needs_any(launches), target);
}

cudaError_t launch_together(Items<const BatchLaunch> launches, const Signal& signal,
                            const LaunchTarget& target) {
  const bool any = needs_any(launches);
  const auto blocks = static_cast<unsigned>(together_blocks(launches, target));
  if (launches.size <= kFewTogether)
    return start_together<kFewTogether>(launches, any, blocks, signal, target);
  return start_together<kMostTogether>(launches, any, blocks, signal, target);
}

cudaError_t load_together(const LaunchTarget& target) {
  const Items<const BatchLaunch> none;
  cudaError_t code = cudaSuccess;
  for (const bool any : {false, true}) {
    if (code == cudaSuccess) code = start_together<kFewTogether>(none, any, 1, {}, target);
    if (code == cudaSuccess) code = start_together<kMostTogether>(none, any, 1, {}, target);
  }
  return code;
}

}  // namespace strake::cuda
