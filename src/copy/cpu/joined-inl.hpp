/// \file  Packing of short blocks eight at a time, joined in registers, per instruction set: what
/// is stored are whole vectors that do not overlap. One by one, most stores cross a vector's end
/// and many a line's. Measured on 3000 random blocks of 4, 8, 12 and 24 bytes (us): Zen 5
/// 0.83, 1.07, 1.16 and 1.56, one by one 1.23, 1.32, 1.61 and 1.81; an Intel Xeon 1.17, 1.64, 2.07
/// and 3.02, one by one 2.30, 2.05, 2.57 and 3.38. Blocks of 40 bytes gain on the latter only.
#if defined(STRAKE_COPY_CPU_JOINED_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_JOINED_INL_HPP
#undef STRAKE_COPY_CPU_JOINED_INL_HPP
#else
#define STRAKE_COPY_CPU_JOINED_INL_HPP
#endif

#include "copy/cpu/copy-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {

inline constexpr int kJoined = 8;

/// Blocks of kBytes; where the instruction set suits, `join(to, at)` packs the kJoined blocks at
/// `at[0]`, `at[1]`, …
template <int kBytes>
struct JoinedCopy;
template <>
struct JoinedCopy<4> : FixedCopy<4> {
  using FixedCopy::FixedCopy;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  HWY_INLINE void join(std::byte* HWY_RESTRICT to, const std::byte* const* at) const {
    using Four = std::uint32_t __attribute__((vector_size(16)));
    const auto block = [at](int k) HWY_ATTR {
      std::uint32_t value = 0;
      std::memcpy(&value, at[k], sizeof value);
      return value;
    };
    const Four low = {block(0), block(1), block(2), block(3)};
    const Four high = {block(4), block(5), block(6), block(7)};
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + sizeof low, &high, sizeof high);
  }
#endif
};

template <>
struct JoinedCopy<8> : FixedCopy<8> {
  using FixedCopy::FixedCopy;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  HWY_INLINE void join(std::byte* HWY_RESTRICT to, const std::byte* const* at) const {
    const hn::FixedTag<std::uint64_t, 2> d;
    const hn::FixedTag<std::uint64_t, 1> half;
    for (int k = 0; k < kJoined; k += 2) {
      const auto low = hn::LoadU(half, reinterpret_cast<const std::uint64_t*>(at[k]));
      const auto high = hn::LoadU(half, reinterpret_cast<const std::uint64_t*>(at[k + 1]));
      hn::StoreU(hn::Combine(d, high, low), d, reinterpret_cast<std::uint64_t*>(to) + k);
    }
  }
#endif
};

// Blocks of 12 and 24 bytes are joined only where loads have masks: no byte outside of the blocks
// is read.
template <>
struct JoinedCopy<12> : ShortCopy<16> {
  static constexpr std::int64_t kBlock = 12;
  explicit JoinedCopy(std::int64_t block) : ShortCopy<16>(block) {}
#if HWY_TARGET <= HWY_AVX2
  HWY_INLINE void join(std::byte* HWY_RESTRICT to, const std::byte* const* at) const {
    const hn::FixedTag<std::uint32_t, 4> d;
    const auto mask = hn::FirstN(d, 3);
    const auto block = [&](int k) HWY_ATTR {
      return hn::MaskedLoad(mask, d, reinterpret_cast<const std::uint32_t*>(at[k]));
    };
    auto* out = reinterpret_cast<std::uint32_t*>(to);
    for (int k = 0; k < kJoined; k += 4, out += 12) {
      const auto second = block(k + 1);
      const auto third = block(k + 2);
      // Each pair as [x 0 1 2][0 1 2 x], of which four lanes are taken.
      hn::StoreU(hn::CombineShiftRightLanes<1>(d, second, hn::ShiftLeftLanes<1>(d, block(k))), d,
                 out);
      hn::StoreU(hn::CombineShiftRightLanes<2>(d, third, hn::ShiftLeftLanes<1>(d, second)), d,
                 out + 4);
      hn::StoreU(hn::CombineShiftRightLanes<3>(d, block(k + 3), hn::ShiftLeftLanes<1>(d, third)), d,
                 out + 8);
    }
  }
#endif
};
template <>
struct JoinedCopy<24> : ShortCopy<32> {
  static constexpr std::int64_t kBlock = 24;
  explicit JoinedCopy(std::int64_t block) : ShortCopy<32>(block) {}
#if HWY_TARGET == HWY_AVX3
  HWY_INLINE void join(std::byte* HWY_RESTRICT to, const std::byte* const* at) const {
    const auto block = [at](int k) HWY_ATTR { return _mm256_maskz_loadu_epi64(7, at[k]); };
    auto* out = reinterpret_cast<__m256i*>(to);
    for (int k = 0; k < kJoined; k += 4, out += 3) {
      const __m256i second = block(k + 1);
      const __m256i third = block(k + 2);
      // Lanes 4 to 7 are those of the other vector.
      const __m256i lanes0 = _mm256_setr_epi64x(0, 1, 2, 4);
      const __m256i lanes1 = _mm256_setr_epi64x(1, 2, 4, 5);
      const __m256i lanes2 = _mm256_setr_epi64x(2, 4, 5, 6);
      _mm256_storeu_si256(out, _mm256_permutex2var_epi64(block(k), lanes0, second));
      _mm256_storeu_si256(out + 1, _mm256_permutex2var_epi64(second, lanes1, third));
      _mm256_storeu_si256(out + 2, _mm256_permutex2var_epi64(third, lanes2, block(k + 3)));
    }
  }
#endif
};

template <typename Copy>
inline constexpr bool kJoins = requires(const Copy& copy, std::byte* to,
                                        const std::byte* const* at) {
  copy.join(to, at);
};

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
