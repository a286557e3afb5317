#include "report/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace strake::report {
namespace {

struct Unit {
  double size;
  const char* name;
};

template <std::size_t N>
std::string in_units(double value, const std::array<Unit, N>& units) {
  // A number that would round up to 1000 of its unit is one of the next.
  for (const Unit& unit : units)
    if (std::abs(value) >= 0.9995 * unit.size || &unit == &units.back())
      return number_text(value / unit.size) + " " + unit.name;
  return {};
}

}  // namespace

std::string number_text(double value) {
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude >= 999.5 && magnitude < 1e6) return fmt::format("{:.0f}", value);
  if (magnitude >= 99.95) return fmt::format("{:.3g}", value);
  if (magnitude < 0.001) return fmt::format("{:.2e}", value);
  const int decimals = magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string bytes_text(double bytes) {
  const std::array<Unit, 5> units = {
      {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "B"}}};
  for (const Unit& unit : units)
    if (bytes >= unit.size || unit.size == 1)
      return number_text(bytes / unit.size) + " " + unit.name;
  return {};
}

std::string short_bytes_text(std::int64_t bytes) {
  const std::string text = bytes_text(static_cast<double>(bytes));
  const std::size_t space = text.find(' ');
  return text.substr(0, space) + (text[space + 1] == 'B' ? "" : text.substr(space + 1, 1));
}

std::string rate_text(double bytes_per_second) {
  const std::array<Unit, 5> units = {
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
  return in_units(bytes_per_second, units);
}

std::string time_text(double seconds) {
  const std::array<Unit, 4> units = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
  return in_units(seconds, units);
}

std::string share_text(double rate, double limit) {
  if (limit <= 0) return {};
  return fmt::format("{:.{}f} %", 100 * rate / limit, rate < 0.0995 * limit ? 1 : 0);
}

}  // namespace strake::report
