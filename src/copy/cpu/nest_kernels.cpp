// The nest kernels, compiled for every instruction set, and the choice among them.
#include "copy/cpu/targets.hpp"
// clang-format off: the order matters to Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "copy/cpu/nest_kernels.cpp"
#include "hwy/foreach_target.h"
// clang-format on
#include <algorithm>
#include <utility>

#include "copy/cpu/copy-inl.hpp"
#include "copy/cpu/kernel_tables.hpp"
#include "copy/cpu/lengths-inl.hpp"
#include "copy/cpu/nest-inl.hpp"
#include "copy/cpu/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {
namespace {

/// A loop of fewer steps spends its time on starting: its neighbour becomes the inner one, if it is
/// longer and all lines of both, which are then visited more than once, stay in the L2 cache.
/// Measured: an edge of 3 x 256 rows of 24 bytes.
constexpr std::int64_t kShortLoop = 8;
constexpr std::int64_t kSwappedBytes = 256 * 1024;

std::int64_t distance(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// The loop (of more than one step) with the shortest stride on a side, or -1.
template <typename Stride>
int nearest_loop(const Nest& nest, Stride stride) {
  int best = -1;
  for (int k = 0; k < kNestLoops; ++k) {
    if (nest.loops[k].count < 2) continue;
    if (best < 0 || distance(stride(nest.loops[k])) < distance(stride(nest.loops[best]))) best = k;
  }
  return best;
}

/// Whether so many blocks lie so far apart that the TLB does not hold their pages. Masked vectors
/// then cost more than they save.
bool past_the_tlb(const Nest& nest) {
  constexpr std::int64_t kFarStride = 1024;
  constexpr std::int64_t kTlbPages = 2048;
  std::int64_t far_apart = 1;
  for (const Loop& loop : nest.loops) {
    if (std::max(distance(loop.to), distance(loop.from)) >= kFarStride) far_apart *= loop.count;
  }
  return far_apart > kTlbPages;
}

/// Measured on 10404 blocks of 40 B at a stride of 4080 (us, pack and unpack): Zen 4, two vectors
/// that overlap 97 and 58, pieces of 16 B 78 and 49, fetched ahead 59 and 58; Intel 59 and 68, 64
/// and 69, 54 and 63. Pieces of 8 B fetched ahead: 48 and 48, but on Intel 82 and 72. Packed by
/// pieces of 32 and 8 B, fetched ahead: Zen 5 27, as of 16 B; Intel 46 to 57 where those took 61
/// to 66.
NestFn choose_far_blocks(const Nest& nest, const Loop& l0, CpuMake make) {
  constexpr std::int64_t kPageEach = 4000;
  const bool packing = l0.to == nest.block;
  const std::int64_t least = packing ? 16 : make == CpuMake::Intel ? 24 : 40;
  if (nest.block % 8 == 0 && nest.block >= least) {
    const bool held_back = packing && distance(l0.from) >= kPageEach;
    if (make == CpuMake::Intel) {
      return held_back ? run_far_blocks<true, 14> : run_far_blocks<true, 0>;
    }
    return held_back && make == CpuMake::Amd ? run_far_blocks<false, 40> : run_far_blocks<false, 0>;
  }
  if (nest.block == 16) return run_blocks<FixedCopy<16>>;
  if (nest.block < 16) return run_blocks<OverlapCopy<8>>;
  return nest.block < 32 ? run_blocks<OverlapCopy<16>> : run_blocks<OverlapCopy<32>>;
}

/// Half of an L1 cache of 48 KiB.
constexpr std::int64_t kFirstLevelBytes = 24 * 1024;

#if HWY_TARGET == HWY_AVX3
/// Whether blocks of a copy of `bytes` are worth shifting, on Intel.
constexpr bool is_shifted(std::int64_t block, std::int64_t bytes) {
  return block >= 512 && bytes <= kFirstLevelBytes;
}

/// Whether blocks that are unpacked lie in pages of their own, but stay in the L1 cache: Intel's
/// TLB for stores holds 16 pages, so there each store costs, and one is better than two. Measured
/// on 102 blocks at 4240 B (ns): of 40 B 114, in two stores 121, of 56 B 111 and 151; on 60 of 48 B
/// at 2104 B 61 and 71; at 1480 B they are level.
bool is_stored_once(const Nest& nest, const Loop& l0) {
  constexpr std::int64_t kFar = 2048;
  const std::int64_t blocks = bytes_of(nest) / nest.block;
  return nest.block > 32 && nest.block < 64 && nest.block % 4 == 0 && l0.from == nest.block &&
         distance(l0.to) >= kFar && blocks * 2 * kLine <= kFirstLevelBytes;
}

/// Whether elements are packed by lines, on Intel: rows of them whose pages the TLB does not hold,
/// not all in the same few sets of the L1 cache.
bool are_far_elements(const Nest& nest, const Loop& l0) {
  const std::int64_t apart = distance(l0.from);
  return (nest.block == 4 || nest.block == 8) && l0.to == nest.block && l0.count >= 64 &&
         apart % 1024 != 0 && bytes_of(nest) / nest.block * apart > kPrefetchedBytes;
}

/// Whether blocks that are unpacked are worth fetching ahead, on Intel. Measured (us; where the
/// lines were fetched to be read): 24000 and 64000 of 12 B at 320 B 84 and 327, fetched 71 and 276;
/// 32000 of 8 B at 1040 B 102 and 59. At 64 to 128 B, at 4112 B and where they stay in the L2 cache
/// they are level or lose; so do longer ones from 1024 B on.
bool is_fetched(const Nest& nest, const Loop& l0) {
  const std::int64_t apart = distance(l0.to);
  if (nest.block > kLine || l0.from != nest.block || l0.count < 256 || apart < 3 * kLine)
    return false;
  const std::int64_t lines = std::max(bytes_of(nest), nest.whole_bytes) / nest.block;
  if (apart < 1024) return lines > 20000;
  return apart < 2048 && nest.block <= 16 && lines > 24000;
}
#endif

/// Blocks of more than 128 bytes, up to 1 MiB of them. On Intel all by LineCopy, longer ones within
/// the L1 cache by ShiftedCopy. Else up to 24 KiB, which stay in the L1 cache, whole vectors
/// (measured: 8 blocks of 2304 B take 72 ns so, 151 ns by the C library's copy). Then rows of less
/// than 3 KiB by RowCopy (1166 rows of 296 B at 320 B: 3.7 us, by whole vectors 4.4 us, by the
/// library 5.2 us; 128 of 1 KiB at 1040 B: 1.36, 1.46, 1.57 us; 256 of 2 KiB at 2064 B: 6.5, 6.5,
/// 7.0 us). What is longer or more, by the library, which then uses the machine's string
/// instructions (102 rows of 4080 B: 4.1 us to 5.1 us, others 4.8 us to 5.8 us). Fetching the next
/// row ahead, and loads or stores that cross no line, were no quicker.
NestFn choose_rows(const Nest& nest, CpuMake make) {
  constexpr std::int64_t kLongRow = 3072;
  const std::int64_t bytes = bytes_of(nest);
  if (kVectorBytes == 64 && make == CpuMake::Intel && bytes <= kSecondLevelBytes) {
#if HWY_TARGET == HWY_AVX3
    if (is_shifted(nest.block, bytes)) return run_blocks<ShiftedCopy>;
#endif
    return run_blocks<LineCopy>;
  }
  if (bytes <= kFirstLevelBytes) {
    return nest.block >= 4096 ? run_blocks<LongCopy> : run_blocks<VectorCopy>;
  }
  if (nest.block >= 512 && (nest.block >= kLongRow || bytes > kSecondLevelBytes)) {
    return run_blocks<LongCopy>;
  }
  // Rows of 1 KiB, each in a page of its own: unpacked in 1.80 us by the library, 1.88 us by
  // RowCopy.
  constexpr std::int64_t kPage = 4096;
  if (distance(nest.loops[0].to) >= kPage && nest.block >= 512 && nest.block <= 1024) {
    return run_blocks<LongCopy>;
  }
  return bytes <= kSecondLevelBytes ? run_blocks<RowCopy> : run_blocks<VectorCopy>;
}

NestFn choose_blocks(const Nest& nest, const Loop& l0, CpuMake make) {
  if (nest.block > kLongestBlock) return choose_rows(nest, make);
  if (past_the_tlb(nest)) {
    if (nest.block > 8 && nest.block < 64) return choose_far_blocks(nest, l0, make);
#if HWY_TARGET == HWY_AVX3
    if (make == CpuMake::Intel && are_far_elements(nest, l0)) {
      return nest.block == 4 ? pack_far_elements<4> : pack_far_elements<8>;
    }
#endif
    // Elements on pages that the TLB does not hold move one by one: 65536 of them at 2064 B take an
    // Intel Xeon 260 us so, 298 us by pairs, Zen 5 103.
    if (nest.block == 8 && make == CpuMake::Intel) return run_blocks<FixedCopy<8>>;
  }
#if HWY_TARGET == HWY_AVX3
  if (make == CpuMake::Intel && is_stored_once(nest, l0)) {
    return run_blocks<ShortCopy<64, std::uint32_t>>;
  }
#endif
  return with_copy(nest.block, make,
                   [](auto copy) -> NestFn { return run_blocks<typename decltype(copy)::type>; });
}

template <typename Square>
NestFn transposed_by(CpuMake make) {
  return make == CpuMake::Intel ? run_transposed<Square, kSecondLevelBytes, kNarrowTransposeOnIntel>
                                : run_transposed<Square, kStreamedTranspose, kNarrowTranspose>;
}

NestFn choose_transposed(const Nest& nest, const Loop& near_to, const Loop& near_from,
                         CpuMake make) {
  const bool adjacent = near_to.to == nest.block && near_from.from == nest.block;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if (adjacent && nest.block == 8) return transposed_by<RegisterSquare<8>>(make);
  if (adjacent && nest.block == 4) return run_transposed<RegisterSquare4>;
#if HWY_TARGET <= HWY_AVX2
  if (adjacent && nest.block == 16) return transposed_by<RegisterSquare<16>>(make);
#endif
#endif
  static_cast<void>(adjacent);
  static_cast<void>(make);
  switch (nest.block) {
    case 1:
      return run_transposed<LoopSquare<FixedCopy<1>>>;
    case 2:
      return run_transposed<LoopSquare<FixedCopy<2>>>;
    case 4:
      return run_transposed<LoopSquare<FixedCopy<4>>>;
    case 8:
      return run_transposed<LoopSquare<FixedCopy<8>>>;
    case 12:
      return run_transposed<LoopSquare<FixedCopy<12>>>;
    case 16:
      return run_transposed<LoopSquare<FixedCopy<16>>>;
    case 24:
      return run_transposed<LoopSquare<FixedCopy<24>>>;
    case 32:
      return run_transposed<LoopSquare<FixedCopy<32>>>;
    default:
      return nullptr;
  }
}

/// Returns run_aligned_blocks() for aligned blocks of 8 and 16 bytes, else null. Only on AMD, where
/// it was measured: other caches may bear more blocks in flight.
NestFn choose_aligned(const Nest& nest, const Loop& l0, CpuMake make) {
  if (make != CpuMake::Amd) return nullptr;
  constexpr std::int64_t kAligned = 2048;
  constexpr std::int64_t kMany = 64;
  const std::int64_t apart = l0.to == nest.block ? l0.from : l0.from == nest.block ? l0.to : 0;
  if (apart == 0 || apart % kAligned != 0 || l0.count < kMany) return nullptr;
  if (nest.block == 8) return run_aligned_blocks<FixedCopy<8>>;
  return nest.block == 16 ? run_aligned_blocks<FixedCopy<16>> : nullptr;
}

/// Elements at small strides. Unpacked from 4 MiB to strides of 2, 3 and 4 elements (us, Intel): 8
/// B one a turn 493, 671 and 798, four a turn 488, 738 and 956; 16 B 463, 639 and 872, four a turn
/// 493, 766 and 849. In the L1 cache four a turn take half as long as one.
NestFn choose_elements(const Nest& nest, const Loop& l0, CpuMake make) {
  if (make == CpuMake::Intel && l0.from == nest.block && bytes_of(nest) > kSecondLevelBytes) {
    if (nest.block == 8) return run_blocks<OneATurn<FixedCopy<8>>>;
    if (nest.block == 16) return run_blocks<OneATurn<FixedCopy<16>>>;
  }
#if HWY_TARGET != HWY_SCALAR
  if (l0.from == nest.block && l0.to >= kLine && HWY_TARGET != HWY_EMU128) {
    if (nest.block == 8) return unpack_pairs<8>;
    if (nest.block == 16) return unpack_pairs<16>;
  }
  if (l0.to != nest.block) return nullptr;
  if (l0.from == 2 * nest.block) {
    if (nest.block == 4) return pack_every_second<std::uint32_t>;
    if (nest.block == 8) return pack_every_second<std::uint64_t>;
  }
#endif
  static_cast<void>(nest);
  static_cast<void>(l0);
  return nullptr;
}

NestChoice choose(const Nest& nest, CpuMake make) {
  NestChoice choice;
  const int near_to = nearest_loop(nest, [](const Loop& l) { return l.to; });
  const int near_from = nearest_loop(nest, [](const Loop& l) { return l.from; });
  if (near_to >= 0 && near_to != near_from) {
    const Loop& t = nest.loops[near_to];
    const Loop& f = nest.loops[near_from];
    const bool lines_shared = distance(t.to) < kLine && distance(f.from) < kLine;
    const bool far_apart = distance(t.from) >= kLine && distance(f.to) >= kLine;
    if (lines_shared && far_apart) choice.run = choose_transposed(nest, t, f, make);
    if (choice.run != nullptr) {
      choice.name = "transpose";
      choice.order[0] = near_to;
      choice.order[1] = near_from;
      int next = 2;
      for (int k = 0; k < kNestLoops; ++k) {
        if (k != near_to && k != near_from) choice.order[next++] = k;
      }
      return choice;
    }
  }
  const Loop& l0 = nest.loops[0];
  const Loop& l1 = nest.loops[1];
  if (l0.count < kShortLoop && l1.count >= 2 * kShortLoop &&
      l0.count * l1.count * std::max(nest.block, kLine) <= kSwappedBytes) {
    std::swap(choice.order[0], choice.order[1]);
  }
#if HWY_TARGET == HWY_AVX3
  if (make == CpuMake::Intel && is_fetched(nest, nest.loops[choice.order[0]])) {
    choice.name = "fetched";
    choice.run = with_copy(nest.block, make, [](auto copy) -> NestFn {
      return run_fetched_blocks<typename decltype(copy)::type>;
    });
    return choice;
  }
#endif
  choice.run = choose_aligned(nest, nest.loops[choice.order[0]], make);
  choice.name = "aligned";
  if (choice.run == nullptr) {
    choice.run = choose_elements(nest, nest.loops[choice.order[0]], make);
    choice.name = "elements";
  }
  if (choice.run == nullptr) {
    choice.run = choose_blocks(nest, nest.loops[choice.order[0]], make);
    choice.name = "blocks";
  }
  return choice;
}

template <CpuMake kMake>
NestChoice choose_on(const Nest& nest) {
  return choose(nest, kMake);
}

/// Adjacent bytes: on Intel as rows of that length.
template <CpuMake kMake>
void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
#if HWY_TARGET == HWY_AVX3
  if (kMake == CpuMake::Intel && is_shifted(bytes, bytes)) return ShiftedCopy(bytes)(to, from);
#endif
  copy_any(to, from, bytes);
}

template <CpuMake kMake>
constexpr NestKernels kKernels = {name_of_target(HWY_TARGET), choose_on<kMake>, copy<kMake>};

}  // namespace

const NestKernels& nest_kernels(CpuMake make) {
  if (make == CpuMake::Amd) return kKernels<CpuMake::Amd>;
  return make == CpuMake::Intel ? kKernels<CpuMake::Intel> : kKernels<CpuMake::Other>;
}

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strake::cpu {

const NestKernels* nest_kernels_of(std::int64_t target, CpuMake make) {
#define STRAKE_CASE(ns, value) \
  if (target == value) return &ns::nest_kernels(make);
  STRAKE_EACH_TARGET(STRAKE_CASE)
#undef STRAKE_CASE
  return nullptr;
}

}  // namespace strake::cpu
#endif
