/// \file  What hwloc does for host.hpp, and what is done without it: host_hwloc.cpp or
/// host_plain.cpp is compiled.
#pragma once

#include <cstddef>

#include "host.hpp"

namespace strake::measure {

/// Everything but `cpu` and `memory_bytes`.
[[nodiscard]] Host count_host();
/// Pages not touched yet will lie on this NUMA node. \throws Unsupported
void place_memory(void* data, std::size_t bytes, int node);

}  // namespace strake::measure
