#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

/// One chart: name, library and class of pitch.
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

/// Up to a chart's colours of the sizes, spread over all, the largest among them.
std::vector<std::int64_t> chosen(const std::set<std::int64_t>& sizes) {
  const std::vector<std::int64_t> all(sizes.begin(), sizes.end());
  const std::size_t most = std::min<std::size_t>(all.size(), kColours);
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < most; ++i)
    some.push_back(all[most == 1 ? all.size() - 1 : i * (all.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace

std::string strided_rates(Profiles profiles, Charts& charts) {
  std::vector<std::map<Key, Grid>> grids;
  std::map<Key, std::set<std::int64_t>> sizes;  // of all profiles
  for (const Shown& shown : profiles) {
    grids.push_back(grids_of(shown.profile));
    for (const auto& [key, grid] : grids.back())
      for (const auto& [bytes, line] : grid) sizes[key].insert(bytes);
  }
  std::map<std::string, std::string> by_name;
  for (const auto& [key, all] : sizes) {
    const auto& [name, library, pitch] = key;
    const std::string title = name + (library.empty() ? "" : " (" + library + ")");
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const auto grid = grids[i].find(key);
      if (grid == grids[i].end()) continue;
      Chart chart;
      chart.title = title + ", " + name_of(pitch) + whose(profiles, profiles[i]);
      chart.group = "strided " + title;
      chart.profile = i;
      chart.x = X::Block;
      int colour = 0;
      for (const std::int64_t bytes : chosen(all)) {
        chart.lines.push_back({bytes_text(static_cast<double>(bytes)), colour++, false, {}, {}});
        const auto line = grid->second.find(bytes);
        if (line == grid->second.end()) continue;
        for (const auto& [block, result] : line->second)
          chart.lines.back().points.push_back(result);
      }
      by_name[title] += charts.figure(std::move(chart));
    }
  }
  std::string body;
  for (const auto& [title, figures] : by_name) body += folded(title, row_of(figures));
  return folded_section("strided", "Strided bytes",
                        "Packed bytes per second against block length, one line per size: packing, "
                        "unpacking, and messages (half a round trip, both sides).",
                        body);
}

}  // namespace strake::report
