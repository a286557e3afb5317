// Which profiles these are, and how they compare.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

std::string aware_text(const machine::Profile& profile) {
  std::string text;
  for (const auto& aware : profile.aware)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", aware.mpi,
                        aware.aware ? "takes device buffers" : "takes no device buffers");
  return text;
}

/// Key of a case: results of two profiles with equal keys are compared. Libraries count by name:
/// versions differ.
using Identity =
    std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Identity identity(const Result& result) {
  return {result.name,  result.mpi.substr(0, result.mpi.find_last_of(' ')),
          result.bytes, result.block,
          result.pitch, result.count};
}

std::string ratio_cells(const std::vector<double>& ratios) {
  double logarithms = 0;
  for (const double ratio : ratios) logarithms += std::log(ratio);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return cell(std::to_string(ratios.size())) +
         cell(number_text(std::exp(logarithms / static_cast<double>(ratios.size())))) +
         cell(number_text(*least)) + cell(number_text(*most));
}

}  // namespace

std::string overview(Profiles profiles) {
  std::string body;
  for (const Shown& shown : profiles) {
    const machine::Profile& profile = shown.profile;
    const auto not_iid = std::count_if(profile.results.begin(), profile.results.end(),
                                       [](const Result& result) { return !result.iid; });
    std::string rows;
    const auto add = [&](const std::string& name, const std::string& value) {
      if (!value.empty()) rows += "<tr><th>" + escaped(name) + "</th>" + cell(value) + "</tr>\n";
    };
    add("host", profile.host);
    add("measured", profile.date);
    add("key", profile.key);
    add("MPI", aware_text(profile));
    add("results", fmt::format("{}, of which {} did not pass as independent samples of one "
                               "distribution (SP 800-90B)",
                               profile.results.size(), not_iid));
    for (const auto& [name, value] : shown.facts) add(name, value);
    body += (profiles.size() > 1 ? "<h3>" + escaped(shown.label) + "</h3>\n" : "") +
            table("words", {}, rows);
  }
  return folded_section("machine", profiles.size() > 1 ? "The machines" : "The machine",
                        "As the profile has it.", body);
}

std::string comparison(Profiles profiles) {
  if (profiles.size() < 2) return {};
  std::string tables;
  std::map<Identity, double> first;
  for (const Result& result : profiles[0].profile.results)
    if (result.median > 0 && !doubtful(result)) first[identity(result)] = result.median;
  for (const Shown& shown : profiles.subspan(1)) {
    std::map<std::string, std::vector<double>> by_name;
    for (const Result& result : shown.profile.results) {
      const auto same = first.find(identity(result));
      if (same != first.end() && result.median > 0 && !doubtful(result))
        by_name[result.name].push_back(result.median / same->second);
    }
    std::string rows;
    for (const auto& [name, ratios] : by_name)
      rows += "<tr>" + cell(name) + ratio_cells(ratios) + "</tr>\n";
    tables +=
        fmt::format("<h3>{} against {}</h3>\n", escaped(shown.label), escaped(profiles[0].label));
    tables +=
        rows.empty()
            ? "<p class=\"none\">No case was measured in both without doubt.</p>\n"
            : table("numbers",
                    {"name", "cases in both", "time ratio, geometric mean", "least", "most"}, rows);
  }
  return folded_section("comparison", "Comparison of the profiles",
                        "Time divided by that of the first profile, for the cases that both have "
                        "and that are doubtful in neither: below 1 is faster.",
                        tables);
}

}  // namespace strake::report
