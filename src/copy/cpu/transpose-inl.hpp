/// \file  Kernels for transposing nests, per instruction set: one loop is (nearly) adjacent in
/// `from`, another in `to`, so that a plain loop would use a fraction of each line before it is
/// evicted. Tiles use all of both.
#if defined(STRAKE_COPY_CPU_TRANSPOSE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_TRANSPOSE_INL_HPP
#undef STRAKE_COPY_CPU_TRANSPOSE_INL_HPP
#else
#define STRAKE_COPY_CPU_TRANSPOSE_INL_HPP
#endif

#include <algorithm>

#include "copy/cpu/copy-inl.hpp"
#include "copy/cpu/kernels.hpp"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {

/// A plane of a transposing nest: element (i, j) goes from `from + i * from_i + j * from_j` to `to
/// + i * to_i + j * to_j`; i is near in `from`, j near in `to`.
struct Plane {
  std::int64_t count_i, count_j;
  std::int64_t to_i, to_j, from_i, from_j;
};

/// Tiles of a side whose lines and pages the caches hold at once: 64 rows of 64 elements of 8 bytes
/// are 32 KiB.
inline constexpr std::int64_t kTile = 64;
/// Transposes of more bytes store whole lines past the caches. Measured on doubles: 1.0 x at 2 MiB,
/// 1.4 x at 8 MiB, 3 x at 32 MiB; on 16-byte elements 0.85 x at 4 MiB. On Intel they do so from
/// kSecondLevelBytes on: 512 x 512 doubles 153 us, by way of the caches 220 us, and copied on from
/// there 358 and 369 us; 256 x 256 33 and 24 us.
inline constexpr std::int64_t kStreamedTranspose = std::int64_t{4} << 20;
/// Up to so many bytes, those that are stored past the caches go to so many rows at a time: the TLB
/// holds few pages that are written (16 on Intel). Measured against kTile rows: 512 x 512 of 8 and
/// 16 bytes 143 and 329 us (193 and 415; Intel), 1024 x 1024 0.85 and 0.79 x there, 0.84 and 1.27 x
/// on Zen 4; of 2048 x 2048 three times as long, since less of each row that is read is adjacent.
inline constexpr std::int64_t kNarrowTile = 8;
inline constexpr std::int64_t kNarrowTranspose = std::int64_t{12} << 20;
inline constexpr std::int64_t kNarrowTransposeOnIntel = std::int64_t{20} << 20;

/// By way of the caches, or past them in tiles of kNarrowTile or of kTile rows.
enum class Stores : std::uint8_t { Cached, Narrow, Wide };

/// Part [i0, i1) x [j0, j1) of a plane, block by block.
template <typename Copy>
HWY_INLINE void copy_tile(const Plane& p, const Copy& copy, std::byte* to, const std::byte* from,
                          std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
  for (std::int64_t i = i0; i < i1; ++i) {
    std::byte* t = to + i * p.to_i + j0 * p.to_j;
    const std::byte* f = from + i * p.from_i + j0 * p.from_j;
    for (std::int64_t j = j0; j < j1; ++j, t += p.to_j, f += p.from_j) copy(t, f);
  }
}

/// Squares of kSide elements by plain loads and stores.
template <typename Copy>
struct LoopSquare {
  static constexpr int kSide = 8;
  static constexpr bool kWholeLines = false;
  explicit LoopSquare(std::int64_t block) : copy(block) {}
  template <bool kStream>
  HWY_INLINE void run(const Plane& p, std::byte* to, const std::byte* from) const {
    for (int i = 0; i < kSide; ++i) {
      std::byte* t = to + i * p.to_i;
      const std::byte* f = from + i * p.from_i;
      for (int j = 0; j < kSide; ++j) copy(t + j * p.to_j, f + j * p.from_j);
    }
  }
  Copy copy;
};

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
template <typename V, typename D>
HWY_INLINE void interleave_pairs(D d, const V& a, const V& b, V& low, V& high) {
  low = hn::InterleaveLower(d, a, b);
  high = hn::InterleaveUpper(d, a, b);
}

#if HWY_TARGET <= HWY_AVX2
/// out[0], out[kStep], …: 16-byte lane 0, 1, … of each of the vectors, as many as one has lanes:
/// within halves, then across.
template <int kStep, typename V, typename D>
HWY_INLINE void transpose_lanes(D d, const V* v, V* out) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    out[0] = hn::ConcatLowerLower(d, v[1], v[0]);
    out[kStep] = hn::ConcatUpperUpper(d, v[1], v[0]);
  } else {
    const V even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[1]), v[0]);
    const V even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[3]), v[2]);
    const V odd01 = hn::OddEvenBlocks(v[1], hn::SwapAdjacentBlocks(v[0]));
    const V odd23 = hn::OddEvenBlocks(v[3], hn::SwapAdjacentBlocks(v[2]));
    out[0] = hn::ConcatLowerLower(d, even23, even01);
    out[kStep] = hn::ConcatLowerLower(d, odd23, odd01);
    out[2 * kStep] = hn::ConcatUpperUpper(d, even23, even01);
    out[3 * kStep] = hn::ConcatUpperUpper(d, odd23, odd01);
  }
}
#endif

/// Squares of adjacent elements of 8 or 16 bytes in registers: as many to a side as a vector holds.
template <int kBlock>
struct RegisterSquare {
  using D = hn::ScalableTag<std::uint64_t>;
  using V = hn::Vec<D>;
  static constexpr int kSide = static_cast<int>(hn::MaxLanes(D())) * 8 / kBlock;
  static constexpr bool kWholeLines = kSide * kBlock == 64;
  explicit RegisterSquare(std::int64_t) : copy(kBlock) {}

  template <bool kStream>
  HWY_INLINE void run(const Plane& p, std::byte* to, const std::byte* from) const {
    const D d;
    V in[kSide];
    for (int j = 0; j < kSide; ++j) {
      in[j] = hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(from + j * p.from_j));
    }
    V out[kSide];
    transpose(d, in, out);
    for (int i = 0; i < kSide; ++i) {
      auto* const row = reinterpret_cast<std::uint64_t*>(to + i * p.to_i);
      if constexpr (kStream) {
        hn::Stream(out[i], d, row);
      } else {
        hn::StoreU(out[i], d, row);
      }
    }
  }

  static HWY_INLINE void transpose(D d, const V* in, V* out) {
#if HWY_TARGET <= HWY_AVX2
    if constexpr (kBlock == 16) {
      transpose_lanes<1>(d, in, out);
    } else {
      // Rows 2k and 2k + 1 by pairs, then the 16-byte lanes.
      V low[kSide / 2], high[kSide / 2];
      for (int k = 0; k < kSide / 2; ++k) {
        interleave_pairs(d, in[2 * k], in[2 * k + 1], low[k], high[k]);
      }
      transpose_lanes<2>(d, low, out);
      transpose_lanes<2>(d, high, out + 1);
    }
#else
    static_assert(kSide == 2);
    interleave_pairs(d, in[0], in[1], out[0], out[1]);
#endif
  }

  FixedCopy<kBlock> copy;
};

/// Squares of 4 x 4 adjacent 4-byte elements in registers of 16 bytes.
struct RegisterSquare4 {
  static constexpr int kSide = 4;
  static constexpr bool kWholeLines = false;
  explicit RegisterSquare4(std::int64_t) : copy(4) {}
  template <bool kStream>
  HWY_INLINE void run(const Plane& p, std::byte* to, const std::byte* from) const {
    const hn::FixedTag<std::uint32_t, 4> d;
    const hn::FixedTag<std::uint64_t, 2> d64;
    const auto load = [&](int j) HWY_ATTR {
      return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(from + j * p.from_j));
    };
    const auto store = [&](int i, auto v) HWY_ATTR {
      hn::StoreU(hn::BitCast(d, v), d, reinterpret_cast<std::uint32_t*>(to + i * p.to_i));
    };
    const auto r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
    const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
    store(0, hn::InterleaveLower(d64, low01, low23));
    store(1, hn::InterleaveUpper(d64, low01, low23));
    store(2, hn::InterleaveLower(d64, high01, high23));
    store(3, hn::InterleaveUpper(d64, high01, high23));
  }
  FixedCopy<4> copy;
};
#endif

/// Squares of a plane, tile by tile. The lines of the next square, or the one after it, are fetched
/// while one is moved: their rows are too far apart for the hardware to foresee.
template <Stores kStores, typename Square>
HWY_INLINE void transpose_squares(const Plane& p, const Square& square, std::byte* to,
                                  const std::byte* from, std::int64_t j_begin, std::int64_t j_end) {
  constexpr int kSide = Square::kSide;
  constexpr bool kStream = kStores != Stores::Cached;
  constexpr bool kNarrow = kStores == Stores::Narrow;
  constexpr std::int64_t kTileI = kNarrow ? kNarrowTile : kTile;
  constexpr std::int64_t kTileJ = kStream ? kSide : kTile;  // near in `to`
  constexpr std::int64_t kAhead = kNarrow ? 2 * kSide : kSide;
  static_assert(kTileI % kSide == 0);
  const std::int64_t i_end = p.count_i - p.count_i % kSide;
  for (std::int64_t i0 = 0; i0 < i_end; i0 += kTileI) {
    const std::int64_t i1 = std::min(i0 + kTileI, i_end);
    for (std::int64_t j0 = j_begin; j0 < j_end; j0 += kTileJ) {
      const std::int64_t j1 = std::min(j0 + kTileJ, j_end);
      for (std::int64_t i = i0; i < i1; i += kSide) {
        for (std::int64_t j = j0; j < j1; j += kSide) {
          const std::byte* f = from + i * p.from_i + j * p.from_j;
          for (int k = 0; k < kSide; ++k) __builtin_prefetch(f + (kAhead + k) * p.from_j);
          square.template run<kStream>(p, to + i * p.to_i + j * p.to_j, f);
        }
      }
    }
  }
}

/// One plane: columns up to the first line of `to`, squares, and what squares leave over.
template <typename Square>
HWY_INLINE void transpose_plane(const Plane& p, const Square& square, std::byte* to,
                                const std::byte* from, Stores whole_lines) {
  constexpr int kSide = Square::kSide;
  std::int64_t j_begin = 0;
  Stores stores = Stores::Cached;
  if constexpr (Square::kWholeLines) {
    const std::int64_t to_line = -reinterpret_cast<std::intptr_t>(to) & (kLine - 1);
    if (p.to_i % kLine == 0 && to_line % p.to_j == 0) {
      j_begin = std::min(to_line / p.to_j, p.count_j);
      stores = whole_lines;
    }
  }
  const std::int64_t j_end = p.count_j - (p.count_j - j_begin) % kSide;
  if constexpr (Square::kWholeLines) {
    if (stores == Stores::Narrow) {
      transpose_squares<Stores::Narrow>(p, square, to, from, j_begin, j_end);
    } else if (stores == Stores::Wide) {
      transpose_squares<Stores::Wide>(p, square, to, from, j_begin, j_end);
    }
  }
  if (stores == Stores::Cached) {
    transpose_squares<Stores::Cached>(p, square, to, from, j_begin, j_end);
  }
  const std::int64_t i_end = p.count_i - p.count_i % kSide;
  copy_tile(p, square.copy, to, from, 0, p.count_i, 0, j_begin);
  copy_tile(p, square.copy, to, from, 0, i_end, j_end, p.count_j);
  copy_tile(p, square.copy, to, from, i_end, p.count_i, j_begin, p.count_j);
  if (stores != Stores::Cached) hwy::FlushStream();
}

/// A transposing nest: loop 0 is near in `to`, loop 1 near in `from`. Of more than `kCachedUpTo`
/// bytes, whole lines are stored past the caches.
template <typename Square, std::int64_t kCachedUpTo = kStreamedTranspose,
          std::int64_t kNarrowUpTo = kNarrowTranspose>
void run_transposed(const Nest& nest, std::byte* to, const std::byte* from) {
  const Square square(nest.block);
  const Loop l0 = nest.loops[0];
  const Loop l1 = nest.loops[1];
  const Loop l2 = nest.loops[2];
  const Loop l3 = nest.loops[3];
  const Plane p = {l1.count, l0.count, l1.to, l0.to, l1.from, l0.from};
  const std::int64_t bytes = bytes_of(nest);
  const Stores whole_lines = bytes <= kCachedUpTo   ? Stores::Cached
                             : bytes <= kNarrowUpTo ? Stores::Narrow
                                                    : Stores::Wide;
  for (std::int64_t k3 = 0; k3 < l3.count; ++k3) {
    for (std::int64_t k2 = 0; k2 < l2.count; ++k2) {
      transpose_plane(p, square, to + k3 * l3.to + k2 * l2.to, from + k3 * l3.from + k2 * l2.from,
                      whole_lines);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
