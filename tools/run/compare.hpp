/// \file  `strake run --compare`: a job several times alone and under Strake.
#pragma once

#include "run_command.hpp"

namespace strake::run {

/// Runs `command` `options.compare` times alone and as often under Strake, in turn, and with
/// `options.shared_heap` as often with that, too, and reports the times. Returns 0, the status of
/// the first run that failed, 1 if the results can't be written, or 128 + the signal that ended the
/// comparison. \throws InvalidArgument  the job can't be compared, known before it starts.
[[nodiscard]] int compare(const Options& options, const Arguments& command);

}  // namespace strake::run
