/// \file  Kernels for windows: vectors of which some lanes travel. Only where loads and stores have
/// masks (AVX2 and AVX-512). Instructions that close or open the gaps between lanes by themselves
/// (vpcompressd, vpexpandd) take five cycles on Zen 5, the permutation here one. Vectors of 32
/// bytes: those of 64 nearly always cross a line, which costs more than they save.
#if defined(STRAKE_COPY_CPU_WINDOW_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_WINDOW_INL_HPP
#undef STRAKE_COPY_CPU_WINDOW_INL_HPP
#else
#define STRAKE_COPY_CPU_WINDOW_INL_HPP
#endif

#include "copy/cpu/copy-inl.hpp"
#include "copy/cpu/kernels.hpp"
#include "copy/cpu/list-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
/// The four bits of each lane, in its low bits; the bits above them are undefined.
HWY_INLINE __m256i lanes_of(const Window& window) {
  const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  return _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(window.lanes)), shifts);
}

/// The permutation reads only the low three bits of each index.
HWY_INLINE __m256i permuted(__m256i units, __m256i lanes) {
  return _mm256_permutevar8x32_epi32(units, lanes);
}

/// How many lanes a window has in the dense side.
HWY_INLINE int packed_count(const Window* window) {
  return static_cast<int>((window[1].position - window[0].position) / kUnitBytes);
}

#if HWY_TARGET == HWY_AVX3
using Lanes = __mmask8;
HWY_INLINE Lanes travelling(__m256i lanes) {
  return _mm256_test_epi32_mask(lanes, _mm256_set1_epi32(8));
}
HWY_INLINE Lanes first_lanes(int count) { return static_cast<Lanes>((1 << count) - 1); }
HWY_INLINE __m256i load(Lanes lanes, const std::byte* from) {
  return _mm256_maskz_loadu_epi32(lanes, from);
}
HWY_INLINE void store(Lanes lanes, __m256i units, std::byte* to) {
  _mm256_mask_storeu_epi32(to, lanes, units);
}
#else
/// AVX2's mask for loads and stores: a lane travels if its sign bit is set.
using Lanes = __m256i;
HWY_INLINE Lanes travelling(__m256i lanes) { return _mm256_slli_epi32(lanes, 28); }
HWY_INLINE Lanes first_lanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HWY_INLINE __m256i load(Lanes lanes, const std::byte* from) {
  return _mm256_maskload_epi32(reinterpret_cast<const int*>(from), lanes);
}
HWY_INLINE void store(Lanes lanes, __m256i units, std::byte* to) {
  _mm256_maskstore_epi32(reinterpret_cast<int*>(to), lanes, units);
}
#endif

/// The first window from which on whole vectors would reach past the end of the dense side.
HWY_INLINE std::int64_t whole_vectors(const Window* windows, std::int64_t first,
                                      std::int64_t last) {
  const std::int64_t end = windows[last].position - kWindowBytes;
  while (last > first && windows[last - 1].position > end) --last;
  return last;
}

template <bool kGapsReadable>
HWY_INLINE __m256i gathered(const Window& window, const std::byte* strided) {
  const std::byte* from = strided + window.offset;
  const __m256i lanes = lanes_of(window);
  if constexpr (kGapsReadable) {
    return permuted(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), lanes);
  }
  return permuted(load(travelling(lanes), from), lanes);
}

HWY_INLINE void scatter(const Window& window, __m256i units, std::byte* strided) {
  const __m256i lanes = lanes_of(window);
  store(travelling(lanes), permuted(units, lanes), strided + window.offset);
}

/// Packs: the next vector overwrites what one writes past its window.
template <bool kPrefetch, bool kGapsReadable>
void pack_windows(const Window* windows, std::int64_t first, std::int64_t last, std::byte* packed,
                  const std::byte* strided) {
  const std::int64_t whole = whole_vectors(windows, first, last);
  const auto move = [&](const Window& window) HWY_ATTR {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(packed + window.position),
                        gathered<kGapsReadable>(window, strided));
  };
  for (; first + (kPrefetch ? kListAhead : 0) + 4 <= whole; first += 4) {
    for (int k = 0; k < 4; ++k) {
      if constexpr (kPrefetch) {
        __builtin_prefetch(strided + windows[first + kListAhead + k].offset, 0);
      }
      move(windows[first + k]);
    }
  }
  for (; first < whole; ++first) move(windows[first]);
  for (; first < last; ++first) {
    store(first_lanes(packed_count(windows + first)),
          gathered<kGapsReadable>(windows[first], strided), packed + windows[first].position);
  }
}

#if HWY_TARGET == HWY_AVX3
/// Packs runs: windows whose first lanes travel, so that nothing is permuted.
inline void pack_runs(const UnitRun* runs, std::int64_t count, std::byte* packed,
                      const std::byte* strided) {
  const auto lanes_of = [](UnitRun run) { return static_cast<Lanes>(run >> kRunMaskBit); };
  const auto read = [&](UnitRun run) HWY_ATTR {
    return load(lanes_of(run), strided + std::int64_t{run >> kRunOffsetBit} * kUnitBytes);
  };
  // A vector is stored whole only if the kListStep runs after it overwrite its surplus.
  static_assert(kListStep >= kWindowUnits);
  for (; count >= 2 * kListStep; count -= kListStep, runs += kListStep) {
    fetch_dense<kWindowBytes * kListStep>(packed);
    for_step(reinterpret_cast<const std::int32_t*>(runs), [&](int, std::int32_t entry) HWY_ATTR {
      const auto run = static_cast<UnitRun>(entry);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(packed), read(run));
      packed += (run % kWindowUnits + 1) * kUnitBytes;
    });
  }
  for (; count > 0; --count, ++runs) {
    store(lanes_of(*runs), read(*runs), packed);
    packed += (*runs % kWindowUnits + 1) * kUnitBytes;
  }
}
#endif

/// Unpacks.
template <bool kPrefetch>
void unpack_windows(const Window* windows, std::int64_t first, std::int64_t last,
                    std::byte* strided, const std::byte* packed) {
  const std::int64_t whole = whole_vectors(windows, first, last);
  const auto move = [&](const Window& window) HWY_ATTR {
    const auto* from = reinterpret_cast<const __m256i*>(packed + window.position);
    scatter(window, _mm256_loadu_si256(from), strided);
  };
  for (; first + (kPrefetch ? kListAhead : 0) + 4 <= whole; first += 4) {
    for (int k = 0; k < 4; ++k) {
      if constexpr (kPrefetch) {
        fetch_to_store(strided + windows[first + kListAhead + k].offset);
      }
      move(windows[first + k]);
    }
  }
  for (; first < whole; ++first) move(windows[first]);
  for (; first < last; ++first) {
    scatter(windows[first],
            load(first_lanes(packed_count(windows + first)), packed + windows[first].position),
            strided);
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
