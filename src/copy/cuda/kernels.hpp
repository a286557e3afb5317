/// \file  The kernels' launchers: shape in, bytes moved on a stream. Plain C++, so that callers are
/// ordinary sources; no function goes by a name that depends on the C++ library.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "copy/batch_index.h"
#include "copy/cuda/ranks.hpp"
#include "copy/index.h"
#include "copy/put_words.hpp"
#include "device/cuda/signal.hpp"
#include "strake/value_op.hpp"

namespace strake::cuda {

/// A std::span for the kernels, which may be compiled with another C++ library than their callers:
/// one library's span goes by another name than the other's.
template <typename T>
struct Items {
  T* data = nullptr;
  std::size_t size = 0;

  [[nodiscard]] T* begin() const noexcept { return data; }
  [[nodiscard]] T* end() const noexcept { return data + size; }
};

enum class Task : std::uint8_t { Pack, Unpack };

/// How many words each thread moves (all its loads go before its stores): more hide latency, fewer
/// fill the chip.
struct Unroll {
  int words_per_thread = 1;  ///< 1 or more: each kernel has one form of either
};

/// Words [first, first + count) between a dense run and a box. `dense` is the address of packed
/// byte 0.
struct BoxLaunch {
  strake_box32 box;
  int dims = 1;  ///< 1 to STRAKE_BOX_DIMS
  int word_log2 = 0;
  Task task = Task::Pack;
  std::byte* dense = nullptr;
  std::byte* strided = nullptr;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool prefetch = false;  ///< the target's lines, in device memory
};
[[nodiscard]] cudaError_t launch_box(const BoxLaunch& launch, const Signal& signal,
                                     const LaunchTarget& target);

/// One side of a copy: a layout's root (by value) and its tables in device memory.
using Side = strake_rooted_tree;

/// Packed bytes [begin, end) between a dense run and a list of equal blocks (root kind BLOCKS).
struct BlocksLaunch {
  Side side;
  int word_log2 = 0;
  Task task = Task::Pack;
  std::byte* dense = nullptr;
  std::byte* strided = nullptr;  ///< the base address; the root's offset is added
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
[[nodiscard]] cudaError_t launch_blocks(const BlocksLaunch& launch, Unroll unroll,
                                        const Signal& signal, const LaunchTarget& target);

/// Packed bytes [begin, end) between a dense run and a list of blocks, whose words are a multiple
/// of the run's words.
struct RankedLaunch {
  RankedView list;
  int word_log2 = 0;  ///< of the run: at most the list's
  Task task = Task::Pack;
  std::byte* dense = nullptr;
  std::byte* strided = nullptr;  ///< the address of offset 0
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool prefetch = false;  ///< the target's lines, in device memory
};
[[nodiscard]] cudaError_t launch_ranked(const RankedLaunch& launch, Unroll unroll,
                                        const Signal& signal, const LaunchTarget& target);

/// \{ Packed bytes [begin, end) between a dense run and a list of blocks at any alignment. A block
/// has at least one word (1 << kShiftedWordLog2 bytes), the run at least two.
struct GatherLaunch {
  GatherView list;
  std::byte* dense = nullptr;          ///< target
  const std::byte* strided = nullptr;  ///< the address of offset 0
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
[[nodiscard]] cudaError_t launch_gather(const GatherLaunch& launch, Unroll unroll,
                                        const Signal& signal, const LaunchTarget& target);

struct ScatterLaunch {
  ScatterView list;
  const std::byte* dense = nullptr;
  std::byte* strided = nullptr;  ///< target: the address of offset 0
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t first_word = 0;  ///< of the block that holds `begin`
  std::uint32_t end_word = 0;    ///< past the block that holds `end - 1`
  bool prefetch = false;         ///< the target's lines, in device memory
};
[[nodiscard]] cudaError_t launch_scatter(const ScatterLaunch& launch, Unroll unroll,
                                         const Signal& signal, const LaunchTarget& target);
/// \}

/// Packed bytes [begin, end) between any two layouts.
struct TreeLaunch {
  Side to;
  Side from;
  int word_log2 = 0;
  std::byte* to_base = nullptr;
  const std::byte* from_base = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
[[nodiscard]] cudaError_t launch_tree(const TreeLaunch& launch, Unroll unroll, const Signal& signal,
                                      const LaunchTarget& target);

/// Slots whose addresses fit the parameters of a launch, 32,764 bytes.
inline constexpr int kBatchSlots = 4000;
/// All copies of a batch, whose tables lie in device memory.
struct BatchLaunch {
  const strake_batch_copy* copies = nullptr;
  const strake_batch_tile* tiles = nullptr;
  std::uint32_t tile_count = 0;
  int tile_log2 = 0;
  int box_dims = 0;                   ///< the most that a box has
  bool any = false;                   ///< some copies are of STRAKE_WAY_ANY
  std::byte* const* bases = nullptr;  ///< of the slots, in host memory
  int slots = 0;                      ///< at most kBatchSlots
};
/// Blocks of threads that the launch takes: no more than run at once.
[[nodiscard]] std::int64_t batch_blocks(const BatchLaunch& launch,
                                        const LaunchTarget& target) noexcept;
[[nodiscard]] cudaError_t launch_batch(const BatchLaunch& launch, const Signal& signal,
                                       const LaunchTarget& target);

/// Batches of two slots each that are launched as one.
inline constexpr int kMostTogether = 64;
/// \{ One launch of up to kMostTogether batches, and the blocks of threads that it takes.
[[nodiscard]] std::int64_t together_blocks(Items<const BatchLaunch> launches,
                                           const LaunchTarget& target) noexcept;
[[nodiscard]] cudaError_t launch_together(Items<const BatchLaunch> launches, const Signal& signal,
                                          const LaunchTarget& target);
/// \}
/// Slots whose addresses, of even and odd rounds, fit the parameters of a launch.
inline constexpr int kPutSlots = 1900;
/// Parameters cost launch time by their size.
inline constexpr int kFewPutSlots = 24;
/// Steps of a round (PutRounds), and who waits for them. Tables lie in device memory.
struct PutLaunch {
  const BatchLaunch* put = nullptr;  ///< \{ their bases are not used
  const BatchLaunch* own = nullptr;
  const BatchLaunch* take = nullptr;  ///< \}
  /// The addresses by slot, in host memory: first arrays, then buffers.
  Items<std::byte* const> arrays;
  Items<const std::array<std::byte*, 2>> buffers;  ///< in even rounds, and in odd ones
  PutCounts* counts = nullptr;
  PutProgress* progress = nullptr;
  const PutFlags* flags = nullptr;  ///< in device memory
  int peers = 0;
  std::uint64_t ticket = 0;
  bool packs = false;  ///< some of own go to host memory
  bool puts = false;   ///< put and own
  bool waits = false;  ///< for the others' flags
  bool takes = false;
};
/// Values of the target of a batch of one copy become those of an operation with its source's. Its
/// words are such values.
struct CombineLaunch {
  const BatchLaunch* batch = nullptr;  ///< its bases are not used
  DeviceCombine how;
  std::byte* to = nullptr;
  const std::byte* from[2] = {};  ///< in even rounds, and in odd ones
  const PutCounts* counts = nullptr;
};
[[nodiscard]] cudaError_t launch_combine(const CombineLaunch& launch, const LaunchTarget& target);
/// Whether few blocks, which may wait for flags as long as they like, are enough for it.
[[nodiscard]] bool put_is_small(const PutLaunch& launch, const LaunchTarget& target) noexcept;
[[nodiscard]] cudaError_t launch_put(const PutLaunch& launch, const LaunchTarget& target);

/// Loads every kernel that launch_together() may need, on a target that only loads.
[[nodiscard]] cudaError_t load_together(const LaunchTarget& target);

}  // namespace strake::cuda
