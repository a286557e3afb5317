#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "report/plot.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

/// The results of one line, by size.
using Line = std::map<std::int64_t, const Result*>;
using Lines = std::map<std::string, Line>;

/// "gpu/peer/0-1/push" and "copy/numa/0-1/cached" are about one pair of many: with a star in the
/// pair's place. Other names as they are.
std::string without_pair(const std::string& name) {
  static const std::regex pair("(gpu|node)?[0-9]+-(gpu|node)?[0-9]+");
  return std::regex_replace(name, pair, "*");
}

/// More lines than this between pairs are shown as the slowest and the fastest.
constexpr std::size_t kPairs = 4;

Lines lines_of(const machine::Profile& profile) {
  Lines lines;
  std::map<std::string, std::set<std::string>> pairs;
  const auto strided = strided_names(profile);
  const auto belongs = [&](const Result& result) {
    return moves_bytes(result) && result.median > 0 &&
           (result.block == 0 || !strided.contains(result.name));
  };
  for (const Result& result : profile.results)
    if (belongs(result)) pairs[without_pair(result.name)].insert(result.name);
  for (const Result& result : profile.results) {
    if (!belongs(result)) continue;
    const std::string star = without_pair(result.name);
    if (pairs[star].size() <= kPairs) {
      lines[full_name(result)][result.bytes] = &result;
      continue;
    }
    const Result*& slowest = lines[star + ", slowest"][result.bytes];
    if (slowest == nullptr || result.median > slowest->median) slowest = &result;
    const Result*& fastest = lines[star + ", fastest"][result.bytes];
    if (fastest == nullptr || result.median < fastest->median) fastest = &result;
  }
  return lines;
}

/// The first `parts` parts of a name, all but its last at most.
std::string head_of(const std::string& name, int parts) {
  std::size_t end = 0;
  const std::string path = name.substr(0, name.find_first_of(" ,"));
  for (int i = 0; i < parts; ++i) {
    const std::size_t next = path.find('/', end == 0 ? 0 : end + 1);
    if (next == std::string::npos) break;
    end = next;
  }
  return end == 0 ? path : path.substr(0, end);
}

/// Names of lines in groups for one plot each: by their first two parts, by their first three where
/// that is too many, and in the end by number.
std::vector<std::pair<std::string, std::vector<std::string>>> groups_of(
    const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> by_head;
  for (const std::string& name : names) by_head[head_of(name, 2)].push_back(name);
  std::map<std::string, std::vector<std::string>> finer;
  for (const auto& [head, members] : by_head)
    for (const std::string& name : members)
      finer[members.size() <= kColours ? head : head_of(name, 3)].push_back(name);
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const auto& [head, members] : finer) {
    for (std::size_t from = 0; from < members.size(); from += kColours) {
      const auto begin = members.begin() + static_cast<std::ptrdiff_t>(from);
      const auto end =
          members.begin() + static_cast<std::ptrdiff_t>(std::min(members.size(), from + kColours));
      groups.push_back({head, {begin, end}});
    }
  }
  return groups;
}

LinePlot plot_of(const std::string& title, const std::vector<std::string>& names,
                 const Lines& lines, const Axis& x, const Axis& y) {
  LinePlot plot{title, x, y, {}, {}};
  std::set<double> limits;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto line = lines.find(names[i]);
    if (line == lines.end()) continue;
    Series series;
    series.name = names[i];
    series.colour = static_cast<int>(i);
    for (const auto& [bytes, result] : line->second) {
      series.values.push_back({static_cast<double>(bytes), rate_of(*result) / 1e9,
                               result->name + ", " + description(*result)});
      if (result->limit > 0) limits.insert(result->limit);
    }
    plot.series.push_back(std::move(series));
  }
  for (const double limit : limits)
    plot.limits.push_back({limit / 1e9, "what the link allows: " + rate_text(limit)});
  return plot;
}

std::string by_size(Profiles profiles, const std::vector<Lines>& lines) {
  std::set<std::string> names;
  for (const Lines& of : lines)
    for (const auto& [name, line] : of)
      if (line.size() > 1) names.insert(name);
  std::string rows;
  for (const auto& [head, members] : groups_of(names)) {
    Axis x{"size [bytes]", Scale::LogBytes, 0, 0};
    Axis y{"bandwidth [GB/s]", Scale::Log, 0, 0};
    for (const Lines& of : lines) {
      for (const std::string& name : members) {
        const auto line = of.find(name);
        if (line == of.end()) continue;
        for (const auto& [bytes, result] : line->second) {
          x.include(static_cast<double>(bytes));
          y.include(rate_of(*result) / 1e9);
          y.include(result->limit / 1e9);
        }
      }
    }
    x.round();
    y.round();
    std::string figures;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const LinePlot plot = plot_of(head + whose(profiles, profiles[i]), members, lines[i], x, y);
      if (!plot.series.empty()) figures += figure(draw(plot), "");
    }
    rows += profiles.size() > 1 ? row_of(figures) : figures;
  }
  return profiles.size() > 1 || rows.empty() ? rows : row_of(rows);
}

/// Bars of each line's largest size. Lines of one size have no other place.
std::string at_largest(Profiles profiles, const std::vector<Lines>& lines) {
  constexpr std::size_t kBars = 24;  // as tall as two plots
  std::string rows;
  std::set<std::string> names;
  for (const Lines& of : lines)
    for (const auto& [name, line] : of) names.insert(name);
  const std::vector<std::string> all(names.begin(), names.end());
  for (std::size_t from = 0; from < all.size(); from += kBars) {
    const std::size_t end = std::min(all.size(), from + kBars);
    Axis x{"bandwidth [GB/s]", Scale::Log, 0, 0};
    std::vector<BarPlot> plots(profiles.size());
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      plots[i].title = "Bandwidth at the largest size";
      if (all.size() > kBars)
        plots[i].title +=
            fmt::format(", {} of {}", from / kBars + 1, (all.size() + kBars - 1) / kBars);
      plots[i].title += whose(profiles, profiles[i]);
      for (std::size_t n = from; n < end; ++n) {
        const auto line = lines[i].find(all[n]);
        if (line == lines[i].end()) continue;
        const Result& result = *line->second.rbegin()->second;
        const double rate = rate_of(result) / 1e9;
        std::string text = number_text(rate);
        if (result.limit > 0) {
          text += ", " + share_text(rate_of(result), result.limit);
          plots[i].limit_name = "what the link allows";
        }
        plots[i].bars.push_back({all[n], rate, 0, 0, result.limit / 1e9, text,
                                 result.name + ", " + description(result)});
        x.include(rate);
        x.include(result.limit / 1e9);
      }
    }
    rows += bar_figures(profiles, plots, x);
  }
  return profiles.size() > 1 || rows.empty() ? rows : row_of(rows);
}

}  // namespace

std::string bandwidths(Profiles profiles) {
  std::vector<Lines> lines;
  for (const Shown& shown : profiles) lines.push_back(lines_of(shown.profile));
  return section("bandwidth", "Bandwidth",
                 "Contiguous bytes. Dashed level lines and marks: what the link allows. The "
                 "numbers behind bars: GB/s, and % of that.",
                 by_size(profiles, lines) + at_largest(profiles, lines));
}

}  // namespace strake::report
