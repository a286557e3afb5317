#include "statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "strake/error.hpp"
#include "summary.hpp"

namespace strake::measure {
namespace {

// The permutation tests (5.1).
constexpr std::size_t kAlphabet = 16;
constexpr std::size_t kPerLetter = 5;
// The standard's: permutations, and how many of them must lie on (or tie at) either side.
constexpr int kPermutations = 10000;
constexpr int kEnough = 5;
// None on one side in so many: under the hypothesis 1 in 2001 sets, as rare as the standard's own
// verdict (6 in 10001), for a fifth of the time.
constexpr int kGiveUp = 2000;

/// xorshift64*: shuffles of 500 points must cost about a microsecond.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x1234567ULL) {}
  /// Below `end`, which is small: the bias of 2^-32 does not matter.
  std::size_t below(std::size_t end) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const std::uint64_t high = (state_ * 0x2545F4914F6CDD1DULL) >> 32;
    return static_cast<std::size_t>((high * end) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// Largest distance of the running sum from that of the mean.
double excursion(std::span<const Point> points) {
  double sum = 0;
  double largest = 0;
  for (const Point& point : points) {
    sum += point.value;
    largest = std::max(largest, std::fabs(sum));
  }
  return largest;
}

struct Runs {
  int count = 0;
  int longest = 0;
  int ups = 0;
};

/// Runs of steps in one direction; equal neighbours count as a rise.
Runs directional_runs(std::span<const Point> points) {
  Runs runs;
  int length = 0;
  bool before = false;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const bool up = points[i].value <= points[i + 1].value;
    const bool same = i > 0 && up == before;
    runs.count += same ? 0 : 1;
    runs.ups += up ? 1 : 0;
    length = same ? length + 1 : 1;
    runs.longest = std::max(runs.longest, length);
    before = up;
  }
  return runs;
}

Runs median_runs(std::span<const Point> points) {
  Runs runs;
  int length = 0;
  std::int8_t before = 0;
  for (const Point& point : points) {
    const bool same = point.side == before;
    runs.count += same ? 0 : 1;
    length = same ? length + 1 : 1;
    runs.longest = std::max(runs.longest, length);
    before = point.side;
  }
  return runs;
}

struct Collisions {
  double average = 0;
  double longest = 0;
};

/// How many points in a row until a letter comes twice, over and over.
Collisions collisions(std::span<const Point> points) {
  std::uint32_t seen = 0;
  int length = 0;
  int total = 0;
  int count = 0;
  Collisions result;
  for (const Point& point : points) {
    const std::uint32_t bit = 1U << point.symbol;
    ++length;
    if ((seen & bit) == 0) {
      seen |= bit;
      continue;
    }
    total += length;
    ++count;
    result.longest = std::max(result.longest, static_cast<double>(length));
    seen = 0;
    length = 0;
  }
  result.average = count == 0 ? 0 : static_cast<double>(total) / count;
  return result;
}

template <std::size_t kLag>
double periodicity(std::span<const Point> points) {
  int equal = 0;
  for (std::size_t i = 0; i + kLag < points.size(); ++i) {
    equal += points[i].symbol == points[i + kLag].symbol ? 1 : 0;
  }
  return equal;
}

template <std::size_t kLag>
double covariance(std::span<const Point> points) {
  double sum = 0;
  for (std::size_t i = 0; i + kLag < points.size(); ++i) {
    sum += points[i].value * points[i + kLag].value;
  }
  return sum;
}

/// Phrases into which Lempel and Ziv's scheme of 1978 parses the letters: how well they compress.
double compression(std::span<const Point> points) {
  thread_local std::vector<std::array<std::uint16_t, kAlphabet>> tree;
  tree.assign(1, {});
  std::size_t at = 0;
  for (const Point& point : points) {
    const std::uint16_t next = tree[at][point.symbol];
    if (next != 0) {
      at = next;
      continue;
    }
    tree[at][point.symbol] = static_cast<std::uint16_t>(tree.size());
    tree.emplace_back();
    at = 0;
  }
  // Where the last phrase ends inside the tree counts too: it breaks ties.
  return static_cast<double>(tree.size() - 1) + (at == 0 ? 0 : 0.5);
}

/// Where a statistic of the shuffled points lay against that of the points as they came.
struct Tally {
  int above = 0;
  int equal = 0;
  int below = 0;
  [[nodiscard]] bool passed() const noexcept {
    return above + equal > kEnough && below + equal > kEnough;
  }
  [[nodiscard]] bool hopeless(int permutations) const noexcept {
    return permutations >= kGiveUp && (above + equal == 0 || below + equal == 0);
  }
};

using Points = std::span<const Point>;

struct Statistic {
  const char* name;
  double (*of)(Points);
};

constexpr Statistic kStatistics[] = {
    {"excursion", excursion},
    {"number of directional runs", [](Points p) -> double { return directional_runs(p).count; }},
    {"length of directional runs", [](Points p) -> double { return directional_runs(p).longest; }},
    {"number of increases and decreases",
     [](Points p) -> double {
       const int ups = directional_runs(p).ups;
       return std::max(ups, static_cast<int>(p.size()) - 1 - ups);
     }},
    {"number of runs based on the median", [](Points p) -> double { return median_runs(p).count; }},
    {"length of runs based on the median",
     [](Points p) -> double { return median_runs(p).longest; }},
    {"average collision", [](Points p) { return collisions(p).average; }},
    {"maximum collision", [](Points p) { return collisions(p).longest; }},
    {"periodicity, lag 1", periodicity<1>},
    {"periodicity, lag 2", periodicity<2>},
    {"periodicity, lag 8", periodicity<8>},
    {"periodicity, lag 16", periodicity<16>},
    {"periodicity, lag 32", periodicity<32>},
    {"covariance, lag 1", covariance<1>},
    {"covariance, lag 2", covariance<2>},
    {"covariance, lag 8", covariance<8>},
    {"covariance, lag 16", covariance<16>},
    {"covariance, lag 32", covariance<32>},
    {"compression", compression},
};

// The chi-square tests (5.2).
constexpr double kLevel = 0.001;       // the standard's
constexpr std::size_t kExpected = 5;   // the least count for which chi-square holds, the standard's
constexpr std::size_t kParts = 10;     // the standard's
constexpr std::size_t kMostBins = 10;  // more tell nothing further of 500 samples

/// For each sample its bin among `bins` of about equal count. Equal samples share a bin.
std::vector<std::size_t> bins_of(std::span<const double> samples, std::size_t bins) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> result;
  result.reserve(samples.size());
  for (const double sample : samples) {
    const auto rank = static_cast<std::size_t>(
        std::lower_bound(sorted.begin(), sorted.end(), sample) - sorted.begin());
    result.push_back(rank * bins / samples.size());
  }
  return result;
}

/// Counts against what rows and columns of the same sums would have if they had nothing to do with
/// each other. Rows and columns of nothing are left out.
ChiSquare contingency(const std::vector<double>& counts, std::size_t rows, std::size_t columns) {
  std::vector<double> of_row(rows), of_column(columns);
  double total = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      of_row[r] += counts[r * columns + c];
      of_column[c] += counts[r * columns + c];
      total += counts[r * columns + c];
    }
  }
  ChiSquare result;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double expected = of_row[r] * of_column[c] / total;
      if (expected == 0) continue;
      const double difference = counts[r * columns + c] - expected;
      result.value += difference * difference / expected;
    }
  }
  const auto used = [](const std::vector<double>& sums) {
    return static_cast<int>(sums.size()) -
           static_cast<int>(std::count(sums.begin(), sums.end(), 0.0));
  };
  result.degrees = (used(of_row) - 1) * (used(of_column) - 1);
  return result;
}

}  // namespace

std::vector<Point> points_of(std::span<const double> samples) {
  const std::size_t n = samples.size();
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  const double median = summarize(sorted).median;
  const std::size_t letters = std::clamp<std::size_t>(n / kPerLetter, 2, kAlphabet);
  std::vector<Point> points(n);
  for (std::size_t i = 0; i < n; ++i) {
    // By the first of equal samples: equal samples have one letter.
    const auto rank = static_cast<std::size_t>(
        std::lower_bound(sorted.begin(), sorted.end(), samples[i]) - sorted.begin());
    points[i] = {samples[i] - mean, static_cast<std::uint8_t>(rank * letters / n),
                 static_cast<std::int8_t>(samples[i] >= median ? 1 : -1)};
  }
  return points;
}

double statistic_of(std::string_view name, std::span<const Point> points) {
  const auto* const found =
      std::find_if(std::begin(kStatistics), std::end(kStatistics),
                   [&](const Statistic& statistic) { return statistic.name == name; });
  if (found == std::end(kStatistics))
    throw InvalidArgument(fmt::format("no statistic \"{}\"", name));
  return found->of(points);
}

double chi_square_tail(double value, int degrees) {
  if (value <= 0 || degrees <= 0) return 1;
  // The regularised upper incomplete gamma function, by its series below a + 1 and by its continued
  // fraction (Lentz) above, where each converges within a few dozen terms.
  const double a = degrees / 2.0;
  const double x = value / 2;
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  constexpr double kPrecision = 1e-12;
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double k = a + 1; term > sum * kPrecision; ++k) sum += term *= x / k;
    return 1 - front * sum;
  }
  constexpr double kTiny = 1e-300;  // in place of a zero denominator
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  for (int k = 1; k < 1000; ++k) {
    const double numerator = -k * (k - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
    c = b + numerator / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    const double factor = c * d;
    fraction *= factor;
    if (std::fabs(factor - 1) < kPrecision) break;
  }
  return front * fraction;
}

bool ChiSquare::passed() const { return degrees < 1 || chi_square_tail(value, degrees) >= kLevel; }

ChiSquare independence(std::span<const double> samples) {
  const std::size_t pairs = samples.size() / 2;
  const std::size_t cells = pairs / kExpected;
  const auto bins =
      std::min(kMostBins, static_cast<std::size_t>(std::sqrt(static_cast<double>(cells))));
  if (bins < 2) return {};
  const std::vector<std::size_t> bin = bins_of(samples, bins);
  std::vector<double> counts(bins * bins);
  for (std::size_t i = 0; i < pairs; ++i) ++counts[bin[2 * i] * bins + bin[2 * i + 1]];
  return contingency(counts, bins, bins);
}

ChiSquare goodness_of_fit(std::span<const double> samples) {
  const std::size_t n = samples.size();
  const std::size_t parts = std::min(kParts, n / (2 * kExpected));
  if (parts < 2) return {};
  const std::size_t bins = std::clamp<std::size_t>(n / parts / kExpected, 2, kMostBins);
  const std::vector<std::size_t> bin = bins_of(samples, bins);
  std::vector<double> counts(parts * bins);
  for (std::size_t i = 0; i < n; ++i) ++counts[(i * parts / n) * bins + bin[i]];
  return contingency(counts, parts, bins);
}

namespace {

/// The first statistic that is extreme; null where none is.
const char* extreme_statistic(std::span<const double> samples, std::uint64_t seed) {
  std::vector<Point> points = points_of(samples);
  std::array<double, std::size(kStatistics)> original{};
  std::array<Tally, std::size(kStatistics)> tallies{};
  std::vector<std::size_t> open;
  for (std::size_t s = 0; s < std::size(kStatistics); ++s) {
    original[s] = kStatistics[s].of(points);
    open.push_back(s);
  }
  Random random(seed);
  for (int done = 0; done < kPermutations && !open.empty();) {
    for (std::size_t i = points.size(); i > 1; --i) {
      std::swap(points[i - 1], points[random.below(i)]);
    }
    ++done;
    for (const std::size_t s : open) {
      const double value = kStatistics[s].of(points);
      Tally& tally = tallies[s];
      ++(value > original[s] ? tally.above : value < original[s] ? tally.below : tally.equal);
      if (tally.hopeless(done)) return kStatistics[s].name;
    }
    std::erase_if(open, [&](std::size_t s) { return tallies[s].passed(); });
  }
  return open.empty() ? nullptr : kStatistics[open.front()].name;
}

}  // namespace

IidVerdict test_iid(std::span<const double> samples, std::uint64_t seed) {
  constexpr std::size_t kLeast = 7;  // with fewer no order is rarer than one in a thousand
  if (samples.size() < kLeast) return {};
  // The cheap ones first.
  if (!independence(samples).passed()) return {false, "independence"};
  if (!goodness_of_fit(samples).passed()) return {false, "goodness of fit"};
  const char* const extreme = extreme_statistic(samples, seed);
  return extreme == nullptr ? IidVerdict{} : IidVerdict{false, extreme};
}

}  // namespace strake::measure
