/// \file  Kernels for windows: vectors of which some lanes travel, per instruction set. Only where
/// one instruction closes the gaps between lanes, and another opens them.
#if defined(STRAKE_COPY_CPU_WINDOW_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_WINDOW_INL_HPP
#undef STRAKE_COPY_CPU_WINDOW_INL_HPP
#else
#define STRAKE_COPY_CPU_WINDOW_INL_HPP
#endif

#include "copy/cpu/copy-inl.hpp"
#include "copy/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
using Units = hn::FixedTag<std::uint32_t, kWindowUnits>;
static_assert(sizeof(hn::TFromD<Units>) == kUnitBytes);

HWY_INLINE hn::Mask<Units> mask_of(const Window& window) {
  return hn::LoadMaskBits(Units(), reinterpret_cast<const std::uint8_t*>(&window.mask));
}

/// The lowest lanes of `units`, in order, at the lanes of the mask. The instruction itself: Highway
/// has no name for it before 1.0.5.
HWY_INLINE hn::Vec<Units> expanded(hn::Vec<Units> units, hn::Mask<Units> mask) {
  return hn::Vec<Units>{_mm512_maskz_expand_epi32(mask.raw, units.raw)};
}

/// How many of the windows [first, last) may move whole vectors of the dense side, which ends with
/// the last.
HWY_INLINE std::int64_t whole_vectors(const Window* windows, std::int64_t first,
                                      std::int64_t last) {
  const std::int64_t end = windows[last].position - kWindowUnits * kUnitBytes;
  while (last > first && windows[last - 1].position > end) --last;
  return last;
}

/// Into the dense side: what a vector writes past its window, the next one overwrites.
inline void pack_windows(const Window* windows, std::int64_t first, std::int64_t last,
                         std::byte* packed, const std::byte* strided) {
  const Units d;
  const auto gathered = [&](const Window& window) HWY_ATTR {
    const auto mask = mask_of(window);
    const auto* from = reinterpret_cast<const std::uint32_t*>(strided + window.offset);
    return hn::Compress(hn::MaskedLoad(mask, d, from), mask);
  };
  const auto to = [&](const Window& window) {
    return reinterpret_cast<std::uint32_t*>(packed + window.position);
  };
  const std::int64_t whole = whole_vectors(windows, first, last);
  for (; first < whole; ++first) hn::StoreU(gathered(windows[first]), d, to(windows[first]));
  for (; first < last; ++first) {
    const std::int64_t bytes = windows[first + 1].position - windows[first].position;
    hn::BlendedStore(gathered(windows[first]),
                     hn::FirstN(d, static_cast<std::size_t>(bytes / kUnitBytes)), d,
                     to(windows[first]));
  }
}

/// Out of the dense side: masked stores touch just the lanes that travel.
inline void unpack_windows(const Window* windows, std::int64_t first, std::int64_t last,
                           std::byte* strided, const std::byte* packed) {
  const Units d;
  const auto scatter = [&](const Window& window, hn::Vec<Units> units) HWY_ATTR {
    const auto mask = mask_of(window);
    hn::BlendedStore(expanded(units, mask), mask, d,
                     reinterpret_cast<std::uint32_t*>(strided + window.offset));
  };
  const auto from = [&](const Window& window) {
    return reinterpret_cast<const std::uint32_t*>(packed + window.position);
  };
  const std::int64_t whole = whole_vectors(windows, first, last);
  for (; first < whole; ++first) scatter(windows[first], hn::LoadU(d, from(windows[first])));
  for (; first < last; ++first) {
    const std::int64_t bytes = windows[first + 1].position - windows[first].position;
    scatter(windows[first],
            hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(bytes / kUnitBytes)), d,
                           from(windows[first])));
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
