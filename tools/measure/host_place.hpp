/// \file  The parts of host.hpp that hwloc does (host_hwloc.cpp), or that are done without it
/// (host_plain.cpp): one of the two is compiled.
#pragma once

#include <cstddef>

#include "host.hpp"

namespace strake::measure {

/// All members except `cpu` and `memory_bytes`.
[[nodiscard]] Host count_host();
/// Pages not touched yet will lie on this NUMA node. \throws Unsupported
void place_memory(void* data, std::size_t bytes, int node);

}  // namespace strake::measure
