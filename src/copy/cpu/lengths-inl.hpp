/// \file  Which copy suits blocks of a length, per instruction set.
#if defined(STRAKE_COPY_CPU_LENGTHS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_LENGTHS_INL_HPP
#undef STRAKE_COPY_CPU_LENGTHS_INL_HPP
#else
#define STRAKE_COPY_CPU_LENGTHS_INL_HPP
#endif

#include <cstdint>
#include <type_traits>

#include "copy/cpu/copy-inl.hpp"
#include "copy/cpu/joined-inl.hpp"
#include "copy/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {

/// Calls `use` with the type of copy for blocks of 1 to kLongestBlock bytes. Between 16 and 64
/// bytes one masked vector or two that fit: masks touch the line behind a block that ends close to
/// it, and wait longer. Measured on 102 and 3000 blocks (us; Intel Xeon, packed in L1 and from L2):
/// 40 B 0.07 and 4.1, masked 0.13 and 5.8, two of 32 B 0.08 and 6.6; 20 B in 2135 rows of 320 B
/// that end 4 B before a line does, 11 times: 77 and 168 masked. Zen 5 packs 1089 blocks of 40 B in
/// 0.9 us by masks, in 1.1 us by pieces. 72 B by 64 and 8 B 7.2, by two of 64 B 12.2.
template <typename Use>
auto with_copy(std::int64_t block, CpuMake make, Use use) {
  switch (block) {
    case 1:
      return use(std::type_identity<FixedCopy<1>>{});
    case 2:
      return use(std::type_identity<FixedCopy<2>>{});
    case 3:
      return use(std::type_identity<FixedCopy<3>>{});
    case 4:
      return use(std::type_identity<JoinedCopy<4>>{});
    case 8:
      return use(std::type_identity<JoinedCopy<8>>{});
    case 12:
      return use(std::type_identity<JoinedCopy<12>>{});
    case 16:
      return use(std::type_identity<FixedCopy<16>>{});
    case 24:
      return use(std::type_identity<JoinedCopy<24>>{});
    case 32:
      return use(std::type_identity<FixedCopy<32>>{});
    case 64:
      return use(std::type_identity<FixedCopy<64>>{});
    case 128:
      return use(std::type_identity<FixedCopy<128>>{});
    default:
      break;
  }
  if (block < 8) return use(std::type_identity<OverlapCopy<4>>{});
  if (block < 16) return use(std::type_identity<ShortCopy<16>>{});
  if (HWY_TARGET == HWY_AVX3 && make != CpuMake::Intel) {
    if (block < 32) return use(std::type_identity<ShortCopy<32>>{});
    if (block < 64) return use(std::type_identity<ShortCopy<64>>{});
  }
  if (block <= 20) return use(std::type_identity<OverlapCopy<16, 4>>{});
  if (block < 24) return use(std::type_identity<OverlapCopy<16, 8>>{});
  if (block < 32) return use(std::type_identity<OverlapCopy<16>>{});
  if (block <= 40) return use(std::type_identity<OverlapCopy<32, 8>>{});
  if (block <= 48) return use(std::type_identity<OverlapCopy<32, 16>>{});
  if (block < 64) return use(std::type_identity<OverlapCopy<32>>{});
  if (block <= 72) return use(std::type_identity<OverlapCopy<64, 8>>{});
  if (block <= 80) return use(std::type_identity<OverlapCopy<64, 16>>{});
  if (block <= 96) return use(std::type_identity<OverlapCopy<64, 32>>{});
  return use(std::type_identity<OverlapCopy<64>>{});
}

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
