#include "forms.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strake::run {
namespace {

struct Unit {
  double seconds;
  std::string_view name;
};

/// Three digits of `seconds` can be read in it.
Unit unit_for(double seconds) {
  if (seconds >= 1) return {1, "s"};
  return seconds >= 1e-3 ? Unit{1e-3, "ms"} : Unit{1e-6, "µs"};
}

std::string number(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/// "2.3 ± 0.1", with as many decimals as the interval gives a meaning to.
std::string with_error(double value, const Interval& interval) {
  const double half = (interval.high - interval.low) / 2;
  const int decimals = half < 0.05 ? 2 : 1;
  return fmt::format("{:.{}f} ± {:.{}f}", value, decimals, std::max(half, 0.01), decimals);
}

}  // namespace

std::string time(double seconds) {
  const Unit unit = unit_for(seconds);
  return number(seconds / unit.seconds) + " " + std::string(unit.name);
}

std::string times(const Spread& spread) {
  const Unit unit = unit_for(spread.median);
  return fmt::format("{} ({} to {})", time(spread.median), number(spread.low / unit.seconds),
                     number(spread.high / unit.seconds));
}

std::string shares(const Spread& spread) {
  return fmt::format("{:.0f} % ({:.0f} to {:.0f})", spread.median * 100, spread.low * 100,
                     spread.high * 100);
}

std::string cell(const Ratio& ratio) {
  const std::string value = fmt::format("{:.2f} ×", ratio.value);
  if (!ratio.interval) return value;
  return fmt::format("{} ({:.2f} to {:.2f})", value, ratio.interval->low, ratio.interval->high);
}

std::string range(const Ratio& ratio) {
  return fmt::format("{:.2f} to {:.2f} ×", ratio.interval->low, ratio.interval->high);
}

std::string factor(const Ratio& ratio, std::string_view where) {
  if (ratio.verdict() == Verdict::Faster) return with_error(ratio.value, *ratio.interval) + " ×";
  const Interval inverse{1 / ratio.interval->high, 1 / ratio.interval->low};
  return with_error(1 / ratio.value, inverse) + " times as long" + std::string(where);
}

}  // namespace strake::run
