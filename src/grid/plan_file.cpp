// The plan of a grid's exchanges as a graph that Graphviz draws: ranks, and what goes between them.
#include <fmt/format.h>

#include <fstream>
#include <numeric>

#include "grid/impl.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"

namespace strake {
namespace {

/// All ranks' texts one after the other, on rank 0.
std::string gathered(MPI_Comm comm, int ranks, const std::string& own) {
  const mpi::RealMpi& real = mpi::real_mpi();
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks));
  mpi::check(real.MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm),
             "MPI_Gather");
  std::vector<int> begins(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
  std::string all(static_cast<std::size_t>(begins.back() + lengths.back()), ' ');
  mpi::check(real.MPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(),
                              begins.data(), MPI_CHAR, 0, comm),
             "MPI_Gatherv");
  return all;
}

}  // namespace

void Grid::Impl::write_plan(const std::string& path) const {
  std::string text = fmt::format("  {} [label=\"rank {}", rank, rank);
  for (const Box& cells : owned) text += "\\n" + grid::bounds_of(cells);
  text += "\"]\n";
  for (const auto& [wanted, exchange] : exchanges_)
    for (const Exchange::PeerPlan& peer : exchange->peers())
      if (peer.sends_bytes > 0)
        text += fmt::format("  {} -> {} [label=\"{} bytes\\n{}\"]\n", rank, peer.rank,
                            peer.sends_bytes, peer.transport);
  const std::string all = gathered(comm, ranks, text);
  std::string fault;
  if (rank == 0) {
    std::ofstream file(path);
    file << "digraph exchanges {\n  node [shape=box]\n" << all << "}\n";
    if (!file.flush()) fault = fmt::format("rank 0 can't write '{}'", path);
  }
  mpi::agree(comm, fault, ErrorCode::Other);
}

}  // namespace strake
