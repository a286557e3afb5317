/// \file  `strake settings`: the table of settings, for people, programs and the documentation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "command/command.hpp"

namespace strake::settings_command {

[[nodiscard]] std::string to_text();
[[nodiscard]] nlohmann::ordered_json to_json();
/// The page docs/reference/settings.md, whatever the environment says.
[[nodiscard]] std::string to_markdown();

/// Adds `strake settings` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::settings_command
