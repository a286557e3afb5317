/// \file  The process of the job: starts it, passes signals on to it, and waits for it.
#pragma once

#include <string>

#include "launcher.hpp"

namespace strake::run {

/// Runs `command` with `environment` added to this process's own. Returns its status, or 128 + the
/// signal that ended it, as a shell does. Signals sent to this process go on to it. \throws
/// InvalidArgument  it can't be started.
[[nodiscard]] int run_job(const Arguments& command, const Variables& environment);

/// What a program prints, errors too. Empty if it can't be started.
[[nodiscard]] std::string output_of(const Arguments& command);

}  // namespace strake::run
