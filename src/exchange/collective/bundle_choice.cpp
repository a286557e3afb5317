#include "exchange/collective/bundle_choice.hpp"

#include <algorithm>

#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::exchange {

void BundleChoice::add(MessageDirection direction, int rank, std::uint32_t edge,
                       std::int64_t bytes) {
  if (!members_.bundles(direction, rank)) return;
  const bool sends = direction == MessageDirection::Send;
  Blocks& blocks = (sends ? sent_ : received_)[rank];
  blocks.edges.push_back(edge);
  blocks.bundled.push_back(sends && blocks.bundle.place(bytes) == Told::InBundle ? 1 : 0);
}

void BundleChoice::choose() {
  for (auto& [rank, blocks] : sent_) {
    // A bundle of one block saves no message.
    if (std::ranges::count(blocks.bundled, 1) < 2) std::ranges::fill(blocks.bundled, char{0});
  }
  requests_.reserve(sent_.size() + received_.size());
}

int BundleChoice::tell(std::int32_t number) noexcept {
  const mpi::RealMpi& real = mpi::real_mpi();
  int code = MPI_SUCCESS;
  const auto begin = [&](auto call, int rank, Blocks& blocks) {
    MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
    const int begun = call(blocks.bundled.data(), static_cast<int>(blocks.bundled.size()), MPI_CHAR,
                           members_.world_rank(rank), number, mpi::own_world(), &request);
    if (code == MPI_SUCCESS) code = begun;
  };
  for (auto& [rank, blocks] : received_) begin(real.MPI_Irecv, rank, blocks);
  for (auto& [rank, blocks] : sent_) begin(real.MPI_Isend, rank, blocks);
  const int ended =
      real.MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
  return code != MPI_SUCCESS ? code : ended;
}

bool BundleChoice::bundled(MessageDirection direction, int rank,
                           std::uint32_t edge) const noexcept {
  const auto& all = direction == MessageDirection::Send ? sent_ : received_;
  const auto found = all.find(rank);
  if (found == all.end()) return false;
  const Blocks& blocks = found->second;
  const auto at = std::ranges::find(blocks.edges, edge);
  return at != blocks.edges.end() &&
         blocks.bundled[static_cast<std::size_t>(at - blocks.edges.begin())] != 0;
}

}  // namespace strake::exchange
