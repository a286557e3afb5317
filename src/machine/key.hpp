/// \file  The key of a machine, from files below any folder: for tests, which make up machines.
#pragma once

#include <string>

namespace strake::machine {

/// The key, with /proc and /sys taken from below `root` ("" for the machine itself).
[[nodiscard]] std::string machine_key_below(const std::string& root);

}  // namespace strake::machine
