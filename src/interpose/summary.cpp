#include "interpose/summary.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "interpose/counters.hpp"
#include "interpose/sharing.hpp"
#include "machine/locate.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"

namespace strake::interpose {
namespace {

using machine::Method;
using mpi::real_mpi;

bool g_spawned = false;

struct Way {
  Method method;
  const char* what;
};
constexpr Way kAccelerated[] = {
    {Method::Direct, "one copy, from the sender's memory to the receiver's"},
    {Method::Shared, "packed into memory that both ranks have"},
    {Method::Pack, "packed, through the MPI library"},
    {Method::Device, "packed in device memory"},
    {Method::OneShot, "packed from device into host memory"},
    {Method::Staged, "packed in device memory, copied to host memory"},
};

std::string human_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

/// Sums the totals of all ranks on rank 0. They are 64-bit counts and nothing else.
void add_up(Totals& totals) {
  constexpr int kWords = sizeof(Totals) / sizeof(std::uint64_t);
  static_assert(sizeof(Totals) % sizeof(std::uint64_t) == 0);
  Totals sum;
  mpi::check(real_mpi().MPI_Reduce(&totals, &sum, kWords, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD),
             "MPI_Reduce");
  totals = sum;
}

Count total(const Totals& totals, Method method) {
  Count sum;
  for (const auto& row : totals.by_method) {
    sum.calls += row[static_cast<std::size_t>(method)].calls;
    sum.bytes += row[static_cast<std::size_t>(method)].bytes;
  }
  return sum;
}

/// Which measurement would have made the choices of this job better; empty if none would.
std::string unmeasured(const Totals& totals) {
  if (exchange::forced_method()) return {};
  std::uint64_t choices = totals.by_reason[static_cast<std::size_t>(Reason::LibraryIsFaster)].calls;
  for (const auto& [method, what] : kAccelerated) {
    choices += total(totals, method).calls;
  }
  using Outcome = machine::Located::Outcome;
  const Outcome outcome = machine::located_here().outcome;
  if (choices == 0 || outcome == Outcome::Off || outcome == Outcome::Unusable) return {};
  if (outcome == Outcome::Missing) return "this machine was not measured (strake measure does it)";
  if (exchange::library_is_measured()) return {};
  return exchange::mpi_library() +
         " was not measured on this machine (mpirun -n 2 strake measure does it)";
}

std::string text_summary(const Totals& totals, int ranks, bool whole_job) {
  std::string text = whole_job ? fmt::format("strake: {} rank{}\n", ranks, ranks == 1 ? "" : "s")
                               : "strake: rank 0 (the job did not start under strake run)\n";
  if (settings::flag(settings::Id::disable)) text += "  disabled: every call was passed on\n";
  for (const Way& way : kAccelerated) {
    const Count count = total(totals, way.method);
    if (count.calls == 0) continue;
    text += fmt::format("  accelerated  {:<10} {:>10} calls  {:>10}  {}\n", name_of(way.method),
                        count.calls, human_bytes(count.bytes), way.what);
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
  Count system = total(totals, Method::System);
  for (const Reason reason :
       {Reason::Collective, Reason::External, Reason::OneSided, Reason::Combined}) {
    system.calls += totals.by_reason[static_cast<std::size_t>(reason)].calls;
  }
  if (system.calls != 0) {
    text += fmt::format("  passed on    {:<10} {:>10} calls  {:>10}\n", "", system.calls,
                        human_bytes(system.bytes));
  }
  for (int i = 1; i < exchange::kReasons; ++i) {
    const Count& count = totals.by_reason[static_cast<std::size_t>(i)];
    if (count.calls == 0) continue;
    text += fmt::format("    {:>10} calls: {}\n", count.calls, name_of(static_cast<Reason>(i)));
  }
  if (const std::string what = unmeasured(totals); !what.empty()) {
    text += "  by built-in choices: " + what + "\n";
  }
  for (int i = 0; i < kSharings; ++i) {
    const std::uint64_t ranks_of_it = totals.ranks_sharing[static_cast<std::size_t>(i)];
    if (ranks_of_it == 0 || ranks == 1) continue;
    const auto what = static_cast<Sharing>(i);
    text += what == Sharing::Yes
                ? fmt::format("  shared memory: {} pairs of ranks\n", totals.shared.ranks)
                : fmt::format("  no shared memory for {} ranks: {}\n", ranks_of_it, name_of(what));
  }
  if (totals.saved_ns > 0) {
    text += fmt::format(
        "  saved in MPI_Pack: {:.3f} s (the MPI library's time for the same types was measured)\n",
        static_cast<double>(totals.saved_ns) * 1e-9);
  }
  return text;
}

nlohmann::ordered_json to_json(const Count& count) {
  return {{"calls", count.calls}, {"bytes", count.bytes}};
}

nlohmann::ordered_json json_summary(const Totals& totals, int ranks, bool whole_job) {
  nlohmann::ordered_json json;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  real_mpi().MPI_Get_library_version(version, &length);
  const std::string library(version, static_cast<std::size_t>(length));
  json["mpi"] = library.substr(0, library.find_first_of(",\n"));
  json["ranks"] = ranks;
  json["whole_job"] = whole_job;
  json["disabled"] = settings::flag(settings::Id::disable);
  json["saved_seconds_in_pack"] = static_cast<double>(totals.saved_ns) * 1e-9;
  json["methods"] = nlohmann::ordered_json::object();
  for (int m = 0; m < machine::kMethods; ++m) {
    json["methods"][name_of(static_cast<Method>(m))] =
        to_json(total(totals, static_cast<Method>(m)));
  }
  json["functions"] = nlohmann::ordered_json::object();
  for (int f = 0; f < interpose::kFunctions; ++f) {
    Count sum;
    nlohmann::ordered_json methods = nlohmann::ordered_json::object();
    for (int m = 0; m < machine::kMethods; ++m) {
      const Count& count =
          totals.by_method[static_cast<std::size_t>(f)][static_cast<std::size_t>(m)];
      if (count.calls == 0) continue;
      methods[name_of(static_cast<Method>(m))] = to_json(count);
      sum.calls += count.calls;
      sum.bytes += count.bytes;
    }
    if (sum.calls == 0) continue;
    nlohmann::ordered_json entry = to_json(sum);
    entry["methods"] = std::move(methods);
    json["functions"][name_of(static_cast<interpose::Function>(f))] = std::move(entry);
  }
  json["reasons"] = nlohmann::ordered_json::object();
  for (int i = 1; i < exchange::kReasons; ++i) {
    const Count& count = totals.by_reason[static_cast<std::size_t>(i)];
    if (count.calls != 0) json["reasons"][name_of(static_cast<Reason>(i))] = to_json(count);
  }
  json["shared_memory"] = {{"pairs", totals.shared.ranks}, {"late", totals.shared.late}};
  json["shared_memory"]["unshareable"] = nlohmann::ordered_json::object();
  for (int i = 0; i < sharing::kDeclined; ++i) {
    const std::uint64_t messages = totals.shared.unshareable[static_cast<std::size_t>(i)];
    if (messages != 0)
      json["shared_memory"]["unshareable"][name_of(static_cast<sharing::Declined>(i))] = messages;
  }
  for (int i = 0; i < kSharings; ++i) {
    json["shared_memory"]["ranks"][name_of(static_cast<Sharing>(i))] =
        totals.ranks_sharing[static_cast<std::size_t>(i)];
  }
  return json;
}

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  const std::string text = json.dump(2) + "\n";
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed) log::warn("the summary can't be written to {}", path);
}

}  // namespace

bool summary_wanted() noexcept {
  static const bool wanted =
      settings::flag(settings::Id::summary) || !settings::text(settings::Id::summary_json).empty();
  return wanted;
}

bool note_parent() noexcept {
  MPI_Comm parent = MPI_COMM_NULL;
  real_mpi().MPI_Comm_get_parent(&parent);
  g_spawned = parent != MPI_COMM_NULL;
  return g_spawned;
}

void summarise() noexcept {
  // Adding up is collective. Only if every rank has Strake can all ranks take part; then all do,
  // whatever their settings.
  const bool whole_job = !settings::text(settings::Id::job).empty();
  // Spawned ranks have an MPI_COMM_WORLD of their own.
  if (g_spawned || (!whole_job && !summary_wanted())) return;
  try {
    const mpi::RealMpi& real = real_mpi();
    int rank = 0;
    int ranks = 1;
    real.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    real.MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Totals totals = interpose::totals();
    totals.ranks_sharing[static_cast<std::size_t>(sharing())] = 1;
    totals.shared = shared();
    if (whole_job) add_up(totals);
    if (rank != 0 || !summary_wanted()) return;
    if (settings::flag(settings::Id::summary)) {
      const std::string text = text_summary(totals, ranks, whole_job);
      std::fwrite(text.data(), 1, text.size(), stderr);
    }
    const std::string path(settings::text(settings::Id::summary_json));
    if (!path.empty()) write_json(path, json_summary(totals, ranks, whole_job));
  } catch (const std::exception& error) {
    log::warn("no summary: {}", error.what());
  }
}

}  // namespace strake::interpose
