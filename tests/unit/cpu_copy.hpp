/// \file  The fixture of tests of the CPU back end: once for every instruction set that this
/// machine runs, and for the choices of other makes of CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "copy/cpu/compile.hpp"
#include "random_layouts.hpp"

namespace strake {

class CpuCopy : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    seed_ = std::random_device()();
    if (const char* fixed = std::getenv("STRAKE_TEST_SEED")) seed_ = std::stoull(fixed);
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed_));
    random_.seed(seed_);
    options_.kernels = &cpu::kernels_of_every_make()[GetParam()];
  }
  std::uint64_t seed_ = 0;
  Random random_;
  cpu::Options options_;
};

inline auto every_kernels() {
  return testing::Range<std::size_t>(0, cpu::kernels_of_every_make().size());
}

inline std::string name_of_kernels(const testing::TestParamInfo<std::size_t>& param) {
  return std::string(cpu::kernels_of_every_make()[param.param].nest->name) + "_" +
         std::to_string(param.param);
}

}  // namespace strake
