/// \file  Kernels for lists of blocks, per instruction set.
#if defined(STRAKE_COPY_CPU_LIST_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_LIST_INL_HPP
#undef STRAKE_COPY_CPU_LIST_INL_HPP
#else
#define STRAKE_COPY_CPU_LIST_INL_HPP
#endif

#include <bit>
#include <type_traits>

#include "copy/cpu/copy-inl.hpp"
#include "copy/cpu/joined-inl.hpp"
#include "copy/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {

/// Entries of 32 or 64 bits.
template <typename Index>
HWY_INLINE const Index* offsets_of(const List& list) {
  if constexpr (std::is_same_v<Index, std::int32_t>) return list.offsets32;
  if constexpr (std::is_same_v<Index, std::int64_t>) return list.offsets64;
}
template <typename Index>
HWY_INLINE const Index* positions_of(const List& list) {
  if constexpr (std::is_same_v<Index, std::int32_t>) return list.positions32;
  if constexpr (std::is_same_v<Index, std::int64_t>) return list.positions64;
}

/// How many entries ahead lines are fetched, in lists whose pages the TLB does not hold.
/// Measured on 1,000,000 random blocks of 8 bytes in 32 MiB: 19 ms without, 13 ms with 16, 8.5 ms
/// with 32.
inline constexpr std::int64_t kListAhead = 32;

/// The common length; a constant for the compiler if the copy has one.
template <typename Copy>
HWY_INLINE std::int64_t block_of(const List& list) {
  if constexpr (requires { Copy::kBlock; }) {
    return Copy::kBlock;
  } else {
    return list.block;
  }
}

/// Steps of a list's loop, and its offsets at `i` to `i + kListStep`: of 32 bits two at a time,
/// which saves loads. Measured on 3000 blocks of 4 and 8 bytes: 0.56 us and 0.67 us, against 0.74
/// us and 0.88 us.
inline constexpr int kListStep = 8;
template <typename Index, typename Use>
HWY_INLINE void for_step(const Index* offsets, const Use& use) {
  if constexpr (std::is_same_v<Index, std::int32_t> && std::endian::native == std::endian::little) {
    for (int k = 0; k < kListStep; k += 2) {
      std::int64_t two = 0;
      std::memcpy(&two, offsets + k, sizeof two);
      use(k, static_cast<std::int32_t>(two));
      use(k + 1, static_cast<std::int32_t>(two >> 32));
    }
  } else {
    for (int k = 0; k < kListStep; ++k) use(k, offsets[k]);
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
/// Blocks of 4 or 8 bytes; `gather(to, strided, offsets)` packs kListStep of them. Measured on 3008
/// and 12000 blocks of four times as many places, in order (us; Intel Xeon): 4 B 0.87 and 3.4,
/// joined 1.10 and 4.4; 8 B 1.15 and 4.6, joined 1.38 and 5.5.
template <int kBytes>
struct GatheredCopy : FixedCopy<kBytes> {
  using FixedCopy<kBytes>::FixedCopy;
  static HWY_INLINE void gather(std::byte* HWY_RESTRICT to, const std::byte* strided,
                                const std::int32_t* offsets) {
    if constexpr (kBytes == 4) {
      const auto at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(offsets));
      const auto* from = reinterpret_cast<const int*>(strided);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_i32gather_epi32(from, at, 1));
    } else {
      static_assert(kBytes == 8);
      const auto* from = reinterpret_cast<const long long*>(strided);
      for (int k = 0; k < kListStep; k += 4) {
        const auto at = _mm_loadu_si128(reinterpret_cast<const __m128i*>(offsets + k));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + k * kBytes),
                            _mm256_i32gather_epi64(from, at, 1));
      }
    }
  }
};
#endif

/// Packs blocks of one length.
template <typename Copy, typename Index, bool kPrefetch>
void pack_list(const List& list, std::int64_t first, std::int64_t last, std::byte* packed,
               const std::byte* strided) {
  const Copy copy(list.block);
  const Index* offsets = offsets_of<Index>(list);
  const std::int64_t block = block_of<Copy>(list);
  std::byte* to = packed + first * block;
  std::int64_t i = first;
  for (; i + (kPrefetch ? kListAhead : 0) + kListStep < last; i += kListStep) {
    if constexpr (kPrefetch) {
      for (int k = 0; k < kListStep; ++k) __builtin_prefetch(strided + offsets[i + kListAhead + k]);
    }
    if constexpr (requires { copy.gather(to, strided, offsets); }) {
      copy.gather(to, strided, offsets + i);
    } else if constexpr (kJoins<Copy>) {
      static_assert(kListStep == kJoined);
      const std::byte* at[kJoined];
      for_step(offsets + i, [&](int k, std::int64_t offset) { at[k] = strided + offset; });
      copy.join(to, at);
    } else {
      for_step(offsets + i, [&](int k, std::int64_t offset) HWY_ATTR {
        copy_followed(copy, to + k * block, strided + offset);
      });
    }
    to += kListStep * block;
  }
  for (; i < last; ++i, to += block) copy(to, strided + offsets[i]);
}

/// Unpacks blocks of one length.
template <typename Copy, typename Index, bool kPrefetch>
void unpack_list(const List& list, std::int64_t first, std::int64_t last, std::byte* strided,
                 const std::byte* packed) {
  const Copy copy(list.block);
  const Index* offsets = offsets_of<Index>(list);
  const std::int64_t block = block_of<Copy>(list);
  const std::byte* from = packed + first * block;
  std::int64_t i = first;
  for (; i + (kPrefetch ? kListAhead : 0) + kListStep <= last; i += kListStep) {
    if constexpr (kPrefetch) {
      for (int k = 0; k < kListStep; ++k) {
        fetch_to_store(strided + offsets[i + kListAhead + k]);
      }
    }
    for_step(offsets + i, [&](int k, std::int64_t offset)
                              HWY_ATTR { copy(strided + offset, from + k * block); });
    from += kListStep * block;
  }
  for (; i < last; ++i, from += block) copy(strided + offsets[i], from);
}

/// Packs blocks of unequal lengths, in pieces of kWidth bytes whatever the length: the next block
/// overwrites what a piece writes past its block. Pieces that would leave the layout or the dense
/// side are cut. Uses vectors of kVector bytes: shorter ones cross fewer lines.
/// Measured on 20000 and 2000 blocks of 8 to 128 B (us, Intel): 153 and 7.3, by 32 B 147 and 9.0.
template <int kWidth, typename Index, int kVector = kWidth>
void pack_lengths(const List& list, std::int64_t first, std::int64_t last, std::byte* packed,
                  const std::byte* strided) {
  const Index* offsets = offsets_of<Index>(list);
  const Index* positions = positions_of<Index>(list);
  const std::int64_t writable_end = positions[last];
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t offset = offsets[i];
    const std::int64_t position = positions[i];
    const std::int64_t bytes = positions[i + 1] - position;
    const std::int64_t rounded = (bytes + kWidth - 1) & -kWidth;
    if (offset + rounded <= list.readable_end && position + rounded <= writable_end &&
        bytes <= 4 * kWidth) {
      std::byte* to = packed + position;
      const std::byte* from = strided + offset;
      const auto piece = [&](std::int64_t at) HWY_ATTR {
        for (int k = 0; k < kWidth; k += kVector) {
          copy_power<kVector>(to + at + k, from + at + k);
        }
      };
      piece(0);
      for (std::int64_t at = kWidth; at < bytes; at += kWidth) piece(at);
    } else {
      copy_any(packed + position, strided + offset, bytes);
    }
  }
}

/// Unpacks blocks of unequal lengths: no byte past a block may be written.
template <int kVectors, typename Index>
void unpack_lengths(const List& list, std::int64_t first, std::int64_t last, std::byte* strided,
                    const std::byte* packed) {
  const Index* offsets = offsets_of<Index>(list);
  const Index* positions = positions_of<Index>(list);
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t position = positions[i];
    const std::int64_t bytes = positions[i + 1] - position;
#if HWY_TARGET == HWY_AVX3
    // Masked stores touch just their bytes, without a branch on the length class.
    const Bytes d;
    std::uint8_t* to = reinterpret_cast<std::uint8_t*>(strided + offsets[i]);
    const std::uint8_t* from = reinterpret_cast<const std::uint8_t*>(packed + position);
    if (bytes <= kVectors * kVectorBytes) {
      for (std::int64_t at = 0; at < kVectors * kVectorBytes; at += kVectorBytes) {
        // max(left, 0) without a branch, which random lengths would mispredict.
        const std::int64_t left = bytes - at;
        const auto mask = hn::FirstN(d, static_cast<std::size_t>(left & ~(left >> 63)));
        hn::BlendedStore(hn::MaskedLoad(mask, d, from + at), mask, d, to + at);
      }
      continue;
    }
    if (bytes <= 8 * kVectorBytes) {
      std::int64_t at = 0;
      for (; at + kVectorBytes < bytes; at += kVectorBytes)
        hn::StoreU(hn::LoadU(d, from + at), d, to + at);
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(bytes - at));
      hn::BlendedStore(hn::MaskedLoad(mask, d, from + at), mask, d, to + at);
      continue;
    }
#endif
    copy_any(strided + offsets[i], packed + position, bytes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
