#include "interpose/ordered_ranks.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>

#include "mpi/agree.hpp"
#include "mpi/nodes.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/world.hpp"
#include "placement/scotch.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using mpi::real_mpi;

/// The last graph that was mapped.
struct LastOrdering {
  std::mutex mutex;
  placement::Graph graph;
  placement::Homes homes;
  placement::Ordering found;
};

placement::Ordering ordering(const Wanted& wanted, const placement::Homes& homes) {
  LastOrdering& last = ProcessState::part<LastOrdering>();
  const std::lock_guard lock(last.mutex);
  if (last.homes == homes && last.graph == wanted.graph) return last.found;
  std::vector<std::vector<int>> guesses;
  const std::vector<int> sizes = placement::sizes_of_groups(homes.node_of);
  if (!wanted.dims.empty()) {
    guesses.push_back(placement::stencil_strips(wanted.dims, sizes));
  } else if (auto guess = placement::scotch_guess(wanted.graph, sizes)) {
    guesses.push_back(*std::move(guess));
  }
  last.found = placement::ordering_of(wanted.graph, homes, guesses);
  last.graph = wanted.graph;
  last.homes = homes;
  return last.found;
}

void count_ordering(const placement::Ordering& found, bool helps) noexcept {
  ReorderCounts& counts = ProcessState::part<ReorderCounts>();
  ++(helps ? counts.reordered : counts.kept);
  if (!helps) return;
  counts.across_before += static_cast<std::uint64_t>(found.before.across);
  counts.across_after += static_cast<std::uint64_t>(found.after.across);
  counts.islands_before += static_cast<std::uint64_t>(found.islands_before.across);
  counts.islands_after += static_cast<std::uint64_t>(found.islands_after.across);
  counts.all += static_cast<std::uint64_t>(found.after.all);
}

/// Whether the weight between groups falls by as much as the user wants.
bool falls(const placement::Cut& before, const placement::Cut& after) noexcept {
  constexpr double kWorthwhile = 0.9;
  return after.across < before.across &&
         (mpi::common_wishes().reordered ||
          static_cast<double>(after.across) <= kWorthwhile * static_cast<double>(before.across));
}

bool helps(const placement::Ordering& found) noexcept {
  return falls(found.before, found.after) || falls(found.islands_before, found.islands_after);
}

}  // namespace

int rank_in(MPI_Comm comm) {
  int rank = 0;
  mpi::check(real_mpi().MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

ReorderCounts reorder_counts() noexcept { return ProcessState::part<ReorderCounts>(); }

placement::Homes homes_to_order(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || mpi::common_wishes().kept || !mpi::in_world() ||
      !mpi::world_has_several())
    return {};
  int is_inter = 1;
  mpi::check(real_mpi().MPI_Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
  if (is_inter != 0) return {};
  placement::Homes homes{mpi::nodes_of(comm), mpi::islands_of(comm)};
  if (homes.island_of.empty() &&
      std::ranges::none_of(homes.node_of, [](int node) { return node != 0; }))
    return {};
  return homes;
}

Wanted wanted_grid(const std::vector<int>& dims, const std::vector<int>& periodic,
                   std::size_t ranks) {
  Wanted made{placement::cartesian_graph(dims, periodic, static_cast<int>(ranks)), {}};
  const int positions = std::reduce(dims.begin(), dims.end(), 1, std::multiplies());
  if (positions == static_cast<int>(ranks)) made.dims = dims;
  return made;
}

bool all_willing(MPI_Comm comm, bool willing) {
  int all = willing ? 1 : 0;
  mpi::check(real_mpi().MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm),
             "MPI_Allreduce");
  return all != 0;
}

std::optional<placement::Ordering> helpful_ordering(const Wanted& wanted,
                                                    const placement::Homes& homes) {
  placement::Ordering found = ordering(wanted, homes);
  if (!helps(found)) return std::nullopt;
  return found;
}

std::vector<int> agreed_ordering(MPI_Comm comm, const MakeGraph& make,
                                 const placement::Homes& homes) {
  const std::size_t ranks = homes.node_of.size();
  std::vector<int> vertex_of(ranks + 1);  // and whether it helps
  std::string fault;
  ErrorCode kind = ErrorCode::Other;
  if (rank_in(comm) == 0) {
    try {
      const placement::Ordering found = ordering(make(ranks), homes);
      std::ranges::copy(found.vertex_of, vertex_of.begin());
      vertex_of.back() = helps(found) ? 1 : 0;
      count_ordering(found, helps(found));
    } catch (const std::exception& error) {
      fault = error.what();
      kind = kind_of_current_error();
    }
  }
  mpi::agree(comm, fault, kind);
  mpi::check(
      real_mpi().MPI_Bcast(vertex_of.data(), static_cast<int>(vertex_of.size()), MPI_INT, 0, comm),
      "MPI_Bcast");
  if (vertex_of.back() == 0) return {};
  vertex_of.pop_back();
  return vertex_of;
}

OrderedRanks::OrderedRanks(MPI_Comm comm, const std::vector<int>& vertex_of) {
  const int key = vertex_of[static_cast<std::size_t>(rank_in(comm))];
  mpi::check(real_mpi().MPI_Comm_split(comm, 0, key, &comm_), "MPI_Comm_split");
}

OrderedRanks::~OrderedRanks() { real_mpi().MPI_Comm_free(&comm_); }

}  // namespace strake::interpose
