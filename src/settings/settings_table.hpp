/// \file  The table's values, made from a list of environment variables: what settings.cpp does
/// once for the process, and tests do for environments of their own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "settings/settings.hpp"

namespace strake::settings {

inline constexpr std::size_t kSettingCount = 0
#define STRAKE_SETTING(id, name, kind, default_value, since, choices, help) +1
#include "settings/settings.def"
#undef STRAKE_SETTING
    ;

struct Table {
  std::vector<Setting> settings;
  std::array<std::int64_t, kSettingCount> numbers{};  ///< Flag 0 or 1, Number, and Bytes in bytes
  std::vector<std::string> complaints;
};

/// Reads `environment` (NAME=value each; names without STRAKE_ are passed over).
[[nodiscard]] Table read_table(std::span<const char* const> environment);

/// "64K", "1M", "2G", "512": bytes, with binary multiples. Nothing where it isn't one, or is past
/// 2^63.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text) noexcept;

/// Letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`; case does
/// not count.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that the fewest edits make of `word`.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace strake::settings
