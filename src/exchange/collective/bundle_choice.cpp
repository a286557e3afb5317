#include "exchange/collective/bundle_choice.hpp"

#include <algorithm>

#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::exchange {

void BundleChoice::add(int rank, std::int64_t bytes) {
  if (!members_.bundles(Direction::Send, rank)) return;
  Blocks& blocks = sent_[rank];
  blocks.bundled.push_back(blocks.bundle.place(bytes) == Told::InBundle ? 1 : 0);
}

void BundleChoice::drop_single(Blocks& blocks) {
  if (std::ranges::count(blocks.bundled, 1) < 2) std::ranges::fill(blocks.bundled, char{0});
}

void BundleChoice::tell(std::int32_t number) {
  const mpi::RealMpi& real = mpi::real_mpi();
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
  for (auto& [rank, blocks] : sent_) {
    drop_single(blocks);
    MPI_Request& request = requests.emplace_back(MPI_REQUEST_NULL);
    const int sent =
        real.MPI_Isend(blocks.bundled.data(), static_cast<int>(blocks.bundled.size()), MPI_CHAR,
                       members_.world_rank(rank), number, mpi::own_world(), &request);
    if (code == MPI_SUCCESS) code = sent;
  }
  for (const int rank : members_.neighbours()->sources) {
    if (!members_.bundles(Direction::Receive, rank) || received_.contains(rank)) continue;
    std::vector<char>& bundled = received_[rank].bundled;
    bundled.resize(static_cast<std::size_t>(members_.edges_from(rank)));
    const int got =
        real.MPI_Recv(bundled.data(), static_cast<int>(bundled.size()), MPI_CHAR,
                      members_.world_rank(rank), number, mpi::own_world(), MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = got;
  }
  const int ended =
      real.MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  mpi::check(code != MPI_SUCCESS ? code : ended, "the choice of bundles");
}

bool BundleChoice::bundled(Direction direction, int rank, std::uint32_t edge) const noexcept {
  const auto& all = direction == Direction::Send ? sent_ : received_;
  const auto found = all.find(rank);
  return found != all.end() && edge < found->second.bundled.size() &&
         found->second.bundled[edge] != 0;
}

}  // namespace strake::exchange
