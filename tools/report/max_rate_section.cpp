#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "report/html.hpp"
#include "report/max_rate.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using Times = std::map<std::int64_t, std::vector<PairTime>>;  // by number of pairs

std::string pairs_text(std::int64_t pairs) {
  return fmt::format("{} pair{}", pairs, pairs == 1 ? "" : "s");
}

Chart chart_of(const std::string& title, std::size_t profile, const Times& times,
               const std::vector<MaxRate>& model) {
  Chart chart;
  chart.title = title;
  chart.profile = profile;
  chart.y = Y::Time;
  int colour = 0;
  for (const auto& [pairs, list] : times) {
    Line measured{pairs_text(pairs) + ", measured", colour, false, {}, {}};
    Line modelled{pairs_text(pairs) + ", model", colour++, true, {}, {}};
    for (const PairTime& time : list) {
      const auto bytes = static_cast<double>(time.bytes);
      measured.values.emplace_back(bytes, time.seconds);
      modelled.values.emplace_back(bytes,
                                   range_of(model, bytes).time(bytes, static_cast<double>(pairs)));
    }
    chart.lines.push_back(std::move(measured));
    chart.lines.push_back(std::move(modelled));
  }
  return chart;
}

std::string table_of(const std::vector<MaxRate>& model) {
  std::string rows;
  for (const MaxRate& range : model)
    rows += "<tr>" +
            cell(bytes_text(static_cast<double>(range.first)) + " to " +
                 bytes_text(static_cast<double>(range.last))) +
            cell(time_text(range.latency), fmt::format("{:.6g} s", range.latency)) +
            cell(range.rate > 0 ? rate_text(range.rate) : "no limit seen",
                 fmt::format("{:.6g} B/s", range.rate)) +
            cell(range.injection_rate > 0 ? rate_text(range.injection_rate) : "not reached",
                 fmt::format("{:.6g} B/s", range.injection_rate)) +
            cell(fmt::format("{:.1f} %", 100 * range.median_error)) +
            cell(fmt::format("{:.1f} %", 100 * range.worst_error)) + "</tr>\n";
  return table("numbers", {"sizes", "α", "R_C", "R_N", "residual, median", "residual, worst"},
               rows);
}

std::string one(const std::string& title, std::size_t profile, const std::vector<PairTime>& times,
                Charts& charts) {
  Times by;
  for (const PairTime& time : times) by[time.pairs].push_back(time);
  // Fewer sizes are no curve, and the plot compares the curves of two numbers of pairs.
  std::erase_if(by, [](const auto& entry) { return entry.second.size() < Charts::kLeastPoints; });
  const std::string name = "<p><b>" + escaped(title) + ".</b> Not fitted: ";
  if (by.empty()) return name + "fewer than three sizes were measured.</p>\n";
  if (by.size() < 2)
    return name + "only " + pairs_text(by.begin()->first) +
           " at once was measured at three sizes or more. R_N shows where several send together; "
           "measure with four ranks or more, half of them on either side.</p>\n";
  const auto model = fit_max_rate(times);
  if (model.empty()) return name + "fewer than three sizes were measured.</p>\n";
  return row_of(charts.figure(chart_of(title, profile, by, model))) + table_of(model);
}

}  // namespace

std::string max_rates(Profiles profiles, Charts& charts) {
  std::string body;
  for (const std::string way : {"node", "net"}) {
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      for (const std::string& library : libraries_of(profiles[i].profile)) {
        const auto times = pair_times(profiles[i].profile, library, way);
        if (!times.empty())
          body += one(
              fmt::format("{}, {}{}", library, way == "node" ? "within a node" : "between nodes",
                          whose(profiles, profiles[i])),
              i, times, charts);
      }
    }
  }
  return folded_section(
      "max-rate", "The max-rate model of messages",
      "T = t_c + r α + k n / min(R_N, k R_C) for k pairs of ranks that send n bytes each at once, "
      "fitted to half round trips of contiguous bytes (t_c = 0, r = 1): α is the latency of a "
      "message, R_C the rate of one pair, R_N that of all together (of the largest sizes alone). "
      "Ranges of sizes are where the library changes its protocol, as far as the times show it. "
      "Residuals: |model / measured - 1|.",
      body);
}

}  // namespace strake::report
