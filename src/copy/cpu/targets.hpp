/// \file  Which instruction sets the kernels are compiled for. Include before hwy/highway.h.
#pragma once

// AVX-512 beyond its first server form (targets of lower value) and SSSE3 add nothing to copies;
// vectors of a length that only the machine knows do not fit register transposes.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | (HWY_AVX3 - 1) | HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)

#include <hwy/detect_targets.h>

// STRAKE_EACH_TARGET(X) is X(namespace, target value) for every compiled target, best first.
#if HWY_TARGETS & HWY_AVX3
#define STRAKE_IF_AVX3(X) X(N_AVX3, HWY_AVX3)
#else
#define STRAKE_IF_AVX3(X)
#endif
#if HWY_TARGETS & HWY_AVX2
#define STRAKE_IF_AVX2(X) X(N_AVX2, HWY_AVX2)
#else
#define STRAKE_IF_AVX2(X)
#endif
#if HWY_TARGETS & HWY_SSE4
#define STRAKE_IF_SSE4(X) X(N_SSE4, HWY_SSE4)
#else
#define STRAKE_IF_SSE4(X)
#endif
#if HWY_TARGETS & HWY_SCALAR
#define STRAKE_IF_SCALAR(X) X(N_SCALAR, HWY_SCALAR)
#else
#define STRAKE_IF_SCALAR(X)
#endif
#if HWY_TARGETS & HWY_EMU128
#define STRAKE_IF_EMU128(X) X(N_EMU128, HWY_EMU128)
#else
#define STRAKE_IF_EMU128(X)
#endif
#if HWY_TARGETS & HWY_NEON
#define STRAKE_IF_NEON(X) X(N_NEON, HWY_NEON)
#else
#define STRAKE_IF_NEON(X)
#endif
#if defined(HWY_SSE2) && (HWY_TARGETS & HWY_SSE2)
#define STRAKE_IF_SSE2(X) X(N_SSE2, HWY_SSE2)
#else
#define STRAKE_IF_SSE2(X)
#endif
#define STRAKE_EACH_TARGET(X) \
  STRAKE_IF_AVX3(X)           \
  STRAKE_IF_AVX2(X)           \
  STRAKE_IF_SSE4(X) STRAKE_IF_SSE2(X) STRAKE_IF_NEON(X) STRAKE_IF_EMU128(X) STRAKE_IF_SCALAR(X)
