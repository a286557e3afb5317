#include "machine/profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>

namespace strake::machine {
namespace {

/// A point of a grid: nothing where none was measured, NaN where only a doubtful result is there.
using Cell = std::optional<double>;
constexpr double kDoubtful = std::numeric_limits<double>::quiet_NaN();

/// The value at `index` of a line whose points lie at `axis`, from its measured points; past their
/// ends that of the end, plus `slope` (in logarithms) per unit above. Nothing where none was
/// measured.
Cell fill(const std::vector<double>& axis, const std::vector<Cell>& line, std::size_t index,
          bool inside_only, double slope) {
  std::optional<std::size_t> below;
  std::optional<std::size_t> above;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!line[i]) continue;
    if (i <= index) below = i;
    if (i >= index && !above) above = i;
  }
  if (below && above) {
    if (*below == *above) return line[*below];
    const double weight =
        std::log2(axis[index] / axis[*below]) / std::log2(axis[*above] / axis[*below]);
    return std::exp2(std::log2(*line[*below]) +
                     weight * (std::log2(*line[*above]) - std::log2(*line[*below])));
  }
  if (below) return *line[*below] * std::exp2(slope * std::log2(axis[index] / axis[*below]));
  if (above && !inside_only) return line[*above];
  return std::nullopt;
}

/// Replaces doubtful points by what lies between those before and after, where both are known.
void mend(const std::vector<double>& axis, std::vector<Cell>& line) {
  const std::vector<Cell> measured = line;
  const auto is_doubtful = [&](std::size_t i) { return measured[i] && std::isnan(*measured[i]); };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!is_doubtful(i)) continue;
    std::vector<Cell> others = measured;
    others[i].reset();
    const Cell between = fill(axis, others, i, true, kDoubtful);
    if (between) line[i] = between;
  }
}

/// Fills what was not measured (blocks longer than the size, cases left out): first along the
/// sizes, where it goes on at the last rate, then along the blocks.
void complete(const std::vector<double>& xs, const std::vector<double>& ys,
              std::vector<Cell>& cells) {
  const std::vector<Cell> measured = cells;
  for (std::size_t y = 0; y < ys.size(); ++y) {
    std::vector<Cell> column;
    for (std::size_t x = 0; x < xs.size(); ++x) column.push_back(measured[x * ys.size() + y]);
    mend(xs, column);
    for (std::size_t x = 0; x < xs.size(); ++x) {
      cells[x * ys.size() + y] = fill(xs, column, x, true, 1);
    }
  }
  for (std::size_t x = 0; x < xs.size(); ++x) {
    const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(x * ys.size());
    const std::vector<Cell> row(begin, begin + static_cast<std::ptrdiff_t>(ys.size()));
    for (std::size_t y = 0; y < ys.size(); ++y)
      begin[static_cast<std::ptrdiff_t>(y)] = fill(ys, row, y, false, 0);
  }
}

}  // namespace

Curve Profile::curve(std::string_view name, std::string_view mpi,
                     const std::function<bool(const Result&)>& takes) const {
  // By size and block; of two results for one point the later counts.
  std::map<std::pair<std::int64_t, std::int64_t>, double> points;
  bool blocks = false;
  bool known = false;
  for (const Result& result : results) {
    if (result.name != name || result.mpi != mpi || result.bytes <= 0 || !(result.median > 0) ||
        (takes && !takes(result))) {
      continue;
    }
    blocks = blocks || result.block > 0;
    double& time = points.try_emplace({result.bytes, result.block}, kDoubtful).first->second;
    if (!result.doubtful.empty()) continue;
    time = result.median;
    known = true;
  }
  // A contiguous case has no place on an axis of blocks.
  if (blocks) std::erase_if(points, [](const auto& point) { return point.first.second <= 0; });
  if (points.empty() || !known) return {};
  std::vector<double> xs;
  std::vector<double> ys;
  for (const auto& [point, time] : points) {
    xs.push_back(static_cast<double>(point.first));
    if (blocks) ys.push_back(static_cast<double>(point.second));
  }
  for (auto* axis : {&xs, &ys}) {
    std::sort(axis->begin(), axis->end());
    axis->erase(std::unique(axis->begin(), axis->end()), axis->end());
  }
  const std::size_t row = std::max<std::size_t>(ys.size(), 1);
  std::vector<Cell> cells(xs.size() * row);
  for (const auto& [point, time] : points) {
    const auto index_in = [](const std::vector<double>& axis, std::int64_t value) {
      return static_cast<std::size_t>(
          std::lower_bound(axis.begin(), axis.end(), static_cast<double>(value)) - axis.begin());
    };
    cells[index_in(xs, point.first) * row + (blocks ? index_in(ys, point.second) : 0)] = time;
  }
  blocks ? complete(xs, ys, cells) : mend(xs, cells);
  std::vector<double> times;
  times.reserve(cells.size());
  for (const Cell& cell : cells) times.push_back(cell.value());
  return {xs, ys, times};
}

std::string profile_folder() {
  const auto absolute = [](const char* path) { return path != nullptr && path[0] == '/'; };
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); absolute(cache)) {
    return std::string(cache) + "/strake";
  }
  const char* home = std::getenv("HOME");
  return absolute(home) ? std::string(home) + "/.cache/strake" : std::string();
}

}  // namespace strake::machine
