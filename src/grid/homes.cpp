#include "grid/homes.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "device/backend.hpp"
#include "exchange/peers/group.hpp"
#include "machine/islands.hpp"
#include "mpi/nodes.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"

namespace strake::grid {
namespace {

/// The node of each rank, numbered from 0 on in the order of their first ranks.
std::vector<int> nodes_of_ranks(MPI_Comm comm) {
  std::vector<std::pair<std::int32_t, std::int32_t>> nodes;
  const auto group = exchange::peers::Group::of(comm);
  for (const exchange::peers::Member& member : group->members())
    nodes.emplace_back(member.node, member.pretended);
  return mpi::numbered(nodes);
}

/// The island of each of this rank's places, within its node.
std::vector<int> own_islands(std::span<const Place> places) {
  const DeviceBackend* const backend = device_backend();
  int rank = 0;
  mpi::check(mpi::real_mpi().MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  const int of_host = machine::own_island(rank);
  std::vector<int> islands;
  for (const Place place : places)
    islands.push_back(place.in_host_memory() || settings::number(settings::Id::ranks_per_island) > 0
                          ? of_host
                          : machine::island_of_gpu(place.device, backend->device_count()));
  return islands;
}

}  // namespace

placement::Homes homes_of(MPI_Comm comm, std::span<const Place> places,
                          std::span<const int> first_place) {
  const std::vector<int> node_of = nodes_of_ranks(comm);
  placement::Homes homes;
  std::vector<int> counts;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
    counts.push_back(first_place[rank + 1] - first_place[rank]);
    homes.node_of.insert(homes.node_of.end(), static_cast<std::size_t>(counts.back()),
                         node_of[rank]);
  }
  const std::vector<int> own = own_islands(places);
  std::vector<int> islands(homes.node_of.size());
  mpi::check(mpi::real_mpi().MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_INT,
                                            islands.data(), counts.data(), first_place.data(),
                                            MPI_INT, comm),
             "MPI_Allgatherv");
  homes.island_of = mpi::numbered_islands(homes.node_of, std::move(islands));
  return homes;
}

}  // namespace strake::grid
