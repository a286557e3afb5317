#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "device/own_folder.hpp"
#include "interpose/sharing.hpp"
#include "interpose/summary_forms.hpp"
#include "machine/profile_state.hpp"
#include "machine/transports.hpp"
#include "mpi/quirks.hpp"
#include "settings/counted.hpp"
#include "settings/settings.hpp"

namespace strake::interpose {
namespace {

std::string human_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

/// The times of one rank, as a mean over the timed ranks.
std::string time_line(const Totals& totals) {
  if (totals.timed == 0) return {};
  const double each = 1e-9 / static_cast<double>(totals.timed);
  return fmt::format(
      "  time         {:.3f} s from MPI_Init to MPI_Finalize, {:.3f} s of it inside MPI ({:.0f} "
      "%)\n",
      static_cast<double>(totals.wall_ns) * each, static_cast<double>(totals.in_mpi_ns) * each,
      100.0 * static_cast<double>(totals.in_mpi_ns) / static_cast<double>(totals.wall_ns));
}

/// The results of the job's trials; empty if nothing was tried.
std::string trials_line(const Totals& totals) {
  if (totals.trials_packed + totals.trials_shared + totals.trials_left + totals.trials_unsettled ==
      0)
    return {};
  std::string text = fmt::format(
      "  trials       packing kept for {} kinds of message, shared memory for {}, the MPI "
      "library's "
      "copy for {}",
      totals.trials_packed, totals.trials_shared, totals.trials_left);
  if (totals.trials_unsettled != 0)
    text += fmt::format("; {} not tried to the end", totals.trials_unsettled);
  if (const auto times = trial_times(totals)) {
    text +=
        fmt::format("\n    an exchange took {:.1f} us by Strake, {:.1f} us left to the MPI library",
                    times->moved, times->left);
  }
  return text + "\n    (a kind: one layout, size and direction on one rank)\n";
}

/// The communicators whose ranks were placed anew; empty if none could be.
std::string reorder_lines(const Totals& totals) {
  if (totals.reordered + totals.order_kept == 0) return {};
  if (totals.reordered == 0)
    return fmt::format("  ranks        kept in {}: another order would keep little more in nodes\n",
                       counted(totals.order_kept, "communicator"));
  const double all = static_cast<double>(std::max<std::uint64_t>(totals.across_all, 1));
  const auto percent = [all](std::uint64_t weight) {
    return 100 * static_cast<double>(weight) / all;
  };
  std::string text = fmt::format(
      "  ranks        reordered in {}: {:.0f} % of what neighbours exchange leaves the nodes, "
      "{:.0f} % in the given order\n",
      counted(totals.reordered, "communicator"), percent(totals.across_after),
      percent(totals.across_before));
  if (totals.islands_before != totals.across_before)
    text += fmt::format(
        "               {:.0f} % leaves the islands of nodes (sockets), {:.0f} % in the given "
        "order\n",
        percent(totals.islands_after), percent(totals.islands_before));
  return text;
}

using Json = nlohmann::ordered_json;

/// Rows that the summary shows of each kind.
constexpr std::size_t kShown = 3;

/// The part that `seconds` are of the time inside MPI of all ranks. [%]
double share_of(double seconds, const Totals& totals) {
  return totals.in_mpi_ns == 0 ? 0 : 1e11 * seconds / static_cast<double>(totals.in_mpi_ns);
}

/// The calls that most of the time inside MPI goes to. A call may have several rows: of datatypes,
/// of transports.
std::string longest_calls(const Totals& totals, const Json& calls) {
  struct Sum {
    std::string function;
    std::string place;
    std::uint64_t calls = 0;
    double seconds = 0;
  };
  std::vector<Sum> sums;
  for (const Json& row : calls) {
    const auto function = row["function"].get<std::string>();
    const auto place = row["place"].get<std::string>();
    auto sum = std::ranges::find_if(
        sums, [&](const Sum& one) { return one.function == function && one.place == place; });
    if (sum == sums.end()) sum = sums.insert(sums.end(), Sum{function, place, 0, 0});
    sum->calls += row["calls"].get<std::uint64_t>();
    sum->seconds += row["seconds"].get<double>();
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &Sum::seconds);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, sums.size()); ++i) {
    const Sum& sum = sums[i];
    text += fmt::format("  {:<12} {:>3.0f} %  {}{}{}, {}\n", i == 0 ? "of that" : "",
                        share_of(sum.seconds, totals), sum.function,
                        sum.place.empty() ? "" : " at ", sum.place, counted(sum.calls, "call"));
  }
  return text;
}

/// The datatypes with gaps that most time went to, as far as they can be named. A send has its
/// transport; that of a receive, or of a persistent message, is not known when it is asked for.
std::string datatypes(const Json& calls) {
  struct Sum {
    std::string datatype;
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    double seconds = 0;
    std::uint64_t open = 0;  ///< calls without a transport
    std::vector<std::pair<std::string, std::uint64_t>> transports;
  };
  std::vector<Sum> sums;
  for (const Json& row : calls) {
    if (!row.contains("datatype") || !row["datatype"].is_string()) continue;
    const auto name = row["datatype"].get<std::string>();
    if (name.starts_with("MPI_") || name.starts_with("contiguous(")) continue;
    auto sum = std::ranges::find(sums, name, &Sum::datatype);
    if (sum == sums.end()) sum = sums.insert(sums.end(), Sum{name, 0, 0, 0, 0, {}});
    const auto count = row["calls"].get<std::uint64_t>();
    sum->calls += count;
    sum->bytes += row.value("bytes", std::uint64_t{0});
    sum->seconds += row["seconds"].get<double>();
    if (!row.contains("method")) {
      sum->open += count;
      continue;
    }
    const auto transport = row["method"].get<std::string>();
    const std::string shown = transport == name_of(Transport::Library) ? "passed on" : transport;
    auto same =
        std::ranges::find(sum->transports, shown, &std::pair<std::string, std::uint64_t>::first);
    if (same == sum->transports.end()) same = sum->transports.insert(same, {shown, 0});
    same->second += count;
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &Sum::seconds);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, sums.size()); ++i) {
    const Sum& sum = sums[i];
    text += fmt::format("  {:<12} {}, {} asked for", i == 0 ? "datatypes" : "",
                        counted(sum.calls, "call"), human_bytes(sum.bytes));
    const char* separator = ": ";
    for (const auto& [transport, count] : sum.transports)
      text += fmt::format("{}{} {}", std::exchange(separator, ", "), count, transport);
    if (sum.open != 0) text += fmt::format("{}{} not known when called", separator, sum.open);
    text += fmt::format("\n    {}\n", sum.datatype);
  }
  return text;
}

/// The command of this installation, by its path: it may not be on the PATH.
std::string command_path() {
  namespace fs = std::filesystem;
  for (const char* way : {"/../bin/strake", "/../../bin/strake"}) {
    std::error_code error;
    const fs::path path = fs::canonical(own_folder() + way, error);
    if (!error) return path.string();
  }
  return "strake";
}

/// Says how this machine was measured, and by which command it would be; empty if no choice of this
/// job goes by that.
std::string profile_lines(const Totals& totals) {
  const exchange::Forced* const forced = exchange::forced();
  if ((forced != nullptr && forced->forces_messages()) || settings::flag(settings::Id::disable))
    return {};
  std::uint64_t choices = 0;
  for (const Reason reason : {Reason::BuiltInRule, Reason::LibraryIsFaster, Reason::Trials})
    choices += totals.by_reason[static_cast<std::size_t>(reason)].calls;
  choices += reached_of(totals).another_way.calls;
  if (choices == 0) return {};
  using Kind = machine::ProfileState::Kind;
  const auto state = machine::state_of(machine::located_here(), exchange::mpi_library());
  std::string text = fmt::format("  profile      {}\n", state.sentence);
  if (state.kind == Kind::Measured || state.kind == Kind::Off) return text;
  const bool needs_root = mpi::quirks::kOpenMpi && geteuid() == 0;
  const std::string measure =
      fmt::format("{}{} -n 2 {} measure --quick", settings::text(settings::Id::launcher),
                  needs_root ? " --allow-run-as-root" : "", command_path());
  return text + fmt::format("    {}\n", state.remedy(measure));
}

/// The shared heap's lines, or one that says what it could do.
std::string heap_lines(const Totals& totals) {
  const SharedHeap& heap = totals.heap;
  const auto ranks_of = [&](sharing::HeapUse use) {
    return heap.ranks[static_cast<std::size_t>(use)];
  };
  if (!settings::flag(settings::Id::shared_heap)) {
    constexpr std::uint64_t kWorthSaying = 1 << 20;
    const Reached reached = reached_of(totals);
    const std::uint64_t ordinary = totals.shared.ordinary;
    if (ordinary < kWorthSaying || ordinary < reached.another_way.bytes / 8) return {};
    return fmt::format(
        "  {} were packed from ordinary memory; with a shared heap receivers copy what lies in "
        "large "
        "blocks of malloc from there\n    (whether that helps: strake run --compare 5 "
        "--shared-heap)\n",
        human_bytes(ordinary));
  }
  std::string text =
      fmt::format("  shared heap: {} of {}, on {}\n", counted(heap.blocks, "block"),
                  human_bytes(heap.bytes), counted(ranks_of(sharing::HeapUse::On), "rank"));
  for (int i = 0; i < sharing::kHeapDeclined; ++i) {
    const std::uint64_t blocks = heap.declined[static_cast<std::size_t>(i)];
    if (blocks != 0)
      text += fmt::format("    {:>10} large blocks came from elsewhere: {}\n", blocks,
                          name_of(static_cast<sharing::HeapDeclined>(i)));
  }
  for (int i = 0; i < sharing::kHeapUses; ++i) {
    const auto use = static_cast<sharing::HeapUse>(i);
    if (use != sharing::HeapUse::On && ranks_of(use) != 0)
      text += fmt::format("  no shared heap for {} ranks: {}\n", ranks_of(use), name_of(use));
  }
  if (heap.small_pages != 0)
    text +=
        "    the heap's pages are small: huge ones are for private memory alone here "
        "(/sys/kernel/mm/transparent_hugepage/shmem_enabled)\n";
  return text;
}

}  // namespace

std::string summary_text(const JobTotals& job, const nlohmann::ordered_json& calls) {
  const auto& [totals, ranks, whole_job] = job;
  const std::string who = whole_job ? fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s")
                                    : "rank 0 (the job did not start under strake run)";
  std::string text = fmt::format("strake: {}: {}\n", who, meaning_of(totals));
  text += time_line(totals);
  text += longest_calls(totals, calls);
  for (const machine::TransportFacts& row : machine::transports()) {
    const Count count = total(totals, row.transport);
    if (count.calls == 0 || row.transport == Transport::Library) continue;
    text += fmt::format("  {:<16} {:>10} calls  {:>10}  {}\n", row.name, count.calls,
                        human_bytes(count.bytes), row.describe);
  }
  if (totals.shared.late != 0) {
    text += fmt::format(
        "    {:>10} of the messages called direct were packed: their receivers came late\n",
        totals.shared.late);
  }
  for (int i = 0; i < sharing::kDeclined; ++i) {
    const std::uint64_t messages = totals.shared.unshareable[static_cast<std::size_t>(i)];
    if (messages == 0) continue;
    text += fmt::format("    {:>10} messages could not be copied directly: {}\n", messages,
                        name_of(static_cast<sharing::Declined>(i)));
  }
  Count system = total(totals, Transport::Library);
  for (const Reason reason : {Reason::External, Reason::OneSided, Reason::Combined}) {
    system.calls += totals.by_reason[static_cast<std::size_t>(reason)].calls;
  }
  if (system.calls != 0) {
    text += fmt::format("  {:<16} {:>10} calls  {:>10}\n", "passed on", system.calls,
                        human_bytes(system.bytes));
  }
  for (int i = 1; i < exchange::kReasons; ++i) {
    const Count& count = totals.by_reason[static_cast<std::size_t>(i)];
    if (count.calls == 0) continue;
    text += fmt::format("    {:>10} calls: {}\n", count.calls, name_of(static_cast<Reason>(i)));
  }
  text += reorder_lines(totals);
  text += trials_line(totals);
  text += datatypes(calls);
  for (int i = 0; i < kSharings; ++i) {
    const std::uint64_t ranks_of_it = totals.ranks_sharing[static_cast<std::size_t>(i)];
    if (ranks_of_it == 0 || ranks == 1) continue;
    const auto what = static_cast<Sharing>(i);
    text += what == Sharing::Yes
                ? fmt::format("  shared memory: {} pairs of ranks\n", totals.shared.ranks)
                : fmt::format("  no shared memory for {} ranks: {}\n", ranks_of_it, name_of(what));
  }
  text += heap_lines(totals);
  if (totals.saved_ns > 0) {
    text += fmt::format(
        "  saved in MPI_Pack: {:.3f} s (the MPI library's time for the same types was measured)\n",
        static_cast<double>(totals.saved_ns) * 1e-9);
  }
  text += profile_lines(totals);
  return text;
}

}  // namespace strake::interpose
