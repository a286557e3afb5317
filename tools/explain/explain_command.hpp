/// \file  `strake explain`: what becomes of datatypes that are written as text.
#pragma once

#include "command/command.hpp"

namespace strake::explain {

/// Adds `strake explain` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::explain
