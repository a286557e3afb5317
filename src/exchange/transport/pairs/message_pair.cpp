#include "exchange/transport/pairs/message_pair.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "machine/transports.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::exchange::planned {
namespace {

/// A count of MPI's, and the type that it counts: beyond 2 GiB lines are counted.
struct Counted {
  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};
Counted counted(std::int64_t bytes) {
  if (bytes <= std::numeric_limits<int>::max()) return {static_cast<int>(bytes), MPI_BYTE};
  static const MPI_Datatype line = [] {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const mpi::RealMpi& real = mpi::real_mpi();
    mpi::check(real.MPI_Type_contiguous(static_cast<int>(kLine), MPI_BYTE, &made),
               "MPI_Type_contiguous");
    mpi::check(real.MPI_Type_commit(&made), "MPI_Type_commit");
    return made;
  }();
  return {static_cast<int>(bytes / kLine), line};
}

}  // namespace

MessagePair::~MessagePair() {
  const mpi::RealMpi& real = mpi::real_mpi();
  int over = 0;
  real.MPI_Finalized(&over);
  if (over != 0) return;
  if (receiving_ != MPI_REQUEST_NULL) {
    (void)real.MPI_Cancel(&receiving_);
    (void)real.MPI_Wait(&receiving_, MPI_STATUS_IGNORE);
  }
  if (sending_ == MPI_REQUEST_NULL) return;
  // The MPI library may read it for an unknown time.
  (void)real.MPI_Request_free(&sending_);
  (void)new std::vector<std::byte>(std::move(out_));
}

void MessagePair::expect() {
  const std::int64_t bytes = schedule(in()).packed_bytes();
  in_.resize(static_cast<std::size_t>(bytes));
  const Counted what = counted(bytes);
  mpi::check(mpi::real_mpi().MPI_Irecv(in_.data(), what.count, what.type, peer_, in_tag_, comm_,
                                       &receiving_),
             "MPI_Irecv");
}

bool MessagePair::pack() {
  out_.resize(static_cast<std::size_t>(schedule(out()).packed_bytes()));
  schedule(out()).pack(round().bases, out_.data(), true);
  return true;
}

bool MessagePair::post() {
  const Counted what = counted(static_cast<std::int64_t>(out_.size()));
  mpi::check(mpi::real_mpi().MPI_Isend(out_.data(), what.count, what.type, peer_, out_tag_, comm_,
                                       &sending_),
             "MPI_Isend");
  return false;
}

PairTransfer::Completion MessagePair::poll_sent() {
  int done = 0;
  mpi::check(mpi::real_mpi().MPI_Test(&sending_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done == 0 ? Completion::Pending : Completion::Done;
}

bool MessagePair::poll() {
  int done = 0;
  mpi::check(mpi::real_mpi().MPI_Test(&receiving_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

bool MessagePair::unpack() {
  return schedule(in()).unpack(round().bases, in_.data(), {}, round().combine);
}

std::string MessagePair::describe() const {
  const Transport packs = schedule(kSends).on_device() ? Transport::Staged : Transport::Pack;
  return fmt::format("one message each way, {}", machine::facts_of(packs).describe);
}

}  // namespace strake::exchange::planned
