/// \file  The message about jobs that succeed, but of which no MPI call reached Strake.
#pragma once

#include <set>
#include <string>

#include "job/report.hpp"

namespace strake::run {

/// Why no call of the job reached Strake, or may not have, by the letters of its processes on this
/// machine. Empty if one did, or if nothing is known because all ran on other machines.
/// `all_static`: its programs leave no letter.
[[nodiscard]] std::string why_unreached(const std::set<job::Letter>& letters, bool all_static);

}  // namespace strake::run
