/// \file  The values of the settings, read from a list of environment variables. settings.cpp reads
/// those of the process once; tests read their own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "settings/bytes.hpp"
#include "settings/setting.hpp"

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

/// Letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`; case does
/// not count.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate with the smallest edit distance from `word`, if that is at most a third of its
/// letters; else nothing.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace strake::settings
