/// \file  Results, sizes and times as people read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "case.hpp"
#include "machine/profile.hpp"

namespace strake::measure {

/// "64 KiB", "1 GiB", "24 B".
[[nodiscard]] std::string size_text(std::int64_t bytes);
/// "312 ns", "4.02 us", "1.30 s".
[[nodiscard]] std::string time_text(double seconds);
/// The text that --filter is matched against: "name bytes block pitch", in plain numbers.
[[nodiscard]] std::string filter_text(const Case& what);
/// A case as one line.
[[nodiscard]] std::string case_text(const Case& what);

/// A table with a head line, results of one name together in the order in which they came. Spread
/// is half the distance from p10 to p90, in percent of the median.
[[nodiscard]] std::string table(std::span<const machine::Result> results);

}  // namespace strake::measure
