#include "copy/cpu/kernel_tables.hpp"

#include <string_view>
#include <vector>

#include "settings/settings.hpp"
#include "state/process_state.hpp"

namespace strake::cpu {
namespace {

/// Whether this CPU and system run code compiled for a target. Asked of the compiler's own run-time
/// check: Highway's would bring its shared library into every process that a preloaded library
/// serves.
bool runs_here(std::int64_t target) {
  if (target == HWY_STATIC_TARGET) return true;
#if HWY_ARCH_X86
  const bool sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (target == HWY_SSE4) return sse4;
  if (target == HWY_AVX2) return avx2;
  if (target == HWY_AVX3) return avx512;
#endif
  // Each other target is compiled only for an architecture that has it.
  return target == HWY_SCALAR || target == HWY_EMU128 || target == HWY_NEON;
}

CpuMake this_make() {
#if HWY_ARCH_X86
  if (__builtin_cpu_is("amd")) return CpuMake::Amd;
  if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16")) return CpuMake::Intel;
#endif
  return CpuMake::Other;
}

/// Compiled and runnable targets, best first, as (target, kernels).
struct Available {
  std::vector<std::int64_t> targets;
  std::vector<Kernels> kernels;

  Available() {
    const auto add = [&](std::int64_t target) {
      if (!runs_here(target)) return;
      targets.push_back(target);
      kernels.push_back(
          {nest_kernels_of(target, this_make()), list_kernels_of(target, this_make())});
    };
#define STRAKE_ADD(ns, value) add(value);
    STRAKE_EACH_TARGET(STRAKE_ADD)
#undef STRAKE_ADD
  }
};

const Available& available() { return ProcessState::part<const Available>(); }

bool allowed(std::int64_t target, std::string_view simd) {
  if (simd == "baseline") return target != HWY_AVX2 && target != HWY_AVX3;
  if (simd == "avx2") return target != HWY_AVX3;
  return true;
}

const Kernels& choose_default() {
  const std::string_view simd = settings::text(settings::Id::simd);
  const Available& all = available();
  for (std::size_t i = 0; i < all.targets.size(); ++i) {
    if (allowed(all.targets[i], simd)) return all.kernels[i];
  }
  return all.kernels.back();
}

}  // namespace

std::span<const Kernels> available_kernels() { return available().kernels; }

std::span<const Kernels> kernels_of_every_make() {
  struct EveryMake {
    std::vector<Kernels> kernels = available().kernels;
    EveryMake() {
      const std::int64_t best = available().targets.front();
      for (const CpuMake make : {CpuMake::Other, CpuMake::Amd, CpuMake::Intel}) {
        if (make != this_make())
          kernels.push_back({nest_kernels_of(best, make), list_kernels_of(best, make)});
      }
    }
  };
  return ProcessState::part<const EveryMake>().kernels;
}

const Kernels& default_kernels() {
  static const Kernels& chosen = choose_default();
  return chosen;
}

}  // namespace strake::cpu
