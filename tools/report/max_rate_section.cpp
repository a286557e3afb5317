#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/max_rate.hpp"
#include "report/plot.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using Times = std::map<std::int64_t, std::vector<PairTime>>;  // by number of pairs

Times by_pairs(const std::vector<PairTime>& times) {
  Times by;
  for (const PairTime& time : times) by[time.pairs].push_back(time);
  return by;
}

std::string pairs_text(std::int64_t pairs) {
  return fmt::format("{} pair{}", pairs, pairs == 1 ? "" : "s");
}

LinePlot plot_of(const std::string& title, const Times& times, const std::vector<MaxRate>& model) {
  LinePlot plot{
      title, {"size [bytes]", Scale::LogBytes, 0, 0}, {"time [µs]", Scale::Log, 0, 0}, {}, {}};
  int colour = 0;
  for (const auto& [pairs, list] : times) {
    Series measured;
    Series modelled;
    measured.name = pairs_text(pairs) + ", measured";
    modelled.name = pairs_text(pairs) + ", model";
    measured.line = false;
    modelled.marks = false;
    measured.colour = modelled.colour = colour++;
    for (const PairTime& time : list) {
      const auto bytes = static_cast<double>(time.bytes);
      const double said = range_of(model, bytes).time(bytes, static_cast<double>(pairs));
      measured.values.push_back(
          {bytes, 1e6 * time.seconds,
           fmt::format("{}, {}: {} measured, {} by the model ({:+.0f} %)", pairs_text(pairs),
                       bytes_text(bytes), time_text(time.seconds), time_text(said),
                       100 * (said / time.seconds - 1))});
      modelled.values.push_back({bytes, 1e6 * said, ""});
      plot.x.include(bytes);
      plot.y.include(1e6 * time.seconds);
      plot.y.include(1e6 * said);
    }
    plot.series.push_back(std::move(measured));
    plot.series.push_back(std::move(modelled));
  }
  plot.x.round();
  plot.y.round();
  return plot;
}

std::string table_of(const std::vector<MaxRate>& model) {
  std::string rows;
  for (const MaxRate& range : model) {
    rows += fmt::format(
        "<tr><td>{} to {}</td><td title=\"{:.6g} s\">{}</td><td title=\"{:.6g} B/s\">{}</td>"
        "<td title=\"{:.6g} B/s\">{}</td><td>{:.1f} %</td><td>{:.1f} %</td></tr>\n",
        bytes_text(static_cast<double>(range.first)), bytes_text(static_cast<double>(range.last)),
        range.latency, time_text(range.latency), range.rate,
        range.rate > 0 ? rate_text(range.rate) : "no limit seen", range.injection_rate,
        range.injection_rate > 0 ? rate_text(range.injection_rate) : "not reached",
        100 * range.median_error, 100 * range.worst_error);
  }
  return "<table class=\"numbers\"><thead><tr><th>sizes</th><th>α</th><th>R<sub>C</sub></th>"
         "<th>R<sub>N</sub></th><th>residual, median</th><th>residual, worst</th></tr></thead>"
         "<tbody>\n" +
         rows + "</tbody></table>\n";
}

std::string one(const std::string& title, const std::vector<PairTime>& times) {
  const Times by = by_pairs(times);
  const std::string name = "<p><b>" + escaped(title) + ".</b> ";
  if (by.size() < 2)
    return name + "Not fitted: only " + pairs_text(by.begin()->first) +
           " at once was measured. R<sub>N</sub> shows where several send together; measure with "
           "four ranks or more, half of them on either side.</p>\n";
  const auto model = fit_max_rate(times);
  if (model.empty()) return name + "Not fitted: fewer than three sizes were measured.</p>\n";
  return figure(draw(plot_of(title, by, model)), table_of(model));
}

}  // namespace

std::string max_rates(Profiles profiles) {
  std::string figures;
  std::string words;
  for (const std::string way : {"node", "net"}) {
    for (const Shown& shown : profiles) {
      for (const std::string& library : libraries_of(shown.profile)) {
        const auto times = pair_times(shown.profile, library, way);
        if (times.empty()) continue;
        const std::string part =
            one(fmt::format("{}, {}{}", library,
                            way == std::string("node") ? "within a node" : "between nodes",
                            whose(profiles, shown)),
                times);
        (part.rfind("<figure", 0) == 0 ? figures : words) += part;
      }
    }
  }
  if (!figures.empty()) figures = row_of(figures);
  return section(
      "max-rate", "The max-rate model",
      "T = t<sub>c</sub> + r α + k n / min(R<sub>N</sub>, k R<sub>C</sub>) for k pairs of ranks "
      "that send n bytes each at once, fitted to half round trips of contiguous bytes "
      "(t<sub>c</sub> = 0, r = 1): α is the latency of a message, R<sub>C</sub> the rate of one "
      "pair, R<sub>N</sub> that of all together (of the largest sizes alone). Ranges of sizes are "
      "where the library changes its protocol, as far as the times show it. Residuals: |model / "
      "measured - 1|.",
      figures + words);
}

}  // namespace strake::report
