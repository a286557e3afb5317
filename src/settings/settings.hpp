/// \file  Every setting, from one table (settings.def), read from the environment once.
/// An unknown STRAKE_ name or a bad value is reported once (with the nearest valid one) and the
/// default is used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "settings/setting.hpp"

namespace strake::settings {

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

}  // namespace strake::settings
