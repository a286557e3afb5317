#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "forms.hpp"
#include "sentence.hpp"
#include "text_table.hpp"

namespace strake::run {
namespace {

using Json = nlohmann::ordered_json;

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

Json to_json(const Difference& difference) {
  return {{"wall", to_json(difference.wall)},
          {"in_mpi", difference.in_mpi ? to_json(*difference.in_mpi) : Json(nullptr)}};
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

Verdict Difference::decision() const noexcept {
  const Verdict whole = wall.verdict();
  return whole == Verdict::NoDifference && in_mpi ? in_mpi->verdict() : whole;
}

Comparison::Comparison(std::vector<MeasuredRuns> runs, bool has_heap)
    : runs_(std::move(runs)),
      has_heap_(has_heap && runs_.size() > kHeap),
      has_mpi_time_(std::all_of(runs_.begin(), runs_.end(), have_mpi_time)) {}

Spread Comparison::wall(KindIndex kind) const { return spread_of(values_of(runs_[kind], wall_of)); }
Spread Comparison::in_mpi(KindIndex kind) const {
  return spread_of(values_of(runs_[kind], mpi_of));
}
Spread Comparison::share(KindIndex kind) const {
  return spread_of(values_of(runs_[kind], share_of));
}

Difference Comparison::between(KindIndex longer, KindIndex shorter) const {
  const auto ratio = [&](double (*value)(const MeasuredRun&)) {
    return ratio_of(values_of(runs_[longer], value), values_of(runs_[shorter], value));
  };
  Difference difference{ratio(wall_of), std::nullopt};
  if (has_mpi_time_) difference.in_mpi = ratio(mpi_of);
  return difference;
}

KindIndex Comparison::best() const {
  const auto is_faster = [&](KindIndex kind, KindIndex than) {
    return between(than, kind).decision() == Verdict::Faster;
  };
  const KindIndex without_heap = is_faster(kUnder, kAlone) ? kUnder : kAlone;
  if (!has_heap_ || !is_faster(kHeap, without_heap)) return without_heap;
  return is_faster(kUnder, kHeap) ? without_heap : kHeap;
}

std::string Comparison::sentence() const { return sentence_of(*this); }

std::string Comparison::table() const {
  constexpr std::size_t kNames = 13;
  constexpr std::size_t kTimes = 24;
  TextTable table({{.width = kNames}, {.width = kTimes}, {.width = kTimes}, {.width = kTimes}});
  const auto row = [&](std::string_view name, TextTable::Row cells) {
    cells.emplace(cells.begin(), name);
    table.add(std::move(cells));
  };
  const bool three = kinds() > kHeap;
  const auto rows = [&](std::string_view name, Spread (Comparison::*spread)(KindIndex) const,
                        std::string (*shown)(const Spread&),
                        const std::function<std::string(const Difference&)>& ratio) {
    std::vector<std::string> cells;
    for (std::size_t kind = 0; kind < kinds(); ++kind)
      cells.push_back(shown((this->*spread)(static_cast<KindIndex>(kind))));
    const auto ratio_of_two = [&](KindIndex longer, KindIndex shorter) {
      return ratio ? ratio(between(longer, shorter)) : std::string();
    };
    if (!three) cells.push_back(ratio_of_two(kAlone, kUnder));
    row(name, std::move(cells));
    if (!three || !ratio) return;
    // A third column leaves no room for ratios beside the times.
    row("alone / this", {"", ratio_of_two(kAlone, kUnder), ratio_of_two(kAlone, kHeap)});
    row("Strake / this", {"", "", ratio_of_two(kUnder, kHeap)});
  };
  std::vector<std::string> titles;
  for (std::size_t kind = 0; kind < kinds(); ++kind) titles.emplace_back(kKinds[kind].name);
  if (!three) titles.emplace_back("alone / Strake");
  row("", std::move(titles));
  rows("whole run", &Comparison::wall, times, [](const Difference& two) { return cell(two.wall); });
  if (has_mpi_time_) {
    rows("time in MPI", &Comparison::in_mpi, times,
         [](const Difference& two) { return cell(*two.in_mpi); });
    rows("share of MPI", &Comparison::share, shares, nullptr);
  }
  return table.text();
}

Json Comparison::json() const {
  Json json = {{"runs_each", runs_each()}};
  for (std::size_t kind = 0; kind < kinds(); ++kind)
    json[kKinds[kind].key] = to_json(runs_[kind], has_mpi_time_);
  const Difference under = between(kAlone, kUnder);
  json["ratio"] = to_json(under);
  json["verdict"] = name_of(under.verdict());
  if (kinds() > kHeap) {
    const Difference heap = between(kAlone, kHeap);
    json["ratio_with_shared_heap"] = to_json(heap);
    json["ratio_by_shared_heap"] = to_json(between(kUnder, kHeap));
    json["take"] = heap.wall.interval ? Json(kKinds[best()].key) : Json(nullptr);
  }
  json["sentence"] = sentence();
  return json;
}

}  // namespace strake::run
