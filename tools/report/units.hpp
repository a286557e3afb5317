/// \file  Numbers with their units, for people.
#pragma once

#include <cstdint>
#include <string>

namespace strake::report {

/// "64 B", "4 KiB", "1.5 MiB"
[[nodiscard]] std::string bytes_text(double bytes);
/// For narrow columns: "64", "4K", "64M"
[[nodiscard]] std::string short_bytes_text(std::int64_t bytes);
/// Three digits: "55.2 GB/s", "840 kB/s"
[[nodiscard]] std::string rate_text(double bytes_per_second);
/// Three digits: "1.23 µs", "840 ns"
[[nodiscard]] std::string time_text(double seconds);
/// "93 %", of a link's limit; empty where the limit is not known (0).
[[nodiscard]] std::string share_text(double rate, double limit);
/// Three significant digits, no exponent between 0.001 and 10^6.
[[nodiscard]] std::string number_text(double value);

}  // namespace strake::report
