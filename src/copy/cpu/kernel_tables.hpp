/// \file  The kernel tables by Highway target, and the names that the targets have in settings and
/// descriptions.
#pragma once

#include <cstdint>

#include "copy/cpu/kernels.hpp"
#include "copy/cpu/targets.hpp"

namespace strake::cpu {

/// Null where the target was not compiled.
[[nodiscard]] const NestKernels* nest_kernels_of(std::int64_t target, CpuMake make);
[[nodiscard]] const ListKernels* list_kernels_of(std::int64_t target, CpuMake make);

constexpr const char* name_of_target(std::int64_t target) {
  switch (target) {
    case HWY_AVX3:
      return "avx512";
    case HWY_AVX2:
      return "avx2";
    case HWY_SSE4:
      return "sse4";
    case HWY_NEON:
      return "neon";
    default:
      return "baseline";
  }
}

}  // namespace strake::cpu
