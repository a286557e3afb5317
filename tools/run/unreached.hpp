/// \file  Jobs that end well, but that Strake had no part in.
#pragma once

#include <set>
#include <string>

#include "job/report.hpp"

namespace strake::run {

/// Why nothing of such a job reached Strake, or may not have, by the letters of its processes on
/// this machine. Empty where something did, or nothing is known: all ran on other machines.
/// `all_static`: its programs are such that leave no letter.
[[nodiscard]] std::string why_unreached(const std::set<job::Letter>& letters, bool all_static);

}  // namespace strake::run
