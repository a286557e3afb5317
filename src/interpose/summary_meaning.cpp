// The summary's first line: a job's counts in words for its user.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "interpose/summary_forms.hpp"
#include "mpi/quirks.hpp"
#include "settings/counted.hpp"
#include "settings/settings.hpp"

namespace strake::interpose {
namespace {

void add(Count& sum, const Count& more) {
  sum.calls += more.calls;
  sum.bytes += more.bytes;
}

Count sum_of(const Totals& totals, std::initializer_list<Reason> reasons) {
  Count sum;
  for (const Reason reason : reasons) add(sum, totals.by_reason[static_cast<std::size_t>(reason)]);
  return sum;
}

/// "96 %". Never 0 or 100 of what is neither nothing nor all.
std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == whole) return "all";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return share < 1 ? "less than 1 %" : fmt::format("{:.0f} %", std::min(share, 99.0));
}

/// Whether a datatype under Strake takes the place of packing by hand, for messages of this size:
/// columns of doubles between two ranks of a node (docs/results/cpu-by-hand.jsonl). Open MPI 4.1.4
/// took 0.64 and 0.73 of the time at 4 and 8 KiB, and 1.1 to 1.6 at 1, 32 and 64 KiB; MPICH 4.0.2
/// 1.1 to 2.3 of it from 1 to 32 KiB.
const char* datatypes_instead(std::uint64_t mean_bytes) {
  constexpr std::uint64_t kKi = 1024;
  if (mean_bytes > 64 * kKi)
    return "whether datatypes take less time was not measured at this size, strake run --compare 5 "
           "tells";
  if (mpi::quirks::kOpenMpi && mean_bytes > 2 * kKi && mean_bytes < 16 * kKi)
    return "datatypes under strake run took less time where messages of this size were measured";
  return "keep that, datatypes took longer where messages of this size were measured";
}

/// For a job all of whose messages are contiguous.
std::string contiguous_meaning(const Count& contiguous) {
  const std::uint64_t mean = contiguous.bytes / contiguous.calls;
  return fmt::format(
      "all messages are contiguous ({}, {} bytes on the average), so Strake changes none of them. "
      "If the program packs by hand: {}",
      counted(contiguous.calls, "call"), mean, datatypes_instead(mean));
}

}  // namespace

Count total(const Totals& totals, Transport transport) {
  Count sum;
  for (const auto& row : totals.by_transport) {
    sum.calls += row[static_cast<std::size_t>(transport)].calls;
    sum.bytes += row[static_cast<std::size_t>(transport)].bytes;
  }
  return sum;
}

Reached reached_of(const Totals& totals) {
  Reached reached;
  for (int m = 0; m < machine::kTransports; ++m) {
    const auto transport = static_cast<Transport>(m);
    if (transport != Transport::Library) add(reached.another_way, total(totals, transport));
  }
  reached.left = sum_of(
      totals, {Reason::LibraryIsFaster, Reason::NotDecodable, Reason::Forced, Reason::OutOfMemory,
               Reason::External, Reason::NoKernels, Reason::FewUses, Reason::BuiltInRule,
               Reason::Trials, Reason::CollectiveTrials, Reason::NoAgreement});
  reached.contiguous = sum_of(totals, {Reason::Contiguous, Reason::GpuAware});
  return reached;
}

std::optional<TrialTimes> trial_times(const Totals& totals) {
  const std::uint64_t kinds = totals.trials_packed + totals.trials_shared + totals.trials_left;
  if (kinds == 0) return std::nullopt;
  const double each = 1e-3 / static_cast<double>(kinds);
  return TrialTimes{static_cast<double>(totals.trials_moved_ns) * each,
                    static_cast<double>(totals.trials_left_ns) * each};
}

std::string meaning_of(const Totals& totals) {
  if (settings::flag(settings::Id::disable)) return "disabled: every call was passed on";
  const auto [another_way, left, contiguous] = reached_of(totals);
  if (another_way.calls == 0 && left.calls == 0) {
    return contiguous.calls == 0 ? "no message that Strake could change"
                                 : contiguous_meaning(contiguous);
  }
  const bool device = total(totals, Transport::Device).calls +
                          total(totals, Transport::OneShot).calls +
                          total(totals, Transport::Staged).calls !=
                      0;
  const char* const kind = device ? "bytes with gaps or in GPU memory" : "strided bytes";
  if (another_way.calls == 0)
    return fmt::format("none of the {} went another way than the MPI library's", kind);
  std::string text = fmt::format("{} of the {} went another way than the MPI library's",
                                 percent(another_way.bytes, another_way.bytes + left.bytes), kind);
  if (const auto tried = trial_times(totals)) {
    text +=
        fmt::format("; an exchange of this job's trials took {:.1f} us by Strake, {:.1f} us left",
                    tried->moved, tried->left);
  }
  return text + "; whether that helps: strake run --compare 5";
}

}  // namespace strake::interpose
