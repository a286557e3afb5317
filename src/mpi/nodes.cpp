#include "mpi/nodes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "mpi/communicators.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"

namespace strake::mpi {
namespace {

struct NodeTable {
  std::vector<int> node_of;
  std::vector<int> island_of;  ///< within its node
};

/// The ranks of `comm`, as MPI_COMM_WORLD counts them. Empty: there is no table, or a rank is of
/// another job.
std::vector<int> known_ranks(MPI_Comm comm) {
  const auto size = static_cast<int>(ProcessState::part<NodeTable>().node_of.size());
  if (size == 0) return {};
  std::vector<int> ranks = world_ranks(comm);
  const auto is_known = [size](int rank) { return rank >= 0 && rank < size; };
  return std::ranges::all_of(ranks, is_known) ? ranks : std::vector<int>();
}

std::vector<int> chosen(const std::vector<int>& of_world, const std::vector<int>& ranks) {
  std::vector<int> made;
  for (const int rank : ranks) made.push_back(of_world[static_cast<std::size_t>(rank)]);
  return made;
}

/// A rank's row of the table, as it travels.
struct Here {
  std::uint64_t node = 0;
  std::int64_t island = 0;
};

/// The number of this rank's node, the same on all of its ranks.
std::uint64_t own_node(int rank) {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  std::string text = name.data();
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const std::uint64_t node = std::hash<std::string>{}(text + boot);
  const std::int64_t pretended = settings::number(settings::Id::ranks_per_node);
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15U;
  return pretended > 0 ? node + kSpread * static_cast<std::uint64_t>(1 + rank / pretended) : node;
}

}  // namespace

bool learn_nodes(int island) noexcept {
  const RealMpi& real = real_mpi();
  try {
    int rank = 0;
    int size = 0;
    check(real.MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(real.MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    const Here here{own_node(rank), island};
    std::vector<Here> all(static_cast<std::size_t>(size));
    check(real.MPI_Allgather(&here, sizeof(here), MPI_BYTE, all.data(), sizeof(here), MPI_BYTE,
                             MPI_COMM_WORLD),
          "MPI_Allgather");
    std::vector<std::uint64_t> nodes;
    std::vector<int> islands;
    for (const Here& one : all) {
      nodes.push_back(one.node);
      islands.push_back(static_cast<int>(one.island));
    }
    ProcessState::part<NodeTable>() = {numbered(nodes), std::move(islands)};
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool world_has_several() noexcept {
  const NodeTable& table = ProcessState::part<NodeTable>();
  const auto differ = [](const std::vector<int>& numbers) {
    return std::ranges::any_of(numbers, [&](int number) { return number != numbers.front(); });
  };
  return differ(table.node_of) || differ(table.island_of);
}

std::vector<int> nodes_of(MPI_Comm comm) {
  return numbered(chosen(ProcessState::part<NodeTable>().node_of, known_ranks(comm)));
}

std::vector<int> islands_of(MPI_Comm comm) {
  const NodeTable& table = ProcessState::part<NodeTable>();
  const std::vector<int> ranks = known_ranks(comm);
  return numbered_islands(chosen(table.node_of, ranks), chosen(table.island_of, ranks));
}

std::vector<int> numbered_islands(const std::vector<int>& node_of, std::vector<int> island_of) {
  std::map<int, std::set<int>> of_node;
  for (std::size_t i = 0; i < node_of.size(); ++i) of_node[node_of[i]].insert(island_of[i]);
  bool any = false;
  for (auto& [node, islands] : of_node) {
    if (*islands.begin() < 0) islands.clear();
    any = any || islands.size() > 1;
  }
  if (!any) return {};
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < node_of.size(); ++i)
    pairs.emplace_back(node_of[i], of_node[node_of[i]].empty() ? 0 : island_of[i]);
  return numbered(pairs);
}

}  // namespace strake::mpi
