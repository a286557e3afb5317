#include "report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/html.hpp"

namespace strake::report {
namespace {

using Json = nlohmann::ordered_json;
using machine::Result;

/// The place of `name` in a list of distinct names.
std::size_t place_in(Json& list, const std::string& name) {
  const auto place =
      static_cast<std::size_t>(std::find(list.begin(), list.end(), name) - list.begin());
  if (place == list.size()) list.push_back(name);
  return place;
}

Json json_of(const Shown& shown) {
  Json names = Json::array();
  Json results = Json::array();
  for (const Result& result : shown.profile.results)
    results.push_back({place_in(names, result.name), place_in(names, result.mpi), result.bytes,
                       result.block, result.pitch, result.count, result.median, result.p10,
                       result.p90, result.limit, result.samples, result.tries, result.iid ? 1 : 0,
                       doubtful(result) ? 1 : 0});
  return {{"label", shown.label},
          {"host", shown.profile.host},
          {"names", names},
          {"columns",
           {"name", "mpi", "bytes", "block", "pitch", "count", "median", "p10", "p90", "limit",
            "samples", "tries", "iid", "doubtful"}},
          {"results", results}};
}

}  // namespace

std::string Charts::figure(Chart chart) {
  std::erase_if(chart.lines, [](const Line& line) {
    return std::max(line.points.size(), line.values.size()) < kLeastPoints;
  });
  if (chart.lines.empty()) return {};
  const auto& results = profiles_[chart.profile].profile.results;
  Json lines = Json::array();
  std::set<double> limits;
  std::string legend;
  bool hollow = false;
  for (const Line& line : chart.lines) {
    Json json = {{"name", line.name}, {"colour", line.colour % kColours}};
    if (line.dashed) json["dashed"] = true;
    if (line.points.empty()) json["values"] = line.values;
    for (const Result* point : line.points) {
      json["points"].push_back(point - results.data());
      hollow = hollow || doubtful(*point);
      if (point->limit > 0 && chart.y == Y::Rate) limits.insert(point->limit);
    }
    lines.push_back(json);
    legend += fmt::format("<li class=\"{} s{}\">{}</li>", line.dashed ? "dashes" : "line",
                          line.colour % kColours, escaped(line.name));
  }
  if (!limits.empty()) legend += "<li class=\"limit\">what the link allows</li>";
  if (hollow) legend += "<li class=\"hollow\">doubtful</li>";
  charts_.push_back({{"title", chart.title},
                     {"group", chart.group},
                     {"profile", chart.profile},
                     {"x", chart.x == X::Bytes ? "bytes" : "block"},
                     {"y", chart.y == Y::Rate ? "rate" : "time"},
                     {"lines", lines},
                     {"limits", limits}});
  return fmt::format(
      "<figure data-chart=\"{}\"><figcaption>{}</figcaption>\n<div class=\"plot\"><canvas "
      "role=\"img\" aria-label=\"{}\"></canvas></div>\n<ul class=\"legend\">{}</ul></figure>\n",
      charts_.size() - 1, escaped(chart.title), escaped(chart.title), legend);
}

nlohmann::ordered_json Charts::json() const {
  Json profiles = Json::array();
  for (const Shown& shown : profiles_) profiles.push_back(json_of(shown));
  return {{"profiles", profiles}, {"charts", charts_}};
}

}  // namespace strake::report
