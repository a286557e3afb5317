/// \file  `strake doctor`: whether Strake works in a job here, and what keeps it from that.
#pragma once

#include <string>

#include "command/command.hpp"
#include "judge.hpp"

namespace strake::doctor {

[[nodiscard]] Command command(CLI::App& parent);

/// \{ The report, for people and as JSON.
[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);
/// \}

}  // namespace strake::doctor
