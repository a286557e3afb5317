#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "report/html.hpp"
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

}  // namespace

std::string calls(Profiles profiles) {
  std::vector<std::string> names;  // in the order in which they were measured
  std::vector<std::map<std::string, const Result*>> results(profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (const Result& result : profiles[i].profile.results) {
      if (moves_bytes(result) || result.median <= 0) continue;
      const std::string name = sized_name(result);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      results[i][name] = &result;
    }
  }
  std::string rows;
  for (const std::string& name : names) {
    rows += "<tr>" + cell(name);
    for (const auto& of : results) {
      const auto found = of.find(name);
      rows += found == of.end()
                  ? "<td></td><td></td>"
                  : cell(time_text(found->second->median) + (doubtful(*found->second) ? "?" : "")) +
                        cell(spread_text(*found->second));
    }
    rows += "</tr>\n";
  }
  std::vector<std::string> head = {"name"};
  for (const Shown& shown : profiles) {
    head.push_back("median" + whose(profiles, shown));
    head.emplace_back("10 % to 90 %");
  }
  return folded_section("calls", "Cost of calls",
                        "What moves no bytes: runtime calls, launches, synchronisation, latencies. "
                        "xN: N threads, nodes of a graph, or ranks.",
                        rows.empty() ? rows : table("numbers", head, rows));
}

}  // namespace strake::report
