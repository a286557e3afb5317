/// \file  Kernels for nests of loops around blocks of one length, per instruction set.
#if defined(STRAKE_COPY_CPU_NEST_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef STRAKE_COPY_CPU_NEST_INL_HPP
#undef STRAKE_COPY_CPU_NEST_INL_HPP
#else
#define STRAKE_COPY_CPU_NEST_INL_HPP
#endif

#include <algorithm>
#include <type_traits>

#include "copy/cpu/copy-inl.hpp"
#include "copy/cpu/joined-inl.hpp"
#include "copy/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {

/// Runs `row(to, from)` for every step of the three outer loops.
template <typename Row>
HWY_INLINE void for_each_row(const Nest& nest, std::byte* to, const std::byte* from,
                             const Row& row) {
  const Loop l1 = nest.loops[1];
  const Loop l2 = nest.loops[2];
  const Loop l3 = nest.loops[3];
  for (std::int64_t i3 = 0; i3 < l3.count; ++i3, to += l3.to, from += l3.from) {
    std::byte* to2 = to;
    const std::byte* from2 = from;
    for (std::int64_t i2 = 0; i2 < l2.count; ++i2, to2 += l2.to, from2 += l2.from) {
      std::byte* to1 = to2;
      const std::byte* from1 = from2;
      for (std::int64_t i1 = 0; i1 < l1.count; ++i1, to1 += l1.to, from1 += l1.from)
        row(to1, from1);
    }
  }
}

/// Blocks one by one. What is read is not fetched ahead: while the TLB holds its pages, at every
/// distance tried that cost more than it saved. The row is inlined and holds its values: through
/// references they would be read again after each store, which made rows of 1 KiB 1.4 times as
/// slow.
template <typename Copy>
void run_blocks(const Nest& nest, std::byte* to, const std::byte* from) {
  const Copy copy(nest.block);
  const Loop l0 = nest.loops[0];
  const bool followed = l0.to == nest.block;
  for_each_row(
      nest, to,
      from, [=](std::byte * t, const std::byte* f) __attribute__((always_inline)) HWY_ATTR {
        std::int64_t left = l0.count;
        if constexpr (kJoins<Copy>) {
          if (followed) {
            for (; left >= kJoined; left -= kJoined, t += kJoined * l0.to) {
              if (l0.from >= kLine) fetch_dense<kJoined * Copy::kBlock>(t);
              const std::byte* at[kJoined];
              for (int k = 0; k < kJoined; ++k, f += l0.from) at[k] = f;
              copy.join(t, at);
            }
          }
        }
        if constexpr (requires { copy.overlong(t, f); }) {
          if (followed) {
            for (; left > 4; left -= 4, t += 4 * l0.to, f += 4 * l0.from) {
              fetch_dense<kLine>(t);
              for (int k = 0; k < 4; ++k) copy.overlong(t + k * l0.to, f + k * l0.from);
            }
          }
        }
        if constexpr (kOneATurn<Copy>) {
#pragma GCC unroll 1
          for (; left > 0; --left, t += l0.to, f += l0.from) copy(t, f);
        } else {
          for (; left >= 4; left -= 4, t += 4 * l0.to, f += 4 * l0.from) {
            if constexpr (std::is_same_v<Copy, FixedCopy<16>>) {
              if (followed) fetch_dense<4 * Copy::kBlock>(t);
            }
            copy(t, f);
            copy(t + l0.to, f + l0.from);
            copy(t + 2 * l0.to, f + 2 * l0.from);
            copy(t + 3 * l0.to, f + 3 * l0.from);
          }
          for (; left > 0; --left, t += l0.to, f += l0.from) copy(t, f);
        }
      });
}

/// Fills so many places of the CPU's instruction window, so that the CPU begins fewer of the
/// following loads at a time.
template <int kPlaces>
HWY_INLINE void hold_back() {
  if constexpr (kPlaces > 0) asm volatile(".rept %c0\n\tnop\n\t.endr" : : "i"(kPlaces));
}

/// Blocks whose pages the TLB does not hold. Fetching ahead overlaps the page walks; unpacking
/// loses by it but on Intel (10404 blocks of 40 B at 4240 B: 70 to 93 us, without 81 to 101 us).
/// Where each lies in a page of its own, packing gains by beginning fewer at a time: of 16 to 56 B
/// at 4072 to 16392 B held back by 14 places 0.89 to 1.10 of the time, on average 0.96, on a core
/// whose neighbour is idle, else up to 1.2 (Intel Xeon); by 40 places 0.84 to 1.04, on average 0.94
/// (Zen 4).
template <bool kUnpackFetches, int kHeldBack>
void run_far_blocks(const Nest& nest, std::byte* to, const std::byte* from) {
  constexpr std::int64_t kAhead = 32;
  const PieceCopy copy(nest.block);
  const Loop l0 = nest.loops[0];
  const bool many = l0.count >= 2 * kAhead;
  const bool packing = many && l0.to == nest.block;
  const bool unpacking = many && kUnpackFetches && l0.from == nest.block;
  for_each_row(nest, to, from, [=](std::byte* t, const std::byte* f) HWY_ATTR {
    for (std::int64_t left = l0.count; left > 0; --left, t += l0.to, f += l0.from) {
      if (packing) __builtin_prefetch(f + kAhead * l0.from);
      if (unpacking) fetch_to_store(t + kAhead * l0.to);
      hold_back<kHeldBack>();
      copy(t, f);
    }
  });
}

#if HWY_TARGET == HWY_AVX3
HWY_INLINE __m512i line_of(const std::int64_t (&e)[8]) {
  return _mm512_setr_epi64(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
}
HWY_INLINE __m512i line_of(const std::int32_t (&e)[16]) {
  return _mm512_setr_epi32(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11],
                           e[12], e[13], e[14], e[15]);
}

/// Packing of elements of 4 or 8 bytes whose pages the TLB does not hold: a line at a time, begun
/// when the one before is here, with what is read and what is stored to fetched ahead. Else the CPU
/// begins more lines than it can fetch at a time. Measured on two cores (Intel Xeon), relative to
/// one element after the other: 16384 of 8 B at 1040 B 0.76 to 1.00, at 2064 B 0.89 and 0.91, 65536
/// at 2064 B 0.88 and 0.90; fetched ahead without waiting 0.8 to 1.0, 0.9 to 1.05, 0.8 to 1.07.
template <int kBytes>
void pack_far_elements(const Nest& nest, std::byte* to, const std::byte* from) {
  constexpr std::int64_t kAhead = 32;
  constexpr int kOfLine = kLine / kBytes;
  using Element = std::conditional_t<kBytes == 4, std::int32_t, std::int64_t>;
  const Loop l0 = nest.loops[0];
  const Loop l1 = nest.loops[1];
  const std::int64_t none = unknown_zero();
  for_each_row(nest, to, from, [=](std::byte* t, const std::byte* f) HWY_ATTR {
    const std::byte* next_row = f + (l1.count > 1 ? l1.from : l0.count * l0.from);
    const auto lines = [&](std::int64_t count, const std::byte* ahead) HWY_ATTR {
      for (; count > 0; --count, t += kLine) {
        for (int k = 0; k < kOfLine; ++k) __builtin_prefetch(ahead + k * l0.from);
        fetch_dense<kLine>(t);
        Element line[kOfLine];
        for (int k = 0; k < kOfLine; ++k) std::memcpy(line + k, f + k * l0.from, kBytes);
        _mm512_storeu_si512(t, line_of(line));
        const std::int64_t step = kOfLine * l0.from + (line[kOfLine - 1] & none);
        f += step;
        ahead += step;
      }
    };
    const std::int64_t inside = std::max<std::int64_t>(l0.count - kAhead, 0) / kOfLine;
    lines(inside, f + kAhead * l0.from);
    lines(l0.count / kOfLine - inside, next_row);
    for (std::int64_t left = l0.count % kOfLine; left > 0; --left, t += kBytes, f += l0.from) {
      std::memcpy(t, f, kBytes);
    }
  });
}
#endif

/// Unpacking of blocks in lines of their own, more of them than stay in the L2 cache: stores wait
/// for their lines one after the other, so these are fetched ahead. Measured on 23729 blocks of 12
/// B at 320 B, in 24 places of memory (us; Intel Xeon): 39 to 129, by reading of each line ahead 42
/// to 72, so 38 to 57.
template <typename Copy>
void run_fetched_blocks(const Nest& nest, std::byte* to, const std::byte* from) {
  constexpr std::int64_t kAhead = 16;
  const Copy copy(nest.block);
  const Loop l0 = nest.loops[0];
  for_each_row(nest, to, from, [=](std::byte* t, const std::byte* f) HWY_ATTR {
    for (std::int64_t left = l0.count; left > 0; --left, t += l0.to, f += l0.from) {
      fetch_to_store(t + kAhead * l0.to);
      copy(t, f);
    }
  });
}

/// Blocks all of which lie in the same few sets of the caches, at multiples of 2 KiB: as the
/// columns of matrices whose rows are a power of two. More than a set's ways of them in flight
/// evict each other, so packing waits for every eighth (4096 of 8 B every 4 KiB: 16 us, by pairs 32
/// us; by one a turn 25 us, which is quicker up to 1024: 1.7 us against 2.8 us; Zen 4).
template <typename Copy>
void run_aligned_blocks(const Nest& nest, std::byte* to, const std::byte* from) {
  constexpr int kWays = 8;
  constexpr std::int64_t kFew = 2048;
  const Copy copy(nest.block);
  const Loop l0 = nest.loops[0];
  const bool packing = l0.to == nest.block && l0.count >= kFew;
  const std::int64_t none = unknown_zero();
  for_each_row(nest, to, from, [=](std::byte* t, const std::byte* f) HWY_ATTR {
    std::int64_t left = l0.count;
    if (packing) {
      for (; left >= kWays; left -= kWays) {
        for (int k = 0; k < kWays; ++k, t += l0.to, f += l0.from) copy(t, f);
        std::int64_t last;
        std::memcpy(&last, t - sizeof last, sizeof last);
        f += last & none;  // the next address is known when the last block is here
      }
    }
    for (; left > 0; --left, t += l0.to, f += l0.from) copy(t, f);
  });
}

#if HWY_TARGET != HWY_SCALAR
/// Packing of every second element: whole vectors are read, and their even lanes kept. Reads end
/// with the last element, since memory after it may not be mapped.
template <typename T>
void pack_every_second(const Nest& nest, std::byte* to, const std::byte* from) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t count = nest.loops[0].count;
  for_each_row(nest, to, from, [&](std::byte* t, const std::byte* f) HWY_ATTR {
    T* out = reinterpret_cast<T*>(t);
    const T* in = reinterpret_cast<const T*>(f);
    std::int64_t i = 0;
    for (; i + lanes < count; i += lanes, in += 2 * lanes) {
      hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, in + lanes), hn::LoadU(d, in)), d, out + i);
    }
    for (; i < count; ++i, in += 2) std::memcpy(out + i, in, sizeof(T));
  });
}

/// Unpacking of elements of 8 or 16 bytes by pairs: half as many loads.
template <int kBytes>
void unpack_pairs(const Nest& nest, std::byte* to, const std::byte* from) {
  const Loop l0 = nest.loops[0];
  for_each_row(nest, to, from, [=](std::byte* t, const std::byte* f) HWY_ATTR {
    std::int64_t left = l0.count;
#if HWY_TARGET <= HWY_AVX2
    constexpr int kPair = 2 * kBytes;
#else
    constexpr int kPair = 16;  // the widest vector that every target has
#endif
    if constexpr (kPair == 2 * kBytes) {
      const hn::CappedTag<std::uint8_t, kPair> d;
      const hn::Half<decltype(d)> half;
      for (; left >= 2; left -= 2, t += 2 * l0.to, f += kPair) {
        const auto pair = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(f));
        hn::StoreU(hn::LowerHalf(half, pair), half, reinterpret_cast<std::uint8_t*>(t));
        hn::StoreU(hn::UpperHalf(half, pair), half, reinterpret_cast<std::uint8_t*>(t + l0.to));
      }
    }
    for (; left > 0; --left, t += l0.to, f += kBytes) std::memcpy(t, f, kBytes);
  });
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();
#endif
