/// \file  Times and ratios of a comparison, as people read them.
#pragma once

#include <string>
#include <string_view>

#include "statistics.hpp"

namespace strake::run {

/// "2.81 s"
[[nodiscard]] std::string time(double seconds);
/// "2.81 s (2.75 to 2.90)"
[[nodiscard]] std::string times(const Spread& spread);
/// "30 % (29 to 31)"
[[nodiscard]] std::string shares(const Spread& spread);
/// A ratio in the table: "2.34 × (2.21 to 2.46)"
[[nodiscard]] std::string cell(const Ratio& ratio);
/// "0.97 to 1.03 ×". The ratio has an interval.
[[nodiscard]] std::string range(const Ratio& ratio);
/// "2.3 ± 0.1 ×", or how much longer it takes: "1.5 ± 0.1 times as long", and `where`. Only of
/// Faster and Slower.
[[nodiscard]] std::string factor(const Ratio& ratio, std::string_view where = "");

}  // namespace strake::run
