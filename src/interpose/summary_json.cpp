#include <nlohmann/json.hpp>
#include <string>

#include "interpose/sharing.hpp"
#include "interpose/summary_forms.hpp"
#include "machine/profile_state.hpp"
#include "machine/transports.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"

namespace strake::interpose {
namespace {

using mpi::real_mpi;
using Json = nlohmann::ordered_json;

nlohmann::ordered_json to_json(const Count& count) {
  return {{"calls", count.calls}, {"bytes", count.bytes}};
}

/// The times of one rank, as a mean over the timed ranks.
nlohmann::ordered_json time_of(const Totals& totals) {
  const double each = 1e-9 / static_cast<double>(totals.timed);
  const double wall = static_cast<double>(totals.wall_ns) * each;
  const double in_mpi = static_cast<double>(totals.in_mpi_ns) * each;
  return {{"wall_s", wall}, {"in_mpi_s", in_mpi}, {"in_mpi_share", wall > 0 ? in_mpi / wall : 0.0}};
}

nlohmann::ordered_json profile_json() {
  const machine::Located& located = machine::located_here();
  const auto state = machine::state_of(located, exchange::mpi_library());
  nlohmann::ordered_json json = {{"used", state.kind == machine::ProfileState::Kind::Measured},
                                 {"state", name_of(state.kind)},
                                 {"text", state.sentence}};
  if (located.profile) {
    json["file"] = located.file;
    json["host"] = located.profile->host;
    json["date"] = located.profile->date;
  }
  return json;
}

nlohmann::ordered_json heap_json(const SharedHeap& heap) {
  nlohmann::ordered_json json = {{"blocks", heap.blocks}, {"bytes", heap.bytes}};
  json["declined"] = nlohmann::ordered_json::object();
  for (int i = 0; i < sharing::kHeapDeclined; ++i) {
    const std::uint64_t blocks = heap.declined[static_cast<std::size_t>(i)];
    if (blocks != 0) json["declined"][name_of(static_cast<sharing::HeapDeclined>(i))] = blocks;
  }
  for (int i = 0; i < sharing::kHeapUses; ++i) {
    json["ranks"][name_of(static_cast<sharing::HeapUse>(i))] =
        heap.ranks[static_cast<std::size_t>(i)];
  }
  json["small_pages"] = heap.small_pages;
  return json;
}

nlohmann::ordered_json methods_json(const Totals& totals) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (int m = 0; m < machine::kTransports; ++m) {
    json[name_of(static_cast<Transport>(m))] = to_json(total(totals, static_cast<Transport>(m)));
  }
  return json;
}

/// The functions that were called, each with its transports.
nlohmann::ordered_json functions_json(const Totals& totals) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (int f = 0; f < interpose::kFunctions; ++f) {
    Count sum;
    nlohmann::ordered_json transports = nlohmann::ordered_json::object();
    for (int m = 0; m < machine::kTransports; ++m) {
      const Count& count =
          totals.by_transport[static_cast<std::size_t>(f)][static_cast<std::size_t>(m)];
      if (count.calls == 0) continue;
      transports[name_of(static_cast<Transport>(m))] = to_json(count);
      sum.calls += count.calls;
      sum.bytes += count.bytes;
    }
    if (sum.calls == 0) continue;
    nlohmann::ordered_json entry = to_json(sum);
    entry["methods"] = std::move(transports);
    json[name_of(static_cast<interpose::Function>(f))] = std::move(entry);
  }
  return json;
}

nlohmann::ordered_json reasons_json(const Totals& totals) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (int i = 1; i < exchange::kReasons; ++i) {
    const Count& count = totals.by_reason[static_cast<std::size_t>(i)];
    if (count.calls != 0) json[name_of(static_cast<Reason>(i))] = to_json(count);
  }
  return json;
}

nlohmann::ordered_json shared_memory_json(const Totals& totals) {
  nlohmann::ordered_json json = {{"pairs", totals.shared.ranks}, {"late", totals.shared.late}};
  json["unshareable"] = nlohmann::ordered_json::object();
  for (int i = 0; i < sharing::kDeclined; ++i) {
    const std::uint64_t messages = totals.shared.unshareable[static_cast<std::size_t>(i)];
    if (messages != 0) json["unshareable"][name_of(static_cast<sharing::Declined>(i))] = messages;
  }
  for (int i = 0; i < kSharings; ++i) {
    json["ranks"][name_of(static_cast<Sharing>(i))] =
        totals.ranks_sharing[static_cast<std::size_t>(i)];
  }
  json["ordinary_bytes"] = totals.shared.ordinary;
  return json;
}

nlohmann::ordered_json trials_json(const Totals& totals) {
  nlohmann::ordered_json json = {{"packed", totals.trials_packed},
                                 {"shared", totals.trials_shared},
                                 {"left", totals.trials_left},
                                 {"unsettled", totals.trials_unsettled}};
  const auto tried = trial_times(totals);
  json["moved_us"] = tried ? Json(tried->moved) : Json(nullptr);
  json["left_us"] = tried ? Json(tried->left) : Json(nullptr);
  return json;
}

}  // namespace

nlohmann::ordered_json summary_json(const JobTotals& job, nlohmann::ordered_json calls) {
  const auto& [totals, ranks, whole_job] = job;
  nlohmann::ordered_json json;
  json["strake"] = STRAKE_VERSION;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  real_mpi().MPI_Get_library_version(version, &length);
  const std::string library(version, static_cast<std::size_t>(length));
  json["mpi"] = library.substr(0, library.find_first_of(",\n"));
  json["ranks"] = ranks;
  json["whole_job"] = whole_job;
  json["disabled"] = settings::flag(settings::Id::disable);
  json["profile"] = profile_json();
  if (totals.timed != 0) json["time"] = time_of(totals);
  const Reached reached = reached_of(totals);
  json["meaning"] = meaning_of(totals);
  json["reached"] = {{"another_way", to_json(reached.another_way)},
                     {"left", to_json(reached.left)},
                     {"contiguous", to_json(reached.contiguous)}};
  json["saved_seconds_in_pack"] = static_cast<double>(totals.saved_ns) * 1e-9;
  json["methods"] = methods_json(totals);
  json["functions"] = functions_json(totals);
  json["reasons"] = reasons_json(totals);
  json["shared_memory"] = shared_memory_json(totals);
  json["shared_heap"] = heap_json(totals.heap);
  json["reordered"] = {{"communicators", totals.reordered},
                       {"kept", totals.order_kept},
                       {"across_before", totals.across_before},
                       {"across_after", totals.across_after},
                       {"islands_before", totals.islands_before},
                       {"islands_after", totals.islands_after},
                       {"all", totals.across_all}};
  json["trials"] = trials_json(totals);
  json["calls"] = std::move(calls);
  return json;
}

}  // namespace strake::interpose
