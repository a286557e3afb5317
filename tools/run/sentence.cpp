#include "sentence.hpp"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>

#include "forms.hpp"

namespace strake::run {
namespace {

using SpreadOf = Spread (Comparison::*)(KindIndex) const;

bool is_shown(const Ratio& ratio) {
  return ratio.verdict() == Verdict::Faster || ratio.verdict() == Verdict::Slower;
}

std::string runs_of(const Comparison& all) {
  return fmt::format("{} run{}", all.runs_each(), all.runs_each() == 1 ? "" : "s");
}

std::string too_few(const Comparison& all, const std::function<std::string(SpreadOf)>& medians,
                    const char* separator) {
  return fmt::format("{} of each kind can't show a difference ({} or more can): {}whole run {}",
                     runs_of(all), kFewestRuns,
                     all.has_mpi_time() ? "time in MPI " + medians(&Comparison::in_mpi) + separator
                                        : std::string(),
                     medians(&Comparison::wall));
}

/// The sentence on the runs alone and those under Strake. `where`: behind "times as long".
std::string on_two(const Comparison& all, std::string_view where) {
  const auto medians = [&](SpreadOf spread) {
    return time((all.*spread)(kAlone).median) + " → " + time((all.*spread)(kUnder).median);
  };
  const auto& [wall, in_mpi] = all.between(kAlone, kUnder);
  if (!wall.interval) return too_few(all, medians, ", ");
  const std::string runs = runs_of(all);
  if (!is_shown(wall) && !(in_mpi && is_shown(*in_mpi))) {
    return fmt::format("no difference that {} can show: {}whole run {}", runs,
                       in_mpi ? "time in MPI " + range(*in_mpi) + ", " : "", range(wall));
  }
  const std::string not_shown = ": no difference that " + runs + " can show";
  if (!in_mpi)
    return fmt::format("whole run {}, {}", medians(&Comparison::wall), factor(wall, where));
  return fmt::format("time in MPI{}; whole run{}",
                     is_shown(*in_mpi) ? fmt::format(" {}, {}", medians(&Comparison::in_mpi),
                                                     factor(*in_mpi, where))
                                       : not_shown,
                     is_shown(wall) ? " " + factor(wall, where) : not_shown);
}

/// "2.81 s alone, 1.20 s under Strake, 0.80 s with --shared-heap"
std::string three_medians(const Comparison& all, SpreadOf spread) {
  std::string text;
  for (const KindIndex kind : {kAlone, kUnder, kHeap}) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", time((all.*spread)(kind).median),
                        kKinds[kind].name);
  }
  return text;
}

/// "3.5 ± 0.1 × with it, 1.5 ± 0.1 × by it": against the job alone, and against Strake without the
/// shared heap. At least one of them is shown.
std::string gains(const Ratio& with, const Ratio& by) {
  const auto one = [](const Ratio& ratio) {
    return is_shown(ratio) ? factor(ratio) : "no difference";
  };
  return fmt::format("{} with it, {} by it", one(with), one(by));
}

/// The sentence where the shared heap is to be taken.
std::string on_heap(const Comparison& all) {
  const Difference with = all.between(kAlone, kHeap);
  const Difference by = all.between(kUnder, kHeap);
  const auto part = [&](const char* name, const std::string& medians, const Ratio& with_it,
                        const Ratio& by_it) {
    if (!is_shown(with_it) && !is_shown(by_it))
      return fmt::format("{}: no difference that {} can show", name, runs_of(all));
    return fmt::format("{} {}{}", name, medians, gains(with_it, by_it));
  };
  std::string text;
  if (with.in_mpi) {
    text = part("time in MPI", three_medians(all, &Comparison::in_mpi) + ": ", *with.in_mpi,
                *by.in_mpi) +
           "; ";
  }
  const std::string medians =
      with.in_mpi ? std::string() : three_medians(all, &Comparison::wall) + ": ";
  text += part("whole run", medians, with.wall, by.wall) + "; take --shared-heap";
  if (by.decision() != Verdict::Faster)
    text += fmt::format(", as {} show no gain without it", runs_of(all));
  return text;
}

/// "time in MPI 1.5 ± 0.1 times as long, whole run 0.97 to 1.03 ×"
std::string both_ratios(const Difference& difference) {
  const auto one = [](const Ratio& ratio) {
    return is_shown(ratio) ? factor(ratio) : range(ratio);
  };
  return (difference.in_mpi ? "time in MPI " + one(*difference.in_mpi) + ", " : std::string()) +
         "whole run " + one(difference.wall);
}

/// The clause on the shared heap where it is not to be taken.
std::string on_useless_heap(const Comparison& all) {
  if (!all.has_heap()) return "no rank had the shared heap";
  const Difference by = all.between(kUnder, kHeap);
  if (by.decision() == Verdict::Slower)
    return fmt::format("slower with --shared-heap ({}): leave it out", both_ratios(by));
  if (by.decision() == Verdict::Faster) {
    return fmt::format("faster with --shared-heap than without ({}), but not than alone",
                       both_ratios(by));
  }
  const Difference with = all.between(kAlone, kHeap);
  if (all.best() == kAlone && with.decision() == Verdict::Slower)
    return fmt::format("slower with --shared-heap than alone ({})", both_ratios(with));
  return fmt::format("--shared-heap makes no difference that {} can show ({})", runs_of(all),
                     both_ratios(by));
}

std::string on_three(const Comparison& all) {
  if (!all.between(kAlone, kHeap).wall.interval)
    return too_few(
        all, [&](SpreadOf spread) { return three_medians(all, spread); }, "; ");
  const KindIndex best = all.best();
  if (best == kHeap) return on_heap(all);
  return fmt::format("under Strake {}; {}; take {}", on_two(all, ""), on_useless_heap(all),
                     best == kUnder ? "Strake without --shared-heap" : "the job alone");
}

}  // namespace

std::string sentence_of(const Comparison& all) {
  return all.kinds() > kHeap ? on_three(all) : on_two(all, " under Strake");
}

}  // namespace strake::run
