/// \file  Every setting, from one table (settings.def), read from the environment once.
/// An unknown STRAKE_ name or a bad value is reported once (with the nearest valid one) and the
/// default is used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

/// All settings, in the table's order.
[[nodiscard]] std::span<const Setting> all();
/// \{ The value in force, ~1 ns after the first call. The kind must be that of the table.
[[nodiscard]] bool flag(Id id) noexcept;
[[nodiscard]] std::int64_t number(Id id) noexcept;  ///< Number, and Bytes in bytes
[[nodiscard]] std::string_view text(Id id) noexcept;
/// \}
/// The faults of the environment, one line each ("STRAKE_LGO is not a setting; did you mean
/// STRAKE_LOG?").
[[nodiscard]] std::span<const std::string> complaints();
/// Logs the complaints as warnings, the first time it is called, in the first process of the job.
void report_complaints();

}  // namespace strake::settings
