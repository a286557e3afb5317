/// \file  The faults of the environment's settings, as warnings.
#pragma once

namespace strake::settings {

/// Logs the complaints as warnings, the first time it is called, in the first process of the job.
void report_complaints();

}  // namespace strake::settings
