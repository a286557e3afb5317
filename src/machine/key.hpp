/// \file  The key of a machine, read from files below any folder: for tests, which invent machines.
#pragma once

#include <string>

namespace strake::machine {

/// The key, with /proc and /sys taken from below `root` ("" for the machine itself).
[[nodiscard]] std::string machine_key_below(const std::string& root);
/// The version of NVIDIA's driver, "570.86.15", from the same folder; "unknown" if no file has it.
[[nodiscard]] std::string driver_version_below(const std::string& root);

}  // namespace strake::machine
