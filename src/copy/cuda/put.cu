/// \file  Rounds of puts between the devices of ranks: each puts packed bytes into the others'
/// staging memory, raises its flags there, and takes what the others have put into its own. All
/// puts of a round go before any wait, and what waits takes few blocks: whatever streams ranks use,
/// and in whatever order, the kernels that others wait for find room.
#include <algorithm>

#include "copy/cuda/batch_code.cuh"

namespace strake::cuda {
namespace {

struct PutTables {
  const strake_batch_copy* copies;
  const strake_batch_tile* tiles;
  std::uint32_t tile_count;
  std::int32_t tile_log2;
};

template <int Slots>
struct PutArguments {
  PutTables put;
  PutTables own;
  PutTables take;
  PutCounts* counts;
  PutProgress* progress;
  const PutFlags* flags;
  std::uint64_t ticket;
  int peers;
  int put_warps;    ///< of each block; the others make the rank's own copies meanwhile
  bool shares_own;  ///< those help them in the end
  bool packs;       ///< some own copies go to host memory, of which the CPU is told
  bool notes;       ///< times; what is small enough for one launch would take 0.4 us longer
  bool puts;
  bool waits;
  bool takes;
  std::byte* bases[2][Slots];  ///< of even and of odd rounds
};

/// Each of `warps` warps of the grid moves every n-th tile, or, if there are tickets, the next one
/// that no warp has begun.
template <int Dims, bool Any>
__device__ __forceinline__ void move_tiles(const PutTables& tables, std::uint32_t warp,
                                           std::uint32_t warps, std::uint32_t* tickets,
                                           std::byte* const* bases) {
  const auto draw = [&] { return threadIdx.x % kWarp == 0 ? atomicAdd(tickets, 1) : 0; };
  std::uint32_t number = warp;
  if (tickets != nullptr) number = __shfl_sync(~0U, draw(), 0);
  while (number < tables.tile_count) {
    // The next ticket arrives while the tile is moved.
    std::uint32_t next = number + warps;
    if (tickets != nullptr) next = draw();
    const strake_batch_tile tile = tables.tiles[number];
    move_numbered<Dims, Any>(tables.copies[tile.copy], tile.index, tables.tile_log2, bases);
    number = tickets != nullptr ? __shfl_sync(~0U, next, 0) : next;
  }
}

__device__ __forceinline__ void note(PutCounts* counts, PutCounts::Stage stage) {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  counts->times[stage] = now;
}

/// By the warps that put, of all blocks, once their stores are issued: the last block raises the
/// flags.
__device__ __forceinline__ void raise_flags(PutCounts* counts, const PutFlags* flags, int peers,
                                            int put_warps, std::uint64_t round, bool notes) {
  asm volatile("bar.sync 1, %0;" ::"r"(put_warps * kWarp) : "memory");
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (gridDim.x > 1 && atomicInc(&counts->put_arrivals, gridDim.x - 1) != gridDim.x - 1) return;
  __threadfence_system();
  for (int i = 0; i < peers; ++i)
    *reinterpret_cast<volatile std::uint64_t*>(flags[i].there) = round;
  for (int i = 0; i < peers; ++i)
    *reinterpret_cast<volatile std::uint64_t*>(flags[i].there_on_host) = round;
  if (notes) note(counts, PutCounts::kPut);
}

__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* flag) {
  std::uint64_t value = 0;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

/// By all threads of a block.
__device__ __forceinline__ void await_flags(const PutFlags* flags, int peers, std::uint64_t round,
                                            const PutProgress* progress) {
  constexpr int kLooksPerCheck = 4096;
  for (int i = static_cast<int>(threadIdx.x); i < peers; i += kThreads) {
    for (int looks = 1; load_acquire(flags[i].here) < round; ++looks)
      if (looks % kLooksPerCheck == 0 && progress->given_up != 0) break;
  }
  __syncthreads();
}

/// By all threads of all blocks at the end: the last block tells how far the round is.
template <int Slots>
__device__ __forceinline__ void finish(const PutArguments<Slots>& a, std::uint64_t round) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1) {
    a.packs ? __threadfence_system() : __threadfence();
    if (atomicInc(&a.counts->arrivals, gridDim.x - 1) != gridDim.x - 1) return;
  }
  if (a.puts) {
    a.counts->round = round;
    a.counts->own_tickets = 0;
  }
  if (a.takes && a.notes) note(a.counts, PutCounts::kEnded);
  if (a.takes && !a.notes) a.counts->times[PutCounts::kEnded] = 0;
  if (a.ticket == 0) return;
  __threadfence_system();
  if (a.puts) {
    a.progress->round = round;
    __threadfence_system();
    a.progress->put_ticket = a.ticket;
  }
  if (a.takes) a.progress->taken_ticket = a.ticket;
}

template <int Dims, bool Any, int Slots>
__global__ void __launch_bounds__(kThreads, Any ? kBlocksOfAny : kBlocksOfBoxes)
    put_kernel(const __grid_constant__ PutArguments<Slots> a) {
  if (!a.waits) let_next_begin();
  wait_for_kernel_before();
  const auto warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::uint64_t round =
      *reinterpret_cast<const volatile std::uint64_t*>(&a.counts->round) + (a.puts ? 1 : 0);
  std::byte* const* const bases = a.bases[round & 1];
  const bool notes = a.notes && blockIdx.x == 0 && threadIdx.x == 0;
  if (notes && a.puts) note(a.counts, PutCounts::kBegun);
  // Some warps put first, and then help the others with the rank's own copies. One loop, since what
  // it calls is long.
  enum : int { kPuts, kOwn, kTakes };
#pragma unroll 1
  for (int step = a.puts ? kPuts : kTakes; step < (a.takes ? kTakes + 1 : kTakes); ++step) {
    if (step == kPuts ? warp >= a.put_warps : step == kOwn && warp < a.put_warps && !a.shares_own)
      continue;
    const PutTables& tables = step == kPuts ? a.put : step == kOwn ? a.own : a.take;
    const int first = step == kOwn ? a.put_warps : 0;
    const int warps = step == kPuts ? a.put_warps : kWarps - first;
    if (step == kTakes && a.waits) await_flags(a.flags, a.peers, round, a.progress);
    if (step == kTakes && notes) note(a.counts, PutCounts::kSeen);
    std::uint32_t* const tickets = step == kOwn && a.shares_own ? &a.counts->own_tickets : nullptr;
    move_tiles<Dims, Any>(tables, blockIdx.x * warps + warp - first, gridDim.x * warps, tickets,
                          bases);
    if (step == kPuts) raise_flags(a.counts, a.flags, a.peers, a.put_warps, round, a.notes);
  }
  if (a.waits && !a.takes) {
    await_flags(a.flags, a.peers, round, a.progress);
    if (notes) note(a.counts, PutCounts::kSeen);
  }
  finish(a, round);
}

PutTables tables_of(const BatchLaunch& launch) {
  return {launch.copies, launch.tiles, launch.tile_count, launch.tile_log2};
}

/// Few enough that 16 kernels that wait in streams of their own leave room for others.
int blocks_that_wait(const LaunchTarget& target) { return (target.multiprocessors + 3) / 4; }

int put_warps_of(const PutLaunch& launch) {
  if (launch.peers == 0) return 0;
  if (launch.own->tile_count == 0) return kWarps;
  // The share of a block's warps that put equals the share of the words that are put. 256^3 cells,
  // radius 3, 8 fields: two H200s put a quarter, and take 129 us with two warps, 136 with four;
  // four put half, and take 213 and 194.
  const auto words = [](const BatchLaunch& tables) {
    return static_cast<double>(tables.tile_count) * (1 << tables.tile_log2);
  };
  const double puts = words(*launch.put) / (words(*launch.put) + words(*launch.own));
  return std::clamp(static_cast<int>(puts * kWarps + 0.5), 1, kWarps - 1);
}

/// Blocks that run each warp once, or more often.
std::int64_t blocks_for_once(const PutLaunch& launch) {
  const auto blocks = [](std::uint32_t tiles, int warps) {
    return warps == 0 ? 0 : (std::int64_t{tiles} + warps - 1) / warps;
  };
  const int put_warps = put_warps_of(launch);
  std::int64_t most = 1;
  if (launch.puts) {
    most = std::max(most, blocks(launch.put->tile_count, put_warps));
    most = std::max(most, blocks(launch.own->tile_count, kWarps - put_warps));
  }
  if (launch.takes) most = std::max(most, blocks(launch.take->tile_count, kWarps));
  return most;
}

bool needs_any(const PutLaunch& launch) {
  for (const BatchLaunch* const tables : {launch.put, launch.own, launch.take})
    if (tables->any || tables->box_dims > 3) return true;
  return false;
}

template <int Slots>
cudaError_t start_put(const PutLaunch& launch, const LaunchTarget& target) {
  PutArguments<Slots> arguments;
  arguments.put = tables_of(*launch.put);
  arguments.own = tables_of(*launch.own);
  arguments.take = tables_of(*launch.take);
  arguments.counts = launch.counts;
  arguments.progress = launch.progress;
  arguments.flags = launch.flags;
  arguments.ticket = launch.ticket;
  arguments.peers = launch.peers;
  arguments.put_warps = put_warps_of(launch);
  arguments.packs = launch.packs && launch.puts;
  arguments.notes = !launch.puts || !launch.waits || !launch.takes;
  arguments.puts = launch.puts;
  arguments.waits = launch.waits;
  arguments.takes = launch.takes;
  for (const std::size_t parity : {0, 1}) {
    std::byte** slot =
        std::copy(launch.arrays.begin(), launch.arrays.end(), arguments.bases[parity]);
    for (const auto& buffer : launch.buffers) *slot++ = buffer[parity];
  }
  const bool any = needs_any(launch);
  const std::int64_t most =
      launch.waits ? blocks_that_wait(target)
                   : std::int64_t{target.multiprocessors} * (any ? kBlocksOfAny : kBlocksOfBoxes);
  const auto blocks = static_cast<unsigned>(std::min(blocks_for_once(launch), most));
  const std::int64_t own_warps = std::int64_t{blocks} * (kWarps - arguments.put_warps);
  arguments.shares_own = arguments.put_warps != 0 && launch.own->tile_count > own_warps;
  auto kernel = put_kernel<STRAKE_BOX_DIMS, true, Slots>;
  if constexpr (Slots == kFewPutSlots) {
    if (!any) kernel = put_kernel<3, false, Slots>;
  }
  return start_kernel(kernel, blocks, target, arguments);
}

}  // namespace

bool put_is_small(const PutLaunch& launch, const LaunchTarget& target) noexcept {
  constexpr std::int64_t kTilesPerWarp = 4;
  return blocks_for_once(launch) <= kTilesPerWarp * blocks_that_wait(target);
}

cudaError_t launch_put(const PutLaunch& launch, const LaunchTarget& target) {
  if (launch.arrays.size + launch.buffers.size <= kFewPutSlots)
    return start_put<kFewPutSlots>(launch, target);
  return start_put<kPutSlots>(launch, target);
}

}  // namespace strake::cuda
