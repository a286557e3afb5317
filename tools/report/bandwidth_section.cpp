#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "report/html.hpp"
#include "report/sections.hpp"

namespace strake::report {
namespace {

using machine::Result;

/// The results of one line, by size.
using SizeLine = std::map<std::int64_t, const Result*>;
using Lines = std::map<std::string, SizeLine>;

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

/// The first two parts of a name of more.
std::string head_of(const std::string& name) {
  std::string path = name.substr(0, name.find_first_of(" ,"));
  const std::size_t first = path.find('/');
  if (first == std::string::npos) return path;
  const std::size_t second = path.find('/', first + 1);
  return path.substr(0, second == std::string::npos ? first : second);
}

/// Names of lines that are long enough to be drawn, in groups for one chart each.
std::map<std::string, std::vector<std::string>> groups_of(const std::vector<Lines>& all) {
  std::set<std::string> names;
  for (const Lines& lines : all)
    for (const auto& [name, line] : lines)
      if (line.size() >= Charts::kLeastPoints) names.insert(name);
  std::map<std::string, std::vector<std::string>> groups;
  std::map<std::string, int> drawn;
  for (const std::string& name : names) {
    const std::string head = head_of(name);
    const int part = drawn[head]++ / kColours;
    groups[part == 0 ? head : head + ", " + std::to_string(part + 1)].push_back(name);
  }
  return groups;
}

std::string by_size(Profiles profiles, const std::vector<Lines>& all, Charts& charts) {
  std::string rows;
  for (const auto& [head, names] : groups_of(all)) {
    std::string figures;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      Chart chart;
      chart.title = head + whose(profiles, profiles[i]);
      chart.group = "bandwidth " + head;
      chart.profile = i;
      for (std::size_t n = 0; n < names.size(); ++n) {
        const auto line = all[i].find(names[n]);
        if (line == all[i].end()) continue;
        chart.lines.push_back({names[n], static_cast<int>(n), false, {}, {}});
        for (const auto& [bytes, result] : line->second)
          chart.lines.back().points.push_back(result);
      }
      figures += charts.figure(std::move(chart));
    }
    rows += profiles.size() > 1 ? row_of(figures) : figures;
  }
  return profiles.size() > 1 ? rows : row_of(rows);
}

}  // namespace

std::string bandwidths(Profiles profiles, Charts& charts) {
  std::vector<Lines> all;
  for (const Shown& shown : profiles) all.push_back(lines_of(shown.profile));
  return folded_section("bandwidth", "Bandwidth of contiguous bytes",
                        "What was measured at fewer than three sizes is under All numbers.",
                        by_size(profiles, all, charts));
}

}  // namespace strake::report
