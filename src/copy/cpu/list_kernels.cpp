// The list kernels, compiled for every instruction set, and the choice among them.
#include "copy/cpu/targets.hpp"
// clang-format off: the order matters to Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "copy/cpu/list_kernels.cpp"
#include "hwy/foreach_target.h"
// clang-format on
#include "copy/cpu/kernel_tables.hpp"
#include "copy/cpu/lengths-inl.hpp"
#include "copy/cpu/list-inl.hpp"
#include "copy/cpu/window-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Calls `use` with the type of copy that suits blocks of one length.
template <typename Use>
auto with_listed_copy(std::int64_t block, CpuMake make, Use use) {
  if (block <= kLongestBlock) return with_copy(block, make, use);
  if (block < 1024) return use(std::type_identity<VectorCopy>{});
  return use(std::type_identity<LongCopy>{});
}

constexpr bool gathers(CpuMake make) {
  return make == CpuMake::Intel && (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2);
}

template <typename Index>
PackListFn choose_pack_of(const List& list, CpuMake make) {
  if (positions_of<Index>(list) == nullptr) {
    const auto by = [&](auto copy) -> PackListFn {
      using Copy = typename decltype(copy)::type;
      return list.prefetch ? pack_list<Copy, Index, true> : pack_list<Copy, Index, false>;
    };
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    if (gathers(make) && std::is_same_v<Index, std::int32_t>) {
      if (list.block == 4) return by(std::type_identity<GatheredCopy<4>>{});
      if (list.block == 8) return by(std::type_identity<GatheredCopy<8>>{});
    }
#endif
    return with_listed_copy(list.block, make, by);
  }
  if (list.block <= 16) return pack_lengths<16, Index>;
  if (list.block <= 32) return pack_lengths<32, Index>;
  if (list.block <= 64) return pack_lengths<64, Index>;
  if (list.large && make == CpuMake::Intel) return pack_lengths<128, Index, 32>;
  return pack_lengths<128, Index>;
}

template <typename Index>
UnpackListFn choose_unpack_of(const List& list, CpuMake make) {
  if (positions_of<Index>(list) == nullptr) {
    return with_listed_copy(list.block, make, [&](auto copy) -> UnpackListFn {
      using Copy = typename decltype(copy)::type;
      return list.prefetch ? unpack_list<Copy, Index, true> : unpack_list<Copy, Index, false>;
    });
  }
  return list.block <= kVectorBytes ? unpack_lengths<1, Index> : unpack_lengths<2, Index>;
}

template <CpuMake kMake>
PackListFn choose_pack(const List& list) {
  return list.offsets32 != nullptr ? choose_pack_of<std::int32_t>(list, kMake)
                                   : choose_pack_of<std::int64_t>(list, kMake);
}
template <CpuMake kMake>
UnpackListFn choose_unpack(const List& list) {
  return list.offsets32 != nullptr ? choose_unpack_of<std::int32_t>(list, kMake)
                                   : choose_unpack_of<std::int64_t>(list, kMake);
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
PackWindowsFn choose_pack_windows(bool prefetch, bool gaps_readable) {
  if (gaps_readable) return prefetch ? pack_windows<true, true> : pack_windows<false, true>;
  return prefetch ? pack_windows<true, false> : pack_windows<false, false>;
}
UnpackWindowsFn choose_unpack_windows(bool prefetch) {
  return prefetch ? unpack_windows<true> : unpack_windows<false>;
}
#endif

/// Measured on random blocks of 12 B in thrice their room (us; Intel Xeon): 2000 in 3.2, fetched
/// ahead 2.2; 10000 in 17.6 and 15.3; 40000 in 88 and 69. In order it costs a tenth.
template <CpuMake kMake>
constexpr std::int64_t kScatteredBytes = kMake == CpuMake::Intel ? 64 * 1024 : kPrefetchedBytes;

/// Measured on 40000 blocks in order at 36 B (us; Intel Xeon): of 12 B 57, fetched ahead 51; of 8 B
/// at 53 B 70 and 53, at 24 B 25 and 27.
template <CpuMake kMake>
constexpr std::int64_t kSpreadBytes =
    kMake == CpuMake::Intel ? kSecondLevelBytes : kPrefetchedBytes;

/// Measured on 5334 blocks of 12 B to 96 B, and as 11200 windows (us): 8.5 and 6.5, Intel Xeon 10.4
/// and 12.8 (unpacked 16.4 and 12.7); on 2667 of 4 B to 32 B, each a window, 3.5 and 2.9 there.
template <CpuMake kMake>
constexpr std::int64_t kWindowsForTwo = kMake == CpuMake::Intel ? 3 : 6;

/// Measured on 20000 blocks of 8 B to 64 B and of 8 B to 128 B (us; Intel Xeon): 60 and 158, as
/// windows 72 and 175; of 4 B to 32 B, 0.9 windows each, 33 and 22.
template <CpuMake kMake>
constexpr std::int64_t kLargeWindowsForTwo = kMake == CpuMake::Intel ? 2 : kUnpackedWindowsForTwo;

/// Packed as runs, 3000 blocks of 4 B to 512 B, 8.6 runs each, take 26 us there instead of 28; from
/// 12.5 runs each on they gain nothing.
constexpr std::int64_t kRunsForTwo = 20;

template <CpuMake kMake>
constexpr ListKernels kKernels = {
    .choose_pack = choose_pack<kMake>,
    .choose_unpack = choose_unpack<kMake>,
    .gathers = gathers(kMake),
    .windows_for_two = kWindowsForTwo<kMake>,
    .large_windows_for_two = kLargeWindowsForTwo<kMake>,
    .scattered_bytes = kScatteredBytes<kMake>,
    .spread_bytes = kSpreadBytes<kMake>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    .choose_pack_windows = choose_pack_windows,
    .choose_unpack_windows = choose_unpack_windows,
#endif
#if HWY_TARGET == HWY_AVX3
    .pack_runs = kMake == CpuMake::Intel ? pack_runs : nullptr,
    .runs_for_two = kRunsForTwo,
#endif
};

}  // namespace

const ListKernels& list_kernels(CpuMake make) {
  if (make == CpuMake::Amd) return kKernels<CpuMake::Amd>;
  return make == CpuMake::Intel ? kKernels<CpuMake::Intel> : kKernels<CpuMake::Other>;
}

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strake::cpu {

const ListKernels* list_kernels_of(std::int64_t target, CpuMake make) {
#define STRAKE_CASE(ns, value) \
  if (target == value) return &ns::list_kernels(make);
  STRAKE_EACH_TARGET(STRAKE_CASE)
#undef STRAKE_CASE
  return nullptr;
}

}  // namespace strake::cpu
#endif
