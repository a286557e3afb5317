#include "permutation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strake::measure {
namespace {

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

double periodicity(std::span<const Point> points, std::size_t lag) {
  int equal = 0;
  for (std::size_t i = 0; i + lag < points.size(); ++i) {
    equal += points[i].symbol == points[i + lag].symbol ? 1 : 0;
  }
  return equal;
}

double covariance(std::span<const Point> points, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < points.size(); ++i) {
    sum += points[i].value * points[i + lag].value;
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

}  // namespace

const char* name_of(Statistic statistic) noexcept {
  constexpr std::array<const char*, kStatistics> kNames = {"excursion",
                                                           "number of directional runs",
                                                           "length of directional runs",
                                                           "number of increases and decreases",
                                                           "number of runs based on the median",
                                                           "length of runs based on the median",
                                                           "average collision",
                                                           "maximum collision",
                                                           "periodicity, lag 1",
                                                           "periodicity, lag 2",
                                                           "periodicity, lag 8",
                                                           "periodicity, lag 16",
                                                           "periodicity, lag 32",
                                                           "covariance, lag 1",
                                                           "covariance, lag 2",
                                                           "covariance, lag 8",
                                                           "covariance, lag 16",
                                                           "covariance, lag 32",
                                                           "compression"};
  return kNames[static_cast<std::size_t>(statistic)];
}

std::vector<Point> points_of(std::span<const double> samples) {
  const std::size_t n = samples.size();
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  const double median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
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

double statistic_of(Statistic statistic, std::span<const Point> points) {
  const auto lag = [&](Statistic first) {
    return kLags[static_cast<std::size_t>(statistic) - static_cast<std::size_t>(first)];
  };
  switch (statistic) {
    case Statistic::Excursion:
      return excursion(points);
    case Statistic::DirectionalRuns:
      return directional_runs(points).count;
    case Statistic::LongestDirectionalRun:
      return directional_runs(points).longest;
    case Statistic::IncreasesDecreases: {
      const int ups = directional_runs(points).ups;
      return std::max(ups, static_cast<int>(points.size()) - 1 - ups);
    }
    case Statistic::MedianRuns:
      return median_runs(points).count;
    case Statistic::LongestMedianRun:
      return median_runs(points).longest;
    case Statistic::AverageCollision:
      return collisions(points).average;
    case Statistic::MaximumCollision:
      return collisions(points).longest;
    case Statistic::Periodicity1:
    case Statistic::Periodicity2:
    case Statistic::Periodicity8:
    case Statistic::Periodicity16:
    case Statistic::Periodicity32:
      return periodicity(points, lag(Statistic::Periodicity1));
    case Statistic::Covariance1:
    case Statistic::Covariance2:
    case Statistic::Covariance8:
    case Statistic::Covariance16:
    case Statistic::Covariance32:
      return covariance(points, lag(Statistic::Covariance1));
    case Statistic::Compression:
      return compression(points);
  }
  return 0;
}

std::size_t extreme_statistic(std::span<const double> samples, std::uint64_t seed) {
  std::vector<Point> points = points_of(samples);
  std::array<double, kStatistics> original{};
  std::array<Tally, kStatistics> tallies{};
  std::vector<std::size_t> open;
  for (std::size_t s = 0; s < kStatistics; ++s) {
    original[s] = statistic_of(static_cast<Statistic>(s), points);
    open.push_back(s);
  }
  Random random(seed);
  for (int done = 0; done < kPermutations && !open.empty();) {
    for (std::size_t i = points.size(); i > 1; --i) {
      std::swap(points[i - 1], points[random.below(i)]);
    }
    ++done;
    for (const std::size_t s : open) {
      const double value = statistic_of(static_cast<Statistic>(s), points);
      Tally& tally = tallies[s];
      ++(value > original[s] ? tally.above : value < original[s] ? tally.below : tally.equal);
      if (tally.hopeless(done)) return s;
    }
    std::erase_if(open, [&](std::size_t s) { return tallies[s].passed(); });
  }
  return open.empty() ? kStatistics : open.front();
}

}  // namespace strake::measure
