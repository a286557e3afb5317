/// \file  `strake settings`: the table of settings, for people, programs and the documentation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace strake::settings_command {

[[nodiscard]] std::string to_text();
[[nodiscard]] nlohmann::ordered_json to_json();
/// The page docs/reference/settings.md, whatever the environment says.
[[nodiscard]] std::string to_markdown();

}  // namespace strake::settings_command
