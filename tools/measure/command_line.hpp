/// \file  The command that a user types to go on with a measurement.
#pragma once

#include <string>
#include <vector>

namespace strake::measure {

/// `words` as a shell reads them, with --resume behind "measure". Without "measure" among them
/// (a script that starts it): empty.
[[nodiscard]] std::string with_resume(const std::vector<std::string>& words);
/// with_resume() of the command line of this process, or of its launcher if one started it.
[[nodiscard]] std::string command_to_resume();

}  // namespace strake::measure
