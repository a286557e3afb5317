#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace strake::run {
namespace {

using Json = nlohmann::ordered_json;
using MeasuredRuns = std::vector<MeasuredRun>;

double wall_of(const MeasuredRun& run) { return run.wall_s; }
double mpi_of(const MeasuredRun& run) { return run.in_mpi->seconds; }
double share_of(const MeasuredRun& run) { return run.in_mpi->share; }

std::vector<double> values_of(const MeasuredRuns& runs, double (*value)(const MeasuredRun&)) {
  std::vector<double> values;
  for (const MeasuredRun& run : runs) values.push_back(value(run));
  return values;
}

/// Times of 0 have no ratio: a job that calls MPI_Init and no more.
bool have_mpi_time(const MeasuredRuns& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [](const auto& run) { return run.in_mpi && run.in_mpi->seconds > 0; });
}

struct Unit {
  double seconds;
  std::string_view name;
};

/// Three digits of `seconds` can be read in it.
Unit unit_for(double seconds) {
  if (seconds >= 1) return {1, "s"};
  return seconds >= 1e-3 ? Unit{1e-3, "ms"} : Unit{1e-6, "µs"};
}

std::string number(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string time(double seconds) {
  const Unit unit = unit_for(seconds);
  return number(seconds / unit.seconds) + " " + std::string(unit.name);
}

/// "2.81 s (2.75 to 2.90)"
std::string times(const Spread& spread) {
  const Unit unit = unit_for(spread.median);
  return fmt::format("{} ({} to {})", time(spread.median), number(spread.low / unit.seconds),
                     number(spread.high / unit.seconds));
}

std::string shares(const Spread& spread) {
  return fmt::format("{:.0f} % ({:.0f} to {:.0f})", spread.median * 100, spread.low * 100,
                     spread.high * 100);
}

/// "2.3 ± 0.1", with as many decimals as the interval gives a meaning to.
std::string with_error(double value, const Interval& interval) {
  const double half = (interval.high - interval.low) / 2;
  const int decimals = half < 0.05 ? 2 : 1;
  return fmt::format("{:.{}f} ± {:.{}f}", value, decimals, std::max(half, 0.01), decimals);
}

std::string range(const Ratio& ratio) {
  return fmt::format("{:.2f} to {:.2f} ×", ratio.interval->low, ratio.interval->high);
}

/// What the table says of a ratio: "2.34 × (2.21 to 2.46)"
std::string cell(const Ratio& ratio) {
  const std::string value = fmt::format("{:.2f} ×", ratio.value);
  if (!ratio.interval) return value;
  return fmt::format("{} ({:.2f} to {:.2f})", value, ratio.interval->low, ratio.interval->high);
}

/// "2.3 ± 0.1 ×", or how much longer it takes. Only of Faster and Slower.
std::string factor(const Ratio& ratio) {
  if (ratio.verdict() == Verdict::Faster) return with_error(ratio.value, *ratio.interval) + " ×";
  const Interval inverse{1 / ratio.interval->high, 1 / ratio.interval->low};
  return with_error(1 / ratio.value, inverse) + " times as long under Strake";
}

bool is_shown(const Ratio& ratio) {
  return ratio.verdict() == Verdict::Faster || ratio.verdict() == Verdict::Slower;
}

Json to_json(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

Json to_json(const Ratio& ratio) {
  const auto end = [&](double Interval::*which) {
    return ratio.interval ? Json((*ratio.interval).*which) : Json(nullptr);
  };
  return {{"value", ratio.value},
          {"low", end(&Interval::low)},
          {"high", end(&Interval::high)},
          {"verdict", name_of(ratio.verdict())}};
}

Json to_json(const MeasuredRuns& runs, bool has_mpi) {
  Json json = {{"runs", Json::array()}};
  for (const MeasuredRun& run : runs) {
    Json entry = {{"wall_s", run.wall_s}, {"in_mpi_s", nullptr}, {"in_mpi_share", nullptr}};
    if (run.in_mpi) {
      entry["in_mpi_s"] = run.in_mpi->seconds;
      entry["in_mpi_share"] = run.in_mpi->share;
    }
    json["runs"].push_back(std::move(entry));
  }
  json["wall_s"] = to_json(spread_of(values_of(runs, wall_of)));
  if (has_mpi) {
    json["in_mpi_s"] = to_json(spread_of(values_of(runs, mpi_of)));
    json["in_mpi_share"] = to_json(spread_of(values_of(runs, share_of)));
  }
  return json;
}

}  // namespace

Comparison::Comparison(MeasuredRuns alone, MeasuredRuns under)
    : alone_(std::move(alone)),
      under_(std::move(under)),
      wall_(ratio_of(values_of(alone_, wall_of), values_of(under_, wall_of))) {
  if (have_mpi_time(alone_) && have_mpi_time(under_))
    in_mpi_ = ratio_of(values_of(alone_, mpi_of), values_of(under_, mpi_of));
}

std::string Comparison::sentence() const {
  const auto medians = [&](double (*value)(const MeasuredRun&)) {
    return time(spread_of(values_of(alone_, value)).median) + " → " +
           time(spread_of(values_of(under_, value)).median);
  };
  const std::string runs = fmt::format("{} run{}", alone_.size(), alone_.size() == 1 ? "" : "s");
  const std::string both = (in_mpi_ ? "time in MPI " + medians(mpi_of) + ", " : std::string()) +
                           "whole run " + medians(wall_of);
  if (verdict() == Verdict::TooFew) {
    return fmt::format("{} of each kind can't show a difference ({} or more can): {}", runs,
                       kFewestRuns, both);
  }
  if (!is_shown(wall_) && !(in_mpi_ && is_shown(*in_mpi_))) {
    return fmt::format("no difference that {} can show: {}whole run {}", runs,
                       in_mpi_ ? "time in MPI " + range(*in_mpi_) + ", " : "", range(wall_));
  }
  const std::string not_shown = ": no difference that " + runs + " can show";
  if (!in_mpi_) return fmt::format("whole run {}, {}", medians(wall_of), factor(wall_));
  return fmt::format(
      "time in MPI{}; whole run{}",
      is_shown(*in_mpi_) ? fmt::format(" {}, {}", medians(mpi_of), factor(*in_mpi_)) : not_shown,
      is_shown(wall_) ? " " + factor(wall_) : not_shown);
}

std::string Comparison::table() const {
  std::string text =
      fmt::format("  {:<13}  {:<24}  {:<24}  {}\n", "", "alone", "under Strake", "alone / Strake");
  const auto row = [&](std::string_view name, double (*value)(const MeasuredRun&),
                       std::string (*shown)(const Spread&), const std::string& ratio) {
    text += fmt::format("  {:<13}  {:<24}  {:<24}  {}\n", name,
                        shown(spread_of(values_of(alone_, value))),
                        shown(spread_of(values_of(under_, value))), ratio);
    while (text.ends_with(" \n")) text.erase(text.size() - 2, 1);
  };
  row("whole run", wall_of, times, cell(wall_));
  if (in_mpi_) {
    row("time in MPI", mpi_of, times, cell(*in_mpi_));
    row("share of MPI", share_of, shares, "");
  }
  return text;
}

Json Comparison::json() const {
  return {{"runs_each", alone_.size()},
          {"alone", to_json(alone_, in_mpi_.has_value())},
          {"under_strake", to_json(under_, in_mpi_.has_value())},
          {"ratio",
           {{"wall", to_json(wall_)}, {"in_mpi", in_mpi_ ? to_json(*in_mpi_) : Json(nullptr)}}},
          {"verdict", name_of(verdict())},
          {"sentence", sentence()}};
}

}  // namespace strake::run
