/// \file  The key of a machine and what it is made of, from files below any folder: for tests,
/// which make up machines.
#pragma once

#include <string>

namespace strake::machine {

/// The key, with /proc and /sys taken from below `root` ("" for the machine itself).
[[nodiscard]] std::string machine_key_below(const std::string& root);
/// The version of NVIDIA's driver, "570.86.15", from the same place; "unknown" where it isn't told.
[[nodiscard]] std::string driver_version_below(const std::string& root);

}  // namespace strake::machine
