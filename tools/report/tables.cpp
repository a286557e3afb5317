// The sections that are tables: which profiles these are, how they compare, and every result.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "report/sections.hpp"
#include "report/svg.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

std::string cell(const std::string& text, const std::string& tip = {}) {
  return tip.empty() ? "<td>" + escaped(text) + "</td>"
                     : "<td title=\"" + escaped(tip) + "\">" + escaped(text) + "</td>";
}

std::string head_row(std::initializer_list<const char*> names) {
  std::string row = "<thead><tr>";
  for (const char* name : names) row += fmt::format("<th>{}</th>", name);
  return row + "</tr></thead>";
}

std::string aware_text(const machine::Profile& profile) {
  std::string text;
  for (const auto& aware : profile.aware)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", aware.mpi,
                        aware.aware ? "takes device buffers" : "takes no device buffers");
  return text;
}

std::string bytes_or_nothing(std::int64_t bytes) {
  return bytes > 0 ? bytes_text(static_cast<double>(bytes)) : std::string();
}

std::string time_cell(double seconds) {
  return cell(time_text(seconds), fmt::format("{:.9g} s", seconds));
}

std::string row_of_result(const Result& result) {
  const double rate = rate_of(result);
  return "<tr>" + cell(result.name) + cell(result.mpi) +
         cell(bytes_or_nothing(result.bytes), fmt::format("{}", result.bytes)) +
         cell(bytes_or_nothing(result.block), fmt::format("{}", result.block)) +
         cell(bytes_or_nothing(result.pitch), fmt::format("{}", result.pitch)) +
         cell(result.count > 0 ? std::to_string(result.count) : "") + time_cell(result.median) +
         time_cell(result.p10) + time_cell(result.p90) +
         cell(moves_bytes(result) ? rate_text(rate) : "",
              moves_bytes(result) ? fmt::format("{:.9g} B/s", rate) : "") +
         cell(moves_bytes(result) ? share_text(rate, result.limit) : "",
              result.limit > 0 ? "of " + rate_text(result.limit) : "") +
         cell(std::to_string(result.samples)) +
         cell(result.iid ? "yes" : fmt::format("no, {} tries", result.tries)) + "</tr>\n";
}

/// What makes two results of two profiles the same case. Libraries count by name: versions differ.
using Identity =
    std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Identity identity(const Result& result) {
  return {result.name,  result.mpi.substr(0, result.mpi.find_last_of(' ')),
          result.bytes, result.block,
          result.pitch, result.count};
}

struct Ratios {
  std::vector<double> values;

  std::string cells() const {
    if (values.empty()) return "<td></td><td></td><td></td><td></td>";
    double logarithms = 0;
    for (const double value : values) logarithms += std::log(value);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return cell(std::to_string(values.size())) +
           cell(number_text(std::exp(logarithms / static_cast<double>(values.size())))) +
           cell(number_text(*least)) + cell(number_text(*most));
  }
};

}  // namespace

std::string overview(Profiles profiles) {
  std::string rows;
  std::string facts;
  for (const Shown& shown : profiles) {
    const machine::Profile& profile = shown.profile;
    const auto doubtful = std::count_if(profile.results.begin(), profile.results.end(),
                                        [](const Result& result) { return !result.iid; });
    rows += "<tr>" + cell(shown.label) + cell(profile.host) + cell(profile.date) +
            cell(profile.key) + cell(aware_text(profile)) +
            cell(std::to_string(profile.results.size())) + cell(std::to_string(doubtful)) +
            "</tr>\n";
    if (shown.facts.empty()) continue;
    facts += "<details><summary>The machine of " + escaped(shown.label) +
             "</summary>\n<table class=\"words\"><tbody>\n";
    for (const auto& [name, value] : shown.facts)
      facts += "<tr>" + cell(name) + cell(value) + "</tr>\n";
    facts += "</tbody></table></details>\n";
  }
  return section(
      "profiles", "Profiles",
      "Medians throughout. Results not IID: their samples did not pass the tests of SP "
      "800-90B for independent samples of one distribution, so they may drift.",
      "<table class=\"words\">" +
          head_row({"profile", "host", "measured", "machine", "MPI", "results", "not IID"}) +
          "<tbody>\n" + rows + "</tbody></table>\n" + facts);
}

std::string comparison(Profiles profiles) {
  if (profiles.size() < 2) return {};
  std::string tables;
  std::map<Identity, double> first;
  for (const Result& result : profiles[0].profile.results)
    if (result.median > 0) first[identity(result)] = result.median;
  for (const Shown& shown : profiles.subspan(1)) {
    std::map<std::string, Ratios> by_name;
    for (const Result& result : shown.profile.results) {
      const auto same = first.find(identity(result));
      if (same != first.end() && result.median > 0)
        by_name[result.name].values.push_back(result.median / same->second);
    }
    std::string rows;
    for (const auto& [name, ratios] : by_name)
      rows += "<tr>" + cell(name) + ratios.cells() + "</tr>\n";
    tables +=
        fmt::format("<h3>{} against {}</h3>\n", escaped(shown.label), escaped(profiles[0].label));
    tables += rows.empty() ? "<p class=\"none\">No case was measured in both.</p>\n"
                           : "<table class=\"numbers\">" +
                                 head_row({"name", "cases in both", "time ratio, geometric mean",
                                           "least", "most"}) +
                                 "<tbody>\n" + rows + "</tbody></table>\n";
  }
  return section("comparison", "Comparison",
                 "Time divided by that of the first profile, for the cases that both have: below 1 "
                 "is faster.",
                 tables);
}

std::string numbers(Profiles profiles) {
  std::string tables;
  for (const Shown& shown : profiles) {
    std::string rows;
    for (const Result& result : shown.profile.results) rows += row_of_result(result);
    tables += fmt::format(
        "<details><summary>{}: {} results</summary>\n<div class=\"wide\"><table "
        "class=\"numbers\">{}<tbody>\n{}</tbody></table></div></details>\n",
        escaped(shown.label), shown.profile.results.size(),
        head_row({"name", "library", "size", "block", "pitch", "count", "median", "p10", "p90",
                  "bandwidth", "% of link", "samples", "IID"}),
        rows);
  }
  return section("numbers", "All numbers", "Resting the pointer on a number shows all its digits.",
                 tables);
}

}  // namespace strake::report
