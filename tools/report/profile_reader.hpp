/// \file  A profile as `strake measure` wrote it, with the machine's facts as a report shows them.
#pragma once

#include <string>

#include "report/profiles.hpp"

namespace strake::report {

/// The label is empty. \throws Error  with the file, the place in it, and what is wrong there
[[nodiscard]] Shown read_profile(const std::string& path);

}  // namespace strake::report
