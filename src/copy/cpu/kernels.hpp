/// \file  The loops that move bytes on the CPU, one table of them per instruction set.
/// A kernel is chosen once, when a plan is compiled; after that it is one indirect call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace strake::cpu {

/// Loops that one kernel call runs itself; deeper nests are split into calls.
inline constexpr int kNestLoops = 4;

/// One loop: `count` steps, so many bytes apart on either side.
struct Loop {
  std::int64_t count = 1;
  std::int64_t to = 0;
  std::int64_t from = 0;
};

/// Blocks of one length moved over a nest of loops, innermost first; unused loops count 1. Packing,
/// unpacking and box -> box differ only in the strides: the dense side's are those of the packed
/// order.
struct Nest {
  std::int64_t block = 0;
  Loop loops[kNestLoops];
  std::int64_t whole_bytes = 0;  ///< of the copy that this may be a part of
};
[[nodiscard]] inline std::int64_t bytes_of(const Nest& nest) noexcept {
  std::int64_t bytes = nest.block;
  for (const Loop& loop : nest.loops) bytes *= loop.count;
  return bytes;
}
using NestFn = void (*)(const Nest& nest, std::byte* to, const std::byte* from);

/// A kernel for a nest, and the order of its loops: loop k of the kernel is loop order[k] in packed
/// order.
struct NestChoice {
  NestFn run = nullptr;
  const char* name = "";
  int order[kNestLoops] = {0, 1, 2, 3};
};

/// A list of blocks between a dense side and listed offsets. 32-bit entries where they fit: half
/// the bytes to read.
struct List {
  const std::int64_t* offsets64 = nullptr;  ///< of each block, or
  const std::int32_t* offsets32 = nullptr;
  const std::int64_t* positions64 =
      nullptr;  ///< where each begins in packed order, n + 1 values; none where lengths agree
  const std::int32_t* positions32 = nullptr;
  std::int64_t block = 0;  ///< the common length, or one that nine of ten blocks do not exceed
  std::int64_t readable_end = 0;  ///< bytes between blocks may be read up to here
  bool prefetch = false;          ///< lines are worth fetching ahead
  bool large = false;             ///< more than kSecondLevelBytes are packed
};
/// Strided sides of this size and more are fetched ahead: the second-level TLB of a present CPU
/// reaches no more with pages of 4 KiB (1536 to 4096 of them).
inline constexpr std::int64_t kPrefetchedBytes = std::int64_t{8} << 20;
/// More than this does not stay in the second-level cache of a present server.
inline constexpr std::int64_t kSecondLevelBytes = std::int64_t{1} << 20;
/// Longer blocks are rows. [bytes]
inline constexpr std::int64_t kLongestBlock = 128;
/// A line of the caches. [bytes]
inline constexpr std::int64_t kLine = 64;
/// Moves blocks [first, last). `packed` and `strided` are the bases that positions and offsets
/// count from. Touches no byte of the dense side past the end of block `last - 1`.
using PackListFn = void (*)(const List& list, std::int64_t first, std::int64_t last,
                            std::byte* packed, const std::byte* strided);
using UnpackListFn = void (*)(const List& list, std::int64_t first, std::int64_t last,
                              std::byte* strided, const std::byte* packed);

/// Blocks that lie close together, as one vector's worth of memory: kWindowUnits units from
/// `offset` on, some of which travel.
struct Window {
  std::int32_t offset = 0;
  std::int32_t position = 0;  ///< of its first unit in packed order
  /// Four bits for each lane. Low three: which lane of the vector that is read goes to this one of
  /// the vector that is written. High one: this unit of the window travels.
  std::uint32_t lanes = 0;
};
inline constexpr std::int64_t kUnitBytes = 4;
inline constexpr std::int64_t kWindowUnits = 8;
inline constexpr std::int64_t kWindowBytes = kWindowUnits * kUnitBytes;
/// Unpacking two blocks of unequal lengths takes as long as this many windows, on every make of
/// CPU.
inline constexpr std::int64_t kUnpackedWindowsForTwo = 6;
/// Moves windows [first, last). The list's entry `last` says where the packed bytes end. Writes no
/// byte of the strided side except those that travel.
using PackWindowsFn = void (*)(const Window* windows, std::int64_t first, std::int64_t last,
                               std::byte* packed, const std::byte* strided);
using UnpackWindowsFn = void (*)(const Window* windows, std::int64_t first, std::int64_t last,
                                 std::byte* strided, const std::byte* packed);

/// A run of at most kWindowUnits units. From the lowest bit on: the number of units less one, a bit
/// for each unit, and the offset in units.
using UnitRun = std::uint32_t;
inline constexpr int kRunMaskBit = 3;
inline constexpr int kRunOffsetBit = kRunMaskBit + static_cast<int>(kWindowUnits);
/// Runs begin at offsets below this.
inline constexpr std::int64_t kRunReach = kUnitBytes << (32 - kRunOffsetBit);
/// Packs `count` runs. Reads and writes only their bytes.
using PackRunsFn = void (*)(const UnitRun* runs, std::int64_t count, std::byte* packed,
                            const std::byte* strided);

/// Makes of CPU, whose caches and TLBs differ: a kernel that was faster on one make is chosen on
/// that make only. Intel means its servers from Sapphire Rapids on; earlier ones were not measured,
/// and a security fix made their gathers slow.
enum class CpuMake { Other, Amd, Intel };

using CopyFn = void (*)(std::byte* to, const std::byte* from, std::int64_t bytes);

/// The nest kernels of one instruction set, as one make of CPU chooses among them.
struct NestKernels {
  const char* name;  ///< "avx512", "avx2", "sse4", …
  NestChoice (*choose)(const Nest& nest);
  /// Copy of adjacent bytes. (Large ones are streamed past the caches by the C library; so are
  /// large transposes by their kernel. Packing of other shapes gained nothing from it: 64 MiB of 64
  /// B blocks took 4.1 ms without, 5.9 ms with.)
  CopyFn copy;
};

/// The list kernels of one instruction set, as one make of CPU chooses among them.
struct ListKernels {
  PackListFn (*choose_pack)(const List& list);
  UnpackListFn (*choose_unpack)(const List& list);
  bool gathers;  ///< packing gathers blocks of 4 and 8 bytes rather than join them
  /// Packing two blocks of unequal lengths takes as long as this many windows.
  std::int64_t windows_for_two;
  /// Unpacking two such blocks takes as long as this many windows if the list reaches over more
  /// than kSecondLevelBytes: the windows themselves then take room in the caches.
  std::int64_t large_windows_for_two;
  /// Lists in no order that reach over more than this are fetched ahead when they are unpacked:
  /// otherwise stores wait for their lines one after the other.
  std::int64_t scattered_bytes;
  /// Lists whose blocks are, on average, half a line or more apart are fetched ahead if they reach
  /// over more than this.
  std::int64_t spread_bytes;
  /// With or without fetching ahead. `gaps_readable`: whole windows may be read, otherwise only the
  /// units that travel. Null if loads and stores have no masks.
  PackWindowsFn (*choose_pack_windows)(bool prefetch, bool gaps_readable) = nullptr;
  UnpackWindowsFn (*choose_unpack_windows)(bool prefetch) = nullptr;
  /// Null if runs are not known to be faster than windows.
  PackRunsFn pack_runs = nullptr;
  /// Packing two blocks of their own lengths takes as long as this many runs.
  std::int64_t runs_for_two = 0;
};

struct Kernels {
  const NestKernels* nest;
  const ListKernels* list;
};

/// All tables that this CPU can run, best first.
[[nodiscard]] std::span<const Kernels> available_kernels();
/// For tests: available_kernels(), and the tables of the best instruction set as other makes of CPU
/// would choose them.
[[nodiscard]] std::span<const Kernels> kernels_of_every_make();
/// The best table that the setting STRAKE_SIMD allows.
[[nodiscard]] const Kernels& default_kernels();

}  // namespace strake::cpu
