#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "report/plot.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

/// With the size that is allocated, freed or opened.
std::string sized_name(const Result& result) {
  return full_name(result) +
         (result.bytes > 0 ? ", " + bytes_text(static_cast<double>(result.bytes)) : "");
}

std::string label_of(const Result& result) {
  std::string label = sized_name(result);
  const std::size_t slash = label.find('/');
  return slash == std::string::npos ? label : label.substr(slash + 1);
}

}  // namespace

std::string calls(Profiles profiles) {
  constexpr std::size_t kBars = 28;  // as tall as two other plots
  // By the first part of the name, in the order in which they were measured.
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<std::map<std::string, const Result*>> results(profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (const Result& result : profiles[i].profile.results) {
      if (moves_bytes(result) || result.median <= 0) continue;
      auto& group = groups[result.name.substr(0, result.name.find('/'))];
      const std::string name = sized_name(result);
      if (std::find(group.begin(), group.end(), name) == group.end()) group.push_back(name);
      results[i][name] = &result;
    }
  }
  std::string rows;
  for (const auto& [head, names] : groups) {
    for (std::size_t from = 0; from < names.size(); from += kBars) {
      const std::size_t end = std::min(names.size(), from + kBars);
      Axis x{"time of one call [µs]", Scale::Log, 0, 0};
      std::vector<BarPlot> plots(profiles.size());
      for (std::size_t i = 0; i < profiles.size(); ++i) {
        plots[i].title = "Cost of calls: " + head + whose(profiles, profiles[i]);
        plots[i].whisker_name = "10 % to 90 % of the samples";
        for (std::size_t n = from; n < end; ++n) {
          const auto found = results[i].find(names[n]);
          if (found == results[i].end()) continue;
          const Result& result = *found->second;
          plots[i].bars.push_back({label_of(result), result.median * 1e6, result.p10 * 1e6,
                                   result.p90 * 1e6, 0, time_text(result.median),
                                   full_name(result) + ": " + description(result)});
          x.include(result.median * 1e6);
          x.include(result.p10 * 1e6);
          x.include(result.p90 * 1e6);
        }
      }
      rows += bar_figures(profiles, plots, x);
    }
  }
  if (profiles.size() == 1 && !rows.empty()) rows = row_of(rows);
  return section("calls", "Cost of calls",
                 "What moves no bytes: runtime calls, launches, synchronisation, latencies.", rows);
}

}  // namespace strake::report
