#include "report/axis.hpp"

#include <algorithm>
#include <cmath>

#include "report/units.hpp"

namespace strake::report {
namespace {

/// 1, 2 or 5 times a power of ten: the smallest step with which `span` takes at most `most` steps.
double linear_step(double span, int most) {
  const double raw = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace

void Axis::include(double value) noexcept {
  if (!std::isfinite(value) || (scale != Scale::Linear && value <= 0)) return;
  if (low == 0 && high == 0) {
    low = high = value;
    return;
  }
  low = std::min(low, value);
  high = std::max(high, value);
}

void Axis::round() noexcept {
  if (low == 0 && high == 0) high = 10, low = scale == Scale::Linear ? 0 : 1;
  if (scale == Scale::Linear) {
    low = std::min(low, 0.0);
    if (high <= low) high = low + 1;
    const double step = linear_step(high - low, 6);
    low = step * std::floor(low / step);
    high = step * std::ceil(high / step - 1e-9);
    return;
  }
  if (scale == Scale::LogBytes) {
    low = std::exp2(std::floor(std::log2(low)));
    high = std::exp2(std::ceil(std::log2(high) - 1e-9));
    if (high <= low) high = 2 * low;
    return;
  }
  // To 1, 2 or 5 times a power of ten: whole decades would leave up to nine tenths empty.
  const auto outward = [](double value, bool up) {
    const double power = std::pow(10.0, std::floor(std::log10(value)));
    double best = up ? 10 * power : power;
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double candidate = factor * power;
      if (up ? candidate >= value * (1 - 1e-9) && candidate < best
             : candidate <= value * (1 + 1e-9) && candidate > best)
        best = candidate;
    }
    return best;
  };
  low = outward(low, false);
  high = outward(high, true);
  if (high <= low) high = 10 * low;
}

double Axis::position(double value) const noexcept {
  if (scale == Scale::Linear) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

std::string Axis::full_label() const {
  return scale == Scale::Linear ? label : label + ", log scale";
}

std::vector<Axis::Tick> Axis::ticks(int most) const {
  std::vector<Tick> ticks;
  if (scale == Scale::Linear) {
    const double step = linear_step(high - low, most);
    for (int i = 0; low + i * step <= high * (1 + 1e-9); ++i)
      ticks.push_back({low + i * step, number_text(low + i * step)});
  } else if (scale == Scale::LogBytes) {
    const double powers = std::log2(high / low);
    const int step = std::max(1, static_cast<int>(std::ceil(powers / most)));
    for (int power = 0; power <= powers + 1e-9; power += step)
      ticks.push_back({low * std::exp2(power), bytes_text(low * std::exp2(power))});
  } else {
    const double decades = std::log10(high / low);
    const int step = std::max(1, static_cast<int>(std::ceil(decades / most)));
    const bool label_all = decades < 2;  // 1, 2 and 5 have labels on short axes
    const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
    for (int power = first; std::pow(10.0, power) <= high * (1 + 1e-9); ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10.0, power);
        if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
        const bool labelled = (factor == 1 && (power - first) % step == 0) || label_all;
        if (labelled || (factor != 1 && decades < 4) || factor == 1)
          ticks.push_back({value, labelled ? number_text(value) : ""});
      }
    }
  }
  return ticks;
}

}  // namespace strake::report
