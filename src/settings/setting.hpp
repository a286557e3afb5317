/// \file  A row of the table of settings (settings.def), and its value.
#pragma once

#include <cstdint>
#include <string>

namespace strake::settings {

enum class Id : std::uint8_t {
#define STRAKE_SETTING(id, name, kind, default_value, since, choices, help) id,
#include "settings/settings.def"
#undef STRAKE_SETTING
};

enum class Kind : std::uint8_t { Flag, Number, Bytes, Choice, Text };

/// One row of the table, and its value now.
struct Setting {
  Id id;
  const char* name;
  Kind kind;
  const char* default_value;
  const char* since;
  const char* choices;  ///< Choice: separated by |; Number and Bytes: "least..most"
  const char* help;
  std::string value;  ///< the value in force, as text
  bool from_environment = false;
};

}  // namespace strake::settings
