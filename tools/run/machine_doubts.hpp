/// \file  Properties of this machine that make the times of a comparison say less.
#pragma once

#include <string>
#include <vector>

namespace strake::run {

/// Other processes that use CPUs, found by looking for 0.3 s; and limits of the CPUs' clocks.
[[nodiscard]] std::vector<std::string> machine_doubts();
/// A limit of the CPUs' clocks, as "the CPUs are limited to 2.0 of 3.5 GHz"; empty: none, or the
/// kernel tells of none.
[[nodiscard]] std::string clock_limit(const std::string& root = "/sys/devices/system/cpu");
/// "4 ranks share 2 CPUs"; empty: each has a CPU. `ranks`: on this node; 0: not known.
[[nodiscard]] std::string crowding(int ranks);

}  // namespace strake::run
