#include "mpi/nodes.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>

#include "mpi/communicators.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"

namespace strake::mpi {
namespace {

struct NodeTable {
  std::vector<int> node_of;
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

bool learn_nodes() noexcept {
  const RealMpi& real = real_mpi();
  try {
    int rank = 0;
    int size = 0;
    check(real.MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(real.MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    const std::uint64_t here = own_node(rank);
    std::vector<std::uint64_t> nodes(static_cast<std::size_t>(size));
    check(real.MPI_Allgather(&here, 1, MPI_UINT64_T, nodes.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
          "MPI_Allgather");
    ProcessState::part<NodeTable>().node_of = numbered(nodes);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

const std::vector<int>& world_nodes() noexcept { return ProcessState::part<NodeTable>().node_of; }

std::vector<int> nodes_of(MPI_Comm comm) {
  const std::vector<int>& table = world_nodes();
  if (table.empty()) return {};
  std::vector<int> nodes;
  for (const int rank : world_ranks(comm)) {
    if (rank < 0 || rank >= static_cast<int>(table.size())) return {};
    nodes.push_back(table[static_cast<std::size_t>(rank)]);
  }
  return numbered(nodes);
}

}  // namespace strake::mpi
