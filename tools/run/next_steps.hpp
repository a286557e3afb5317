/// \file  The commands that lead on from a comparison.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launcher.hpp"

namespace strake::run {

/// Lines to read and to paste. `launcher`: the word of `command` that starts ranks, or empty;
/// `summary`: of a run under Strake, or null.
[[nodiscard]] std::string next_steps(const Arguments& command, const std::string& launcher,
                                     const nlohmann::json& summary);

/// A command line that a shell splits into these words.
[[nodiscard]] std::string shell_line(const Arguments& words);

}  // namespace strake::run
