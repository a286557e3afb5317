#include "exchange/transport/shared/header_messages.hpp"

#include <cstring>

#include "device/backend.hpp"
#include "exchange/transport/queues.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/memory.hpp"

namespace strake::exchange::shared {

std::optional<Destination> destination(const mpi::Envelope& peer) noexcept {
  if (ShmEndpoint::get() == nullptr || peer.rank < 0) return std::nullopt;
  const mpi::CommunicatorPtr& comm = mpi::communicator(peer.comm);
  if (comm == nullptr) return std::nullopt;
  const int rank = comm->world_rank(peer.rank);
  if (rank < 0) return std::nullopt;
  return Destination{rank, peer.tag, comm->name};
}

bool add_placeholder_of_header_length(std::int64_t bytes, const mpi::Envelope& peer) {
  const auto to = destination(peer);
  return to && ShmEndpoint::get()->add_placeholder(*to, bytes);
}

Landed read_landed(const std::byte* data, MemoryKind memory) {
  Landed landed;
  if (memory == MemoryKind::Device) {
    const BorrowedQueues queues(classify(data).device, QueueOrder::Own);
    queues.copies().wait(queues.copies().copy(landed.data(), data, landed.size()));
  } else {
    std::memcpy(landed.data(), data, landed.size());
  }
  return landed;
}

bool expect(std::int32_t rank) {
  peers::Directory& directory = ShmEndpoint::get()->directory();
  if (rank >= 0 && directory.refuses(rank)) return false;
  directory.expect(rank);
  return rank < 0 || !directory.refuses(rank);
}

namespace {

/// Where a message came from.
Destination origin(const MPI_Status& status, const mpi::CommunicatorPtr& comm) noexcept {
  if (comm == nullptr) return {};
  return {comm->world_rank(status.MPI_SOURCE), status.MPI_TAG, comm->name};
}

}  // namespace

std::optional<Delivery> open(const MPI_Status& status, const mpi::CommunicatorPtr& comm,
                             const Landed& landed, Met met) {
  const Destination from = origin(status, comm);
  if (from.rank < 0) return std::nullopt;
  PeerSegments& peer_segments = ShmEndpoint::get()->peer_segments();
  auto delivery = peer_segments.open(landed.data(), from.rank);
  if (!delivery && met != Met::Dropped)
    peer_segments.end_placeholder(from, mpi::received_bytes(status), met == Met::Matched);
  return delivery;
}

bool is_header(const MPI_Status& received, const mpi::CommunicatorPtr& comm, const Landed& landed) {
  const Destination from = origin(received, comm);
  return from.rank >= 0 && ShmEndpoint::get()->peer_segments().is_header(landed.data(), from.rank);
}

void see_message(const MPI_Status& received, const mpi::CommunicatorPtr& comm) {
  const Destination from = origin(received, comm);
  if (from.rank >= 0)
    ShmEndpoint::get()->peer_segments().end_placeholder(from, mpi::received_bytes(received));
}

std::int64_t bytes_of_probed(const MPI_Status& probed, const mpi::CommunicatorPtr& comm,
                             bool matched) {
  const Destination from = origin(probed, comm);
  const std::int64_t length = mpi::received_bytes(probed);
  return from.rank < 0 ? length
                       : ShmEndpoint::get()->peer_segments().bytes_of_next(from, length, matched);
}

void set_bytes(MPI_Status& status, std::int64_t bytes) noexcept {
  mpi::real_mpi().MPI_Status_set_elements_x(&status, MPI_BYTE, bytes);
}

}  // namespace strake::exchange::shared
