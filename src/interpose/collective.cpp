#include "interpose/collective.hpp"

#include "exchange/collective/members.hpp"
#include "mpi/peers.hpp"
#include "mpi/quirks.hpp"
#include "mpi/types.hpp"

namespace strake::interpose {
namespace {

/// How many blocks a buffer has. 0: not known.
std::int64_t count_blocks(Blocks blocks, MPI_Comm comm) {
  int count = 1;
  switch (blocks) {
    case Blocks::One:
    case Blocks::Own:
      return 1;
    case Blocks::Peers:
    case Blocks::Ranks: {
      const bool remote = blocks == Blocks::Peers && mpi::is_inter(comm);
      const int code = remote ? real_mpi().MPI_Comm_remote_size(comm, &count)
                              : real_mpi().MPI_Comm_size(comm, &count);
      return code == MPI_SUCCESS ? count : 0;
    }
    case Blocks::Sources:
    case Blocks::Destinations:
      break;
  }
  const exchange::Members* const members = exchange::Members::of(comm);
  if (members == nullptr || members->neighbours() == nullptr) return 0;
  return std::ssize(members->neighbours()->destinations);
}

}  // namespace

std::int64_t bytes_asked(const CollectiveShape& shape, std::span<const Argument> arguments) {
  const auto at = [&](std::int8_t place) -> const Argument& {
    return arguments[static_cast<std::size_t>(place)];
  };
  const bool sends = shape.sent.address != kNone && shape.sent.used_by != UsedBy::Root;
  const BufferShape& asked = sends ? shape.sent : shape.received;
  const bool in_place = at(asked.address).as<const void*>() == MPI_IN_PLACE;
  if (in_place && !sends) return 0;  // a root's own block
  if (shape.root != kNone) {
    const std::int64_t root = at(shape.root).number();
    if (root == MPI_ROOT || root == MPI_PROC_NULL) return 0;
  }
  const BufferShape& told = in_place ? shape.received : asked;
  const Argument& counts = at(told.count);
  if (counts.is_array() && asked.blocks == Blocks::One) return 0;  // in place
  const auto size = [&](std::int64_t i) {
    const MPI_Datatype type = told.types_of_blocks ? at(told.type).as<const MPI_Datatype*>()[i]
                                                   : at(told.type).as<MPI_Datatype>();
    const mpi::TypeRecord* const record = mpi::find_type(type);
    return record != nullptr ? record->size_bytes() : 0;
  };
  const std::int64_t blocks = count_blocks(asked.blocks, at(shape.comm).as<MPI_Comm>());
  if (!counts.is_array()) return blocks * counts.number() * size(0);
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < blocks; ++i)
    if (const std::int64_t count = counts.number(i); count > 0) bytes += count * size(i);
  return bytes;
}

OwnedPending entry_of(std::unique_ptr<Staged> staged, MPI_Request* request) {
  if (request != nullptr) *request = MPI_REQUEST_NULL;
  OwnedPending made =
      PendingPool::get().make(staged->function(), Reason::None, Receive(staged->comm()));
  made->work = std::move(staged);
  return made;
}

int keep_staged(OwnedPending entry, const MPI_Request* request, int code, bool persistent) {
  if (code != MPI_SUCCESS || request == nullptr || *request == MPI_REQUEST_NULL) return code;
  if (persistent) {
    entry->kind = RequestEntry::Kind::Persistent;
    entry->active = false;
    entry->beside = mpi::quirks::kTestallRepeatsBadly;
  } else {
    // Requests that are complete by now may have one and the same handle.
    int flag = 0;
    const int asked = real_mpi().MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
    if (asked == MPI_SUCCESS && flag != 0) {
      entry->work->end();
      return code;
    }
  }
  enter_pending(*request, std::move(entry));
  return code;
}

}  // namespace strake::interpose
