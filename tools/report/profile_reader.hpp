/// \file  Reads a profile as `strake measure` writes it (docs/profile.md), strictly: what a report
/// shows must be what was measured.
#pragma once

#include <string>

#include "report/profiles.hpp"

namespace strake::report {

/// The label is empty. \throws Error  with the file, the place in it, and what is wrong there
[[nodiscard]] Shown read_profile(const std::string& path);

}  // namespace strake::report
