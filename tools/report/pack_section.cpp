#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "report/plot.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

/// One plot: name, library and class of pitch.
using Key = std::tuple<std::string, std::string, PitchClass>;
/// By size and block.
using Grid = std::map<std::int64_t, std::map<std::int64_t, const Result*>>;

std::map<Key, Grid> grids_of(const machine::Profile& profile) {
  std::map<Key, Grid> grids;
  const auto strided = strided_names(profile);
  for (const Result& result : profile.results)
    if (result.bytes > 0 && result.block > 0 && result.median > 0 && strided.contains(result.name))
      grids[{result.name, result.mpi, pitch_class(result)}][result.bytes][result.block] = &result;
  return grids;
}

/// Up to a plot's colours of the sizes, spread over all, the largest among them.
std::vector<std::int64_t> chosen(const std::set<std::int64_t>& sizes) {
  const std::vector<std::int64_t> all(sizes.begin(), sizes.end());
  const std::size_t most = std::min<std::size_t>(all.size(), kColours);
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < most; ++i)
    some.push_back(all[most == 1 ? all.size() - 1 : i * (all.size() - 1) / (most - 1)]);
  return some;
}

LinePlot plot_of(const std::string& title, const std::vector<std::int64_t>& sizes, const Grid& grid,
                 const Axis& x, const Axis& y) {
  LinePlot plot{title, x, y, {}, {}};
  std::set<double> limits;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto line = grid.find(sizes[i]);
    if (line == grid.end()) continue;
    Series series;
    series.name = bytes_text(static_cast<double>(sizes[i]));
    series.colour = static_cast<int>(i);
    for (const auto& [block, result] : line->second) {
      series.values.push_back(
          {static_cast<double>(block), rate_of(*result) / 1e9, description(*result)});
      if (result->limit > 0) limits.insert(result->limit);
    }
    plot.series.push_back(std::move(series));
  }
  for (const double limit : limits)
    plot.limits.push_back({limit / 1e9, "what the link allows: " + rate_text(limit)});
  return plot;
}

}  // namespace

std::string pack_rates(Profiles profiles) {
  std::vector<std::map<Key, Grid>> grids;
  std::map<Key, std::set<std::int64_t>> sizes;  // of all profiles
  for (const Shown& shown : profiles) {
    grids.push_back(grids_of(shown.profile));
    for (const auto& [key, grid] : grids.back())
      for (const auto& [bytes, line] : grid) sizes[key].insert(bytes);
  }
  std::string rows;
  for (const auto& [key, all] : sizes) {
    const auto& [name, library, pitch] = key;
    Axis x{"block length [bytes]", Scale::LogBytes, 0, 0};
    Axis y{"rate [GB/s]", Scale::Log, 0, 0};
    const auto some = chosen(all);
    for (const auto& of : grids) {
      const auto grid = of.find(key);
      if (grid == of.end()) continue;
      for (const std::int64_t bytes : some) {
        const auto line = grid->second.find(bytes);
        if (line == grid->second.end()) continue;
        for (const auto& [block, result] : line->second) {
          x.include(static_cast<double>(block));
          y.include(rate_of(*result) / 1e9);
          y.include(result->limit / 1e9);
        }
      }
    }
    x.round();
    y.round();
    std::string title = name;
    if (!library.empty()) title += " (" + library + ")";
    title += std::string(", ") + name_of(pitch);
    std::string figures;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const auto grid = grids[i].find(key);
      if (grid == grids[i].end()) continue;
      figures +=
          figure(draw(plot_of(title + whose(profiles, profiles[i]), some, grid->second, x, y)), "");
    }
    rows += profiles.size() > 1 ? row_of(figures) : figures;
  }
  if (profiles.size() == 1 && !rows.empty()) rows = row_of(rows);
  return section("pack", "Strided bytes",
                 "Packed bytes per second against block length, one line per size: packing, "
                 "unpacking, and the MPI library's own way with derived datatypes (half a round "
                 "trip, both sides).",
                 rows);
}

}  // namespace strake::report
