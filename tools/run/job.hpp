/// \file  The job's own process: started, given this command's signals, waited for.
#pragma once

#include <string>

#include "launcher.hpp"

namespace strake::run {

/// Runs `command` with `environment` added to this process's own, and returns as a shell would tell
/// its end: its status, or 128 + the signal. Signals sent to this process go on to it. \throws
/// InvalidArgument  it can't be started.
[[nodiscard]] int run_job(const Arguments& command, const Variables& environment);

/// What a program prints, errors too. Empty where it can't be started.
[[nodiscard]] std::string output_of(const Arguments& command);

}  // namespace strake::run
