/// \file  The benchmarks that need nothing but the CPU. They spend at most `memory` bytes.
#pragma once

#include <cstdint>

#include "../case.hpp"

namespace strake::measure {

/// \{ copy/cpu/…, copy/numa/…: memcpy. pack/cpu/…, unpack/cpu/…: Strake's own copies.
void add_memcpy(Cases& cases, std::int64_t memory);
void add_cpu_packs(Cases& cases, std::int64_t memory);
/// \}

}  // namespace strake::measure
