// Run detection: from a list of ranges to boxes, repeats and lists (Tausch 2.4, in any number of
// dims, order kept).
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "layout/node.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// Inside a list, a box or repeat must replace at least this many runs: each costs an operation of
/// its own, some 10 ns, in which a list moves a few dozen runs. Measured on sorted lists of
/// particles, one place in four: 14 us in boxes of 8 and more runs, 5 us as one list.
constexpr std::size_t kMinBoxRuns = 64;
/// Longest unit of unequal runs that is looked for inside a list: structs of a dozen members, with
/// gaps.
constexpr std::size_t kMaxUnit = 16;
/// A unit must come at least this often to become a repeat.
constexpr std::size_t kMinUnits = 8;

/// How many units of `unit` runs begin the list, each the same as the first at a constant distance
/// (1: no second one).
std::size_t count_units(std::span<const Run> runs, std::size_t unit) {
  if (runs.size() < 2 * unit) return 1;
  const std::int64_t stride = runs[unit].offset - runs[0].offset;
  std::size_t same = unit;
  while (same < runs.size() && runs[same].length == runs[same - unit].length &&
         runs[same].offset - runs[same - unit].offset == stride) {
    ++same;
  }
  return same / unit;
}

/// Quick check of a few runs: whether the list may begin with a nest that is worth a box. All
/// lengths must be equal, and of each two neighbouring distances one must be that of the innermost
/// dim.
bool may_begin_nest(std::span<const Run> runs) {
  if (runs.size() < kMinBoxRuns || runs[kMinBoxRuns - 1].length != runs[0].length) return false;
  const auto distance = [&](std::size_t i) { return runs[i + 1].offset - runs[i].offset; };
  const std::int64_t inner = distance(0);
  for (std::size_t i = 1; i < kMinBoxRuns - 2; i += 15) {
    if (distance(i) != inner && distance(i + 1) != inner) return false;
  }
  return true;
}

/// The largest nest of whole runs at the head of the list: dims (innermost first) and runs
/// consumed.
std::size_t head_nest(std::span<const Run> runs, std::vector<Dim>& dims) {
  dims.clear();
  std::size_t unit = 1;
  for (;;) {
    const std::size_t count = count_units(runs, unit);
    if (count < 2) return unit;
    dims.push_back({static_cast<std::int64_t>(count), runs[unit].offset - runs[0].offset});
    unit *= count;
  }
}

/// Quick check: whether the first runs occur again where a whole number of copies ends. Few lists
/// pass.
bool may_repeat(std::span<const Run> runs) {
  const std::size_t n = runs.size();
  const auto begins_again = [&](std::size_t at) {
    if (at == n) return false;
    const std::size_t looked_at = std::min<std::size_t>(8, n - at);
    const std::int64_t distance = runs[at].offset - runs[0].offset;
    return std::equal(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(looked_at),
                      runs.begin() + static_cast<std::ptrdiff_t>(at),
                      [&](const Run& a, const Run& b) {
                        return a.length == b.length && b.offset - a.offset == distance;
                      });
  };
  for (std::size_t divisor = 1; divisor * divisor <= n; ++divisor) {
    if (n % divisor == 0 && (begins_again(divisor) || begins_again(n / divisor))) return true;
  }
  return false;
}

/// Searches a list for units of unequal runs, place after place. It compares runs backwards from
/// the end of the fewest units allowed: if one differs, no place before it can begin the units, so
/// most places are skipped.
class UnitFinder {
 public:
  explicit UnitFinder(std::span<const Run> runs) : runs_(runs) {}

  /// The shortest unit that is repeated often enough from `at` on, or 0; sets how often. `at` must
  /// not decrease from call to call.
  std::size_t find(std::size_t at, std::size_t& count) {
    if (at < all_barred_until_) return 0;
    for (std::size_t unit = 2; unit <= kMaxUnit; ++unit) {
      if (at < barred_until_[unit]) continue;
      const std::size_t least = unit * std::max(kMinUnits, (kMinBoxRuns + unit - 1) / unit);
      if (runs_.size() - at < least) {
        barred_until_[unit] = runs_.size();
        continue;
      }
      std::size_t last = at + least - 1;
      while (last > at + unit && continues(last, unit)) --last;
      if (last == at + unit && runs_[last].length == runs_[at].length) {
        count = count_units(runs_.subspan(at), unit);
        return unit;
      }
      barred_until_[unit] = last - unit;
    }
    all_barred_until_ = *std::min_element(barred_until_.begin() + 2, barred_until_.end());
    return 0;
  }

 private:
  /// Whether a run has the same length and distance as the run one unit before.
  [[nodiscard]] bool continues(std::size_t run, std::size_t unit) const {
    const auto distance = [&](std::size_t i) { return runs_[i].offset - runs_[i - unit].offset; };
    return distance(run) == distance(run - 1) && runs_[run].length == runs_[run - unit].length;
  }

  std::span<const Run> runs_;
  std::array<std::size_t, kMaxUnit + 1> barred_until_{};  ///< by unit
  std::size_t all_barred_until_ = 0;
};

/// Checks that the distance between any two bytes fits 64 bits. \throws InvalidArgument
void require_near(std::span<const Run> runs) {
  std::int64_t low = runs[0].offset;
  std::int64_t high = runs[0].offset;
  for (const Run& run : runs) {
    low = std::min(low, run.offset);
    high = std::max(high, run.offset + run.length);
  }
  std::int64_t distance = 0;
  if (__builtin_sub_overflow(high, low, &distance)) {
    throw InvalidArgument("layout: blocks from " + std::to_string(low) + " to " +
                          std::to_string(high) + " lie more than 2^63 bytes apart");
  }
}

}  // namespace

std::optional<std::vector<Dim>> find_nest(std::span<const Run> runs) {
  // A cursor over the bytes: blocks of a nest may touch where one row ends and the next begins, so
  // a run may consist of several blocks.
  const std::int64_t block = runs[0].length;
  std::size_t run = 0;
  std::int64_t used = block;  // bytes of runs[run] that are matched
  std::vector<std::int64_t> starts = {runs[0].offset};
  std::vector<Dim> dims;
  const auto settle = [&] {
    if (used == runs[run].length) {
      ++run;
      used = 0;
    }
  };
  settle();
  while (run < runs.size()) {
    const std::size_t unit = starts.size();
    const std::int64_t stride = runs[run].offset + used - starts[0];
    std::int64_t count = 1;
    for (bool matches = true; matches && run < runs.size();) {
      const std::size_t run_before = run;
      const std::int64_t used_before = used;
      const std::size_t size_before = starts.size();
      for (std::size_t i = 0; i < unit; ++i) {
        const std::int64_t at = starts[i] + count * stride;
        if (run >= runs.size() || runs[run].offset + used != at ||
            runs[run].length - used < block) {
          matches = false;
          break;
        }
        used += block;
        starts.push_back(at);
        settle();
      }
      if (matches) {
        ++count;
      } else {
        run = run_before;
        used = used_before;
        starts.resize(size_before);
      }
    }
    if (count == 1) return std::nullopt;
    dims.push_back({count, stride});
  }
  std::reverse(dims.begin(), dims.end());
  return dims;
}

std::size_t find_period(std::span<const Run> runs) {
  const std::size_t n = runs.size();
  if (n < 2 || !may_repeat(runs)) return 0;
  // The failure function of Knuth, Morris and Pratt over (length, distance to the next) of all runs
  // but the last.
  const std::size_t m = n - 1;
  const auto equal = [&](std::size_t a, std::size_t b) {
    return runs[a].length == runs[b].length &&
           runs[a + 1].offset - runs[a].offset == runs[b + 1].offset - runs[b].offset;
  };
  std::vector<std::size_t> border(m, 0);
  for (std::size_t i = 1; i < m; ++i) {
    std::size_t k = border[i - 1];
    while (k > 0 && !equal(i, k)) k = border[k - 1];
    border[i] = equal(i, k) ? k + 1 : 0;
  }
  for (std::size_t k = border[m - 1];; k = border[k - 1]) {
    const std::size_t period = m - k;
    if (2 * period > n) return 0;
    if (n % period == 0 && runs[m].length == runs[m - period].length) return period;
    if (k == 0) return 0;
  }
}

Layout LayoutBuilder::compress(std::span<const Run> runs) {
  if (runs.empty()) return {};
  require_near(runs);
  if (const auto dims = find_nest(runs)) return box(runs[0].offset, runs[0].length, *dims);
  if (const std::size_t period = find_period(runs)) {
    return repeat(compress(runs.first(period)), static_cast<std::int64_t>(runs.size() / period),
                  runs[period].offset - runs[0].offset);
  }

  std::vector<Layout> parts;
  std::vector<Dim> dims;
  UnitFinder units(runs);
  std::size_t listed_from = 0;
  std::size_t at = 0;
  const auto close_list = [&] {
    if (listed_from == at) return;
    const auto list = runs.subspan(listed_from, at - listed_from);
    parts.push_back(list.size() == 1 ? box(list[0].offset, list[0].length, {}) : listed(list));
  };
  while (at < runs.size()) {
    const auto rest = runs.subspan(at);
    std::size_t taken = may_begin_nest(rest) ? head_nest(rest, dims) : 0;
    Layout part;
    if (taken >= kMinBoxRuns) {
      std::reverse(dims.begin(), dims.end());
      part = box(rest[0].offset, rest[0].length, dims);
    } else {
      std::size_t count = 0;
      const std::size_t unit = units.find(at, count);
      taken = unit * count;
      if (taken > 0) {
        part = compress(rest.first(unit))
                   .repeated(static_cast<std::int64_t>(count), rest[unit].offset - rest[0].offset);
      }
    }
    if (taken == 0) {
      ++at;
      continue;
    }
    close_list();
    parts.push_back(std::move(part));
    at += taken;
    listed_from = at;
  }
  close_list();
  return sequence(std::move(parts));
}

}  // namespace strake
