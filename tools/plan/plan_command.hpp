/// \file  `strake plan`: what an exchange of ghost cells will be like on a machine that need not be
/// here.
#pragma once

#include "command/command.hpp"

namespace strake::plan {

/// Adds `strake plan` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::plan
