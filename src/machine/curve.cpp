#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "machine/profile.hpp"
#include "strake/error.hpp"

namespace strake::machine {
namespace {

/// Logarithms of values above 0. Those that need not be ascending may be NaN.
std::vector<double> logs_of(const std::vector<double>& values, const char* what, bool ascending) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    const bool unknown = !ascending && std::isnan(value);
    if (!unknown && (!(value > 0) || !std::isfinite(value))) {
      throw InvalidArgument(fmt::format("a curve with {} {}: not above 0", what, value));
    }
    const double log = std::log2(value);
    if (ascending && !logs.empty() && log <= logs.back()) {
      throw InvalidArgument(fmt::format("a curve with {} {} after {}: not ascending", what, value,
                                        std::exp2(logs.back())));
    }
    logs.push_back(log);
  }
  return logs;
}

}  // namespace

/// Where a value lies on an axis: between `index` and the next point, or at `index` (weight 0).
struct Curve::Position {
  std::size_t index = 0;
  double weight = 0;
  double beyond = 0;  ///< past the last point
};

Curve::Axis::Axis(std::vector<double> logs) : points(std::move(logs)) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    scales.push_back(1 / (points[i + 1] - points[i]));
    while (points.front() + static_cast<double>(below.size()) < points[i + 1]) below.push_back(i);
  }
}

Curve::Position Curve::position_on(const Axis& axis, double value) noexcept {
  const std::vector<double>& points = axis.points;
  if (!(value > points.front())) return {};
  if (value >= points.back()) return {points.size() - 1, 0, value - points.back()};
  const auto whole = static_cast<std::size_t>(value - points.front());
  std::size_t index = axis.below[std::min(whole, axis.below.size() - 1)];
  while (points[index + 1] <= value) ++index;
  return {index, (value - points[index]) * axis.scales[index], 0};
}

Curve::Curve(const std::vector<double>& xs, const std::vector<double>& ys,
             const std::vector<double>& times)
    : xs_(logs_of(xs, "size", true)),
      ys_(logs_of(ys, "block", true)),
      times_(logs_of(times, "time", false)) {
  const std::size_t points = xs_.points.size() * std::max<std::size_t>(ys_.points.size(), 1);
  if (points == 0 || points != times_.size()) {
    throw InvalidArgument(fmt::format("a curve of {} sizes, {} blocks and {} times",
                                      xs_.points.size(), ys_.points.size(), times_.size()));
  }
}

double Curve::log_time(double log_bytes, double log_block) const noexcept {
  if (empty()) return std::numeric_limits<double>::infinity();
  const Position x = position_on(xs_, log_bytes);
  const std::size_t row = std::max<std::size_t>(ys_.points.size(), 1);
  const Position y = ys_.points.empty() ? Position{} : position_on(ys_, log_block);
  const auto in_row = [&](std::size_t index) {
    const double* at = &times_[index * row + y.index];
    return y.weight == 0 ? at[0] : at[0] + y.weight * (at[1] - at[0]);
  };
  const double low = in_row(x.index);
  // Past the last size it goes on at that size's rate: twice the bytes, twice the time.
  return x.weight == 0 ? low + x.beyond : low + x.weight * (in_row(x.index + 1) - low);
}

double Curve::time(double bytes, double block) const noexcept {
  return std::exp2(log_time(std::log2(std::max(bytes, 1.0)), std::log2(std::max(block, 1.0))));
}

}  // namespace strake::machine
