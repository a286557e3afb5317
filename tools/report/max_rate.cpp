#include "report/max_rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace strake::report {
namespace {

/// alpha, beta and gamma of T = alpha + n max(beta, k gamma): beta = 1 / R_C, gamma = 1 / R_N.
using Parameters = std::array<double, 3>;

constexpr std::size_t kSizesPerRange = 3;  // fewer would be no fit
constexpr std::size_t kMostRanges = 3;
// One range more must lower the mean square error to this part.
constexpr double kClearlyBetter = 0.8;
// Errors of 1 % are those of the times themselves; no range more is sought to mend them.
constexpr double kGoodEnough = 0.01 * 0.01;

/// Solves the symmetric 3 x 3 system of the parameters in `used`; nothing where they can't be told
/// apart.
std::optional<Parameters> solve(std::array<std::array<double, 4>, 3> m,
                                const std::array<bool, 3>& used) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (used[i]) continue;
    for (std::size_t j = 0; j < 4; ++j) m[i][j] = 0;
    for (std::size_t j = 0; j < 3; ++j) m[j][i] = 0;
    m[i][i] = 1;
  }
  // The columns differ by the size of a message, so pivots are judged by what their column held.
  const std::array<double, 3> scale = {m[0][0], m[1][1], m[2][2]};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(m[i][i] > 1e-10 * scale[i])) return std::nullopt;
    for (std::size_t row = i + 1; row < 3; ++row) {
      const double factor = m[row][i] / m[i][i];
      for (std::size_t j = i; j < 4; ++j) m[row][j] -= factor * m[i][j];
    }
  }
  Parameters x{};
  for (std::size_t i = 3; i-- > 0;) {
    x[i] = m[i][3];
    for (std::size_t j = i + 1; j < 3; ++j) x[i] -= m[i][j] * x[j];
    x[i] /= m[i][i];
  }
  return x;
}

/// Least squares of relative errors, with the points of more than `limit` pairs bound by R_N.
std::optional<Parameters> linear_fit(const std::vector<PairTime>& times, std::int64_t limit) {
  std::array<bool, 3> used = {true, false, false};
  std::array<std::array<double, 4>, 3> m{};
  for (const PairTime& time : times) {
    const bool bound = time.pairs > limit;
    used[bound ? 2 : 1] = true;
    const auto n = static_cast<double>(time.bytes);
    const Parameters row = {1, bound ? 0 : n, bound ? n * static_cast<double>(time.pairs) : 0};
    const double weight = 1 / (time.seconds * time.seconds);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) m[i][j] += weight * row[i] * row[j];
      m[i][3] += weight * row[i] * time.seconds;
    }
  }
  auto fitted = solve(m, used);
  // Times and rates are not negative: what would be is none, and the others are fitted without it.
  for (const std::size_t i : {0, 1, 2}) {
    if (!fitted || (*fitted)[i] >= 0) continue;
    used[i] = false;
    fitted = solve(m, used);
  }
  if (fitted)
    for (double& value : *fitted) value = std::max(value, 0.0);
  return fitted;
}

MaxRate range_from(const Parameters& p) {
  MaxRate range;
  range.latency = p[0];
  range.rate = p[1] > 0 ? 1 / p[1] : 0;
  range.injection_rate = p[2] > 0 ? 1 / p[2] : 0;
  return range;
}

double square_error(const MaxRate& range, const std::vector<PairTime>& times) {
  double sum = 0;
  for (const PairTime& time : times) {
    const double error =
        range.time(static_cast<double>(time.bytes), static_cast<double>(time.pairs)) /
            time.seconds -
        1;
    sum += error * error;
  }
  return sum;
}

struct Fit {
  std::vector<MaxRate> ranges;
  double error = 0;  // sum of squares
};

std::optional<Fit> fit_range(const std::vector<PairTime>& times, bool with_injection) {
  std::vector<std::int64_t> limits = {std::numeric_limits<std::int64_t>::max()};  // none is bound
  if (with_injection)
    for (const PairTime& time : times) limits.push_back(time.pairs);
  std::optional<Fit> best;
  for (const std::int64_t limit : limits) {
    const auto parameters = linear_fit(times, limit);
    if (!parameters) continue;
    MaxRate range = range_from(*parameters);
    const double error = square_error(range, times);
    // R_N is seen where it explains the times clearly better than without; then the best.
    if (!best || error < (best->ranges[0].injection_rate == 0 ? kClearlyBetter : 1) * best->error)
      best = Fit{{range}, error};
    if (best->error < kGoodEnough * static_cast<double>(times.size())) break;
  }
  if (!best) return best;
  MaxRate& range = best->ranges[0];
  std::vector<double> errors;
  range.first = range.last = times.front().bytes;
  for (const PairTime& time : times) {
    range.first = std::min(range.first, time.bytes);
    range.last = std::max(range.last, time.bytes);
    errors.push_back(
        std::abs(range.time(static_cast<double>(time.bytes), static_cast<double>(time.pairs)) /
                     time.seconds -
                 1));
  }
  std::sort(errors.begin(), errors.end());
  range.median_error = errors[errors.size() / 2];
  range.worst_error = errors.back();
  return best;
}

/// The best cut of the sizes from `from` on into `ranges` ranges.
std::optional<Fit> fit_ranges(const std::vector<PairTime>& times,
                              const std::vector<std::int64_t>& sizes, std::size_t from,
                              std::size_t ranges) {
  const auto part = [&](std::size_t begin, std::size_t end) {
    std::vector<PairTime> some;
    for (const PairTime& time : times)
      if (time.bytes >= sizes[begin] && time.bytes <= sizes[end - 1]) some.push_back(time);
    return some;
  };
  if (ranges == 1) return fit_range(part(from, sizes.size()), true);
  std::optional<Fit> best;
  for (std::size_t end = from + kSizesPerRange; end + kSizesPerRange * (ranges - 1) <= sizes.size();
       ++end) {
    const auto first = fit_range(part(from, end), false);
    const auto rest = fit_ranges(times, sizes, end, ranges - 1);
    if (!first || !rest) continue;
    Fit both = *first;
    both.ranges.insert(both.ranges.end(), rest->ranges.begin(), rest->ranges.end());
    both.error += rest->error;
    if (!best || both.error < best->error) best = std::move(both);
  }
  return best;
}

}  // namespace

double MaxRate::time(double bytes, double pairs) const noexcept {
  const double alone = rate > 0 ? 1 / rate : 0;
  const double together = injection_rate > 0 ? pairs / injection_rate : 0;
  return latency + bytes * std::max(alone, together);
}

std::vector<MaxRate> fit_max_rate(std::vector<PairTime> times) {
  std::erase_if(times, [](const PairTime& time) {
    return time.bytes <= 0 || time.pairs <= 0 || !(time.seconds > 0);
  });
  std::set<std::int64_t> distinct;
  for (const PairTime& time : times) distinct.insert(time.bytes);
  const std::vector<std::int64_t> sizes(distinct.begin(), distinct.end());
  std::optional<Fit> best;
  for (std::size_t ranges = 1; ranges <= kMostRanges && ranges * kSizesPerRange <= sizes.size();
       ++ranges) {
    if (best && best->error < kGoodEnough * static_cast<double>(times.size())) break;
    auto fit = fit_ranges(times, sizes, 0, ranges);
    if (fit && (!best || fit->error < kClearlyBetter * best->error)) best = std::move(fit);
  }
  return best ? best->ranges : std::vector<MaxRate>();
}

const MaxRate& range_of(const std::vector<MaxRate>& model, double bytes) {
  for (std::size_t i = 0; i + 1 < model.size(); ++i) {
    const double edge =
        std::sqrt(static_cast<double>(model[i].last) * static_cast<double>(model[i + 1].first));
    if (bytes <= edge) return model[i];
  }
  return model.back();
}

std::vector<PairTime> pair_times(const machine::Profile& profile, const std::string& library,
                                 const std::string& way) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> times;
  for (const machine::Result& result : profile.results) {
    if (result.mpi != library || result.bytes <= 0 || result.block != 0) continue;
    if (!result.doubtful.empty()) continue;  // as all models do
    // Where one pair was measured in both ways, the one among its like counts.
    if (result.name == "mpi/" + way + "/pairs" && result.count > 0)
      times[{result.bytes, result.count}] = result.median;
    else if (result.name == "mpi/" + way + "/host")
      times.insert({{result.bytes, 1}, result.median});
  }
  std::vector<PairTime> list;
  list.reserve(times.size());
  for (const auto& [of, seconds] : times) list.push_back({of.first, of.second, seconds});
  return list;
}

}  // namespace strake::report
