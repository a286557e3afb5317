/// \file  Copies of one block, per instruction set: lengths known to the compiler, length classes,
/// and any length. Included once for each target; none reads or writes a byte outside its block.
#if defined(STRAKE_COPY_CPU_COPY_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_COPY_INL_HPP
#undef STRAKE_COPY_CPU_COPY_INL_HPP
#else
#define STRAKE_COPY_CPU_COPY_INL_HPP
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "copy/cpu/few.hpp"
#include "copy/cpu/kernels.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
/// Widest piece that one load and one store move; without vectors, however the compiler copies 16
/// bytes.
inline constexpr int kVectorBytes =
    hn::MaxLanes(Bytes()) < 16 ? 16 : static_cast<int>(hn::MaxLanes(Bytes()));

/// Fetches a line that will be stored to. The compiler makes this of __builtin_prefetch() only for
/// CPUs that are known to have it, else the fetching of a line that will be read, by which these
/// stores gain less. (CPUs that do not have it ignore it.)
HWY_INLINE void fetch_to_store([[maybe_unused]] const std::byte* p) {
#if HWY_ARCH_X86_64
  asm volatile("prefetchw %0" : : "m"(*p));
#else
  __builtin_prefetch(p, 1);
#endif
}

/// Zero, but the compiler does not know that. Adding `value & unknown_zero()` to an address makes
/// the access wait for the value.
HWY_INLINE std::int64_t unknown_zero() {
  std::int64_t zero = 0;
  asm volatile("" : "+r"(zero));
  return zero;
}

/// Where `kBytes` bytes are packed to `packed`, fetches what will be stored to some steps later.
/// Measured (us; Intel Xeon): 23729 blocks of 12 B at 320 B 52, so 48; 17000 of 9 B at 16 B 11.3
/// and 7.8; 4096 of 16 B at 64 B 2.9 and 2.5; 3000 of 12 B to 96 B as runs 5.7 and 4.8. Lists of 12
/// B lose (in order 26 and 29, in no order 34 and 37), so do 17000 of 12 B at 16 B (6.2 and 6.5).
template <int kBytes>
HWY_INLINE void fetch_dense(const std::byte* packed) {
  constexpr int kAhead = 512;
  for (int at = 0; at < kBytes; at += kLine) fetch_to_store(packed + kAhead + at);
}

/// `kBytes` adjacent bytes, a power of two.
template <int kBytes>
HWY_INLINE void copy_power(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) {
  static_assert((kBytes & (kBytes - 1)) == 0);
  if constexpr (kBytes <= 16) {
    std::memcpy(to, from, kBytes);
  } else if constexpr (kBytes > kVectorBytes) {
    copy_power<kBytes / 2>(to, from);
    copy_power<kBytes / 2>(to + kBytes / 2, from + kBytes / 2);
  } else {
    const hn::CappedTag<std::uint8_t, kBytes> d;
    hn::StoreU(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from)), d,
               reinterpret_cast<std::uint8_t*>(to));
  }
}

constexpr int floor_power(int bytes) {
  int power = 1;
  while (power * 2 <= bytes) power *= 2;
  return power;
}

/// A length that the compiler knows: the largest power of two, then the rest.
template <int kBytes>
struct FixedCopy {
  static constexpr std::int64_t kBlock = kBytes;
  static constexpr bool kOneATurn = kBytes > 64;
  explicit FixedCopy(std::int64_t) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    constexpr int kHead = floor_power(kBytes);
    copy_power<kHead>(to, from);
    if constexpr (kBytes > kHead) FixedCopy<kBytes - kHead>(0)(to + kHead, from + kHead);
  }
};

/// Any length in [kHead, kHead + kTail]: its head and its tail, which may overlap.
template <int kHead, int kTail = kHead>
struct OverlapCopy {
  static constexpr bool kOneATurn = kHead >= 32;
  explicit OverlapCopy(std::int64_t block) : tail(block - kTail) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    copy_power<kHead>(to, from);
    copy_power<kTail>(to + tail, from + tail);
  }
  std::int64_t tail;
};

/// Any length in [kPower / 2, kPower] that is whole lanes, as few loads and stores as can be: one
/// masked one each where the instruction set has them, else as OverlapCopy. Vectors of 64 bytes are
/// stored by lanes of 1 B in 1.6 ns, of 4 B in 1.0 ns (Intel Xeon); shorter ones are level.
#if HWY_TARGET == HWY_AVX3
template <int kPower, typename Lane = std::uint8_t>
struct ShortCopy {
  using D = hn::CappedTag<Lane, kPower / sizeof(Lane)>;
  explicit ShortCopy(std::int64_t block)
      : mask(hn::FirstN(D(), static_cast<std::size_t>(block) / sizeof(Lane))) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    hn::BlendedStore(hn::MaskedLoad(mask, D(), reinterpret_cast<const Lane*>(from)), mask, D(),
                     reinterpret_cast<Lane*>(to));
  }
  /// Stores a whole vector, for a dense side where the next block overwrites the surplus.
  HWY_INLINE void overlong(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const
      requires(kPower <= 32)  // most vectors of 64 bytes would cross a line
  {
    hn::StoreU(hn::MaskedLoad(mask, D(), reinterpret_cast<const Lane*>(from)), D(),
               reinterpret_cast<Lane*>(to));
  }
  hn::Mask<D> mask;
};
#else
template <int kPower>
using ShortCopy = OverlapCopy<kPower / 2>;
#endif

/// Any length of at least a vector: whole vectors, and one that ends where the block ends. (The
/// length is a local copy: a store of bytes might change a member.)
struct VectorCopy {
  static constexpr bool kOneATurn = true;
  explicit VectorCopy(std::int64_t block) : length(block) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    constexpr int kStep = 4 * kVectorBytes;
    const std::int64_t bytes = length;
    std::int64_t at = 0;
    for (; at + kStep <= bytes; at += kStep) copy_power<kStep>(to + at, from + at);
    for (; at + kVectorBytes <= bytes; at += kVectorBytes) {
      copy_power<kVectorBytes>(to + at, from + at);
    }
    if (at < bytes)
      copy_power<kVectorBytes>(to + bytes - kVectorBytes, from + bytes - kVectorBytes);
  }
  std::int64_t length;
};

/// Rows that come from the L2 cache: one load and one store for all of them, since prefetchers tell
/// streams apart by their instructions. Measured on 128 rows of 1 KiB at 1040 B: 1.36 us, unrolled
/// by two or four 1.85 us, by 64 bytes 1.57 us.
struct RowCopy {
  static constexpr bool kOneATurn = true;
  explicit RowCopy(std::int64_t block) : length(block) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    constexpr int kPiece = 32;
    const std::int64_t bytes = length;
    std::int64_t at = 0;
#pragma GCC unroll 1
    for (; at + kPiece <= bytes; at += kPiece) copy_power<kPiece>(to + at, from + at);
    if (at < bytes) copy_power<kPiece>(to + bytes - kPiece, from + bytes - kPiece);
  }
  std::int64_t length;
};

/// A multiple of 8 bytes in pieces that do not overlap, 32 bytes first: of what begins at a
/// multiple of 8, few cross a cache line. A load that crosses lines of a page that the TLB does not
/// hold costs more than several that do not.
struct PieceCopy {
  static constexpr bool kOneATurn = true;
  explicit PieceCopy(std::int64_t block) : length(block) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    const std::int64_t bytes = length;
    std::int64_t at = 0;
#pragma GCC unroll 1
    for (; at + 32 <= bytes; at += 32) copy_power<32>(to + at, from + at);
    if (at + 16 <= bytes) {
      copy_power<16>(to + at, from + at);
      at += 16;
    }
    if (at < bytes) copy_power<8>(to + at, from + at);
  }
  std::int64_t length;
};

/// The rest of a block of at least a vector, from `at` on: whole vectors, and one that ends where
/// the block ends.
HWY_INLINE void copy_vectors(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from,
                             std::int64_t at, std::int64_t bytes) {
#pragma GCC unroll 1
  for (; at + kVectorBytes <= bytes; at += kVectorBytes) {
    copy_power<kVectorBytes>(to + at, from + at);
  }
  if (at < bytes) copy_power<kVectorBytes>(to + bytes - kVectorBytes, from + bytes - kVectorBytes);
}

/// Rows of at least a vector, stored in whole lines but for both ends. Measured on an Intel Xeon,
/// 256 rows of 2 KiB at 2064 B, unpacked: 14.1 to 15.0 us, by RowCopy 15.8 to 20.6 us, by the C
/// library 15.4 to 16.9 us; 470 rows of 136 B at 160 B, packed: 1.9, 2.4, 3.8 us; in the L1 cache
/// 60 rows of 296 B at 320 B: 0.21, 0.28, 0.39 us. Unrolled by two: 3.1 us of the 470 rows.
struct LineCopy {
  static constexpr bool kOneATurn = true;
  explicit LineCopy(std::int64_t block) : length(block) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    const std::int64_t bytes = length;
    copy_power<kVectorBytes>(to, from);
    std::int64_t at = kVectorBytes - static_cast<std::int64_t>(
                                         reinterpret_cast<std::uintptr_t>(to) % kVectorBytes);
    copy_vectors(to, from, at, bytes);
  }
  std::int64_t length;
};

#if HWY_TARGET == HWY_AVX3
/// Rows within the L1 cache, stored in whole lines but for both ends, and read so, too, where they
/// begin at a multiple of 4 bytes: a load that crosses lines takes as long as two, and to shift two
/// vectors into one less. Measured on 9 rows of 2 KiB, 24 bytes past a line (Intel Xeon): 0.130 us,
/// by LineCopy 0.168 us; on 18 KiB of whole lines, two a turn, 0.100 and 0.130 us.
struct ShiftedCopy {
  static constexpr bool kOneATurn = true;
  explicit ShiftedCopy(std::int64_t block) : length(block) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    const auto past_line = [](const std::byte* p) {
      return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) % kLine);
    };
    const std::int64_t bytes = length;
    copy_power<kLine>(to, from);
    std::int64_t at = kLine - past_line(to);
    const std::int64_t shift = past_line(from + at);
    if (shift == 0) {
#pragma GCC unroll 1
      for (; at + 2 * kLine <= bytes; at += 2 * kLine) copy_power<2 * kLine>(to + at, from + at);
    } else if (shift % 4 == 0) {
      if (at < shift) {  // that line begins before the row
        copy_power<kLine>(to + at, from + at);
        at += kLine;
      }
      const auto line = [from, shift](std::int64_t where) HWY_ATTR {
        __m512i value = _mm512_load_si512(from + where - shift);
        asm("" : "+v"(value));  // else the compiler would load it for each use
        return value;
      };
      const __m512i lanes =
          _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32(static_cast<int>(shift / 4)));
      __m512i low = line(at);
      for (; at + 3 * kLine <= bytes; at += 2 * kLine) {
        const __m512i middle = line(at + kLine);
        _mm512_store_si512(to + at, _mm512_permutex2var_epi32(low, lanes, middle));
        low = line(at + 2 * kLine);
        _mm512_store_si512(to + at + kLine, _mm512_permutex2var_epi32(middle, lanes, low));
      }
    }
    copy_vectors(to, from, at, bytes);
  }
  std::int64_t length;
};
#endif

/// Long blocks: memcpy, which knows the machine's string instructions.
struct LongCopy {
  explicit LongCopy(std::int64_t block) : bytes(static_cast<std::size_t>(block)) {}
  HWY_INLINE void operator()(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from) const {
    std::memcpy(to, from, bytes);
  }
  std::size_t bytes;
};

/// Whether a copy's loads are to stay one instruction for all blocks, by which prefetchers tell
/// streams apart, rather than one for each of four blocks. Measured on an Intel Xeon: 1155 rows of
/// 296 B at 320 B by LineCopy 9.1 us, four a turn 12.7 us; 1089 blocks of 40 B at 1480 B 1.65 and
/// 1.86 us; of 24 B 1.25 and 1.32 us, but 102 of them, in the L1 cache, 71 and 49 ns.
template <typename Copy>
inline constexpr bool kOneATurn = requires {
  requires Copy::kOneATurn;
};

/// `Copy` as a copy whose loads stay one instruction for all blocks.
template <typename Copy>
struct OneATurn : Copy {
  static constexpr bool kOneATurn = true;
  using Copy::Copy;
};

/// Copies a block into a dense side where another block of its length follows.
template <typename Copy>
HWY_INLINE void copy_followed(const Copy& copy, std::byte* HWY_RESTRICT to,
                              const std::byte* HWY_RESTRICT from) {
  if constexpr (requires { copy.overlong(to, from); }) {
    copy.overlong(to, from);
  } else {
    copy(to, from);
  }
}

/// Any length, known only at run time: one branch for each length class.
HWY_INLINE void copy_any(std::byte* HWY_RESTRICT to, const std::byte* HWY_RESTRICT from,
                         std::int64_t bytes) {
  if (bytes >= 16) {
    if (bytes <= 32) return OverlapCopy<16>(bytes)(to, from);
    if (bytes <= 64) return OverlapCopy<32>(bytes)(to, from);
    if (bytes <= 128) return OverlapCopy<64>(bytes)(to, from);
    return bytes < 1024 ? VectorCopy(bytes)(to, from) : LongCopy(bytes)(to, from);
  }
  copy_few(to, from, bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
