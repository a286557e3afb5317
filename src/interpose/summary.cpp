#include "interpose/summary.hpp"

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "interpose/at_end.hpp"
#include "interpose/counters.hpp"
#include "interpose/ordered_ranks.hpp"
#include "interpose/sharing.hpp"
#include "interpose/summary_forms.hpp"
#include "interpose/times.hpp"
#include "interpose/trying.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"

namespace strake::interpose {
namespace {

using mpi::real_mpi;
using Json = nlohmann::ordered_json;

struct Parent {
  bool has_spawned = false;  ///< this rank
};

/// Sums the totals of all ranks on rank 0. They are 64-bit counts and nothing else.
void add_up(Totals& totals) {
  constexpr int kWords = sizeof(Totals) / sizeof(std::uint64_t);
  static_assert(sizeof(Totals) % sizeof(std::uint64_t) == 0);
  Totals sum;
  mpi::check(real_mpi().MPI_Reduce(&totals, &sum, kWords, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD),
             "MPI_Reduce");
  totals = sum;
}

std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);  // paths need not be UTF-8
}

/// \{ Functions of rows as text. They do not throw, since other ranks wait for the text: rows are
/// left out instead.
std::string own_rows() noexcept {
  try {
    return text_of(times::rows());
  } catch (const std::exception&) {
    return "[]";
  }
}
std::string merged(std::string rows, const std::string& more) noexcept {
  try {
    Json sum = Json::parse(rows);
    times::add_rows(sum, Json::parse(more));
    return text_of(sum);
  } catch (const std::exception&) {
    return rows;
  }
}
/// \}

std::string receive_rows(int from, MPI_Comm comm) {
  MPI_Status status;
  int size = 0;
  mpi::check(real_mpi().MPI_Probe(from, 0, comm, &status), "MPI_Probe");
  mpi::check(real_mpi().MPI_Get_count(&status, MPI_CHAR, &size), "MPI_Get_count");
  std::string text(static_cast<std::size_t>(size), ' ');
  mpi::check(real_mpi().MPI_Recv(text.data(), size, MPI_CHAR, from, 0, comm, MPI_STATUS_IGNORE),
             "MPI_Recv");
  return text;
}

/// The rows of all ranks, on rank 0: over a tree, so that rank 0 gets no more than log2(ranks)
/// messages.
std::string rows_of_all(int rank, int ranks) {
  std::string rows = own_rows();
  const OwnWorld world(rank);
  for (int step = 1; step < ranks; step *= 2) {
    if ((rank & step) != 0) {
      mpi::check(real_mpi().MPI_Send(rows.data(), static_cast<int>(rows.size()), MPI_CHAR,
                                     rank - step, 0, world.get()),
                 "MPI_Send");
      break;
    }
    if (rank + step < ranks) rows = merged(std::move(rows), receive_rows(rank + step, world.get()));
  }
  return rows;
}

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  const std::string text = text_of(json, 2) + "\n";
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
  bool& spawned = ProcessState::part<Parent>().has_spawned;
  spawned = parent != MPI_COMM_NULL;
  return spawned;
}

void summarise() noexcept {
  // Adding up is collective. Only if every rank has Strake can all ranks take part; then all do,
  // whatever their settings.
  const bool whole_job = !settings::text(settings::Id::job).empty();
  // Spawned ranks have an MPI_COMM_WORLD of their own.
  if (ProcessState::part<Parent>().has_spawned || (!whole_job && !summary_wanted())) return;
  try {
    const mpi::RealMpi& real = real_mpi();
    int rank = 0;
    int ranks = 1;
    real.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    real.MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const times::Spent spent = times::stop();
    JobTotals job{interpose::totals(), ranks, whole_job};
    Totals& totals = job.totals;
    const exchange::Trials::Found tried = trying::found();
    totals.trials_packed = tried.packed;
    totals.trials_shared = tried.shared;
    totals.trials_left = tried.left;
    totals.trials_unsettled = tried.unsettled;
    totals.trials_moved_ns = tried.moved_ns;
    totals.trials_left_ns = tried.left_ns;
    const ReorderCounts order = reorder_counts();
    totals.reordered = order.reordered;
    totals.order_kept = order.kept;
    totals.across_before = order.across_before;
    totals.across_after = order.across_after;
    totals.islands_before = order.islands_before;
    totals.islands_after = order.islands_after;
    totals.across_all = order.all;
    totals.timed = spent.wall > 0 ? 1 : 0;
    totals.wall_ns = static_cast<std::uint64_t>(spent.wall * 1e9);
    totals.in_mpi_ns = static_cast<std::uint64_t>(spent.in_mpi * 1e9);
    totals.ranks_sharing[static_cast<std::size_t>(sharing())] = 1;
    totals.shared = shared();
    totals.heap = heap();
    std::string rows;
    if (whole_job) {
      const QuietErrors quiet;
      if (!wanted_by_job(summary_wanted())) return;
      add_up(totals);
      rows = rows_of_all(rank, ranks);
    } else {
      rows = own_rows();
    }
    if (rank != 0) return;
    const Json calls = Json::parse(rows);
    if (settings::flag(settings::Id::summary)) {
      const std::string text = summary_text(job, calls);
      std::fwrite(text.data(), 1, text.size(), stderr);
    }
    const std::string path(settings::text(settings::Id::summary_json));
    if (!path.empty()) write_json(path, summary_json(job, calls));
  } catch (const std::exception& error) {
    log::warn("no summary: {}", error.what());
  } catch (...) {
    log::warn("no summary");  // what an error handler of the program's threw
  }
}

}  // namespace strake::interpose
