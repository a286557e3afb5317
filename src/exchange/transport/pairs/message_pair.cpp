#include "exchange/transport/pairs/message_pair.hpp"

#include <fmt/format.h>

#include <limits>

#include "machine/transports.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

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

void MessagePair::open(Message& message, std::size_t which) {
  const PairSchedule& packed = schedule(which);
  const MemoryKind kind = !packed.on_device()               ? MemoryKind::Host
                          : transport_ == Transport::Device ? MemoryKind::Device
                                                            : MemoryKind::Pinned;
  try {
    message.packed = PoolBlock({kind, packed.place().device}, packed.packed_bytes());
  } catch (const OutOfMemory& error) {
    if (kind == MemoryKind::Host) throw;
    log::info("an exchange with rank {} is copied once more: {}", peer_, error.what());
    message.packed = PoolBlock({}, packed.packed_bytes());
  }
}

void MessagePair::start(Message& message) {
  mpi::check(mpi::real_mpi().MPI_Start(&message.request), "MPI_Start");
  message.active = true;
}

bool MessagePair::test(Message& message) {
  int done = 0;
  mpi::check(mpi::real_mpi().MPI_Test(&message.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  message.active = done == 0;
  return done != 0;
}

/// Whether no device copies from or to this pair's memory.
bool MessagePair::is_idle() const noexcept {
  try {
    return schedule(kSends).idle() && schedule(kReceives).idle();
  } catch (...) {
    return false;  // the device has failed
  }
}

void MessagePair::close(Message& message, bool sends) noexcept {
  if (message.request == MPI_REQUEST_NULL) return;
  const mpi::RealMpi& real = mpi::real_mpi();
  if (message.active && sends) {
    message.packed.leak();  // the MPI library may read it for an unknown time
  } else if (message.active) {
    (void)real.MPI_Cancel(&message.request);
    (void)real.MPI_Wait(&message.request, MPI_STATUS_IGNORE);
  }
  (void)real.MPI_Request_free(&message.request);
}

MessagePair::~MessagePair() {
  if (!is_idle())
    for (auto* const messages : {&sends_, &receives_})
      for (Message& message : *messages) message.packed.leak();
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over != 0) return;
  for (Message& message : receives_) close(message, false);
  for (Message& message : sends_) close(message, true);
}

void MessagePair::expect() {
  Message& message = receives_[in()];
  if (message.request == MPI_REQUEST_NULL) {
    if (message.packed.data() == nullptr) open(message, in());
    const Counted what = counted(schedule(in()).packed_bytes());
    mpi::check(mpi::real_mpi().MPI_Recv_init(message.packed.data(), what.count, what.type, peer_,
                                             in_tag_, comm_, &message.request),
               "MPI_Recv_init");
  }
  start(message);
}

bool MessagePair::pack() {
  Message& message = sends_[out()];
  if (message.packed.data() == nullptr) open(message, out());
  schedule(out()).pack(round().bases, message.packed.data(), true, message.packed.place());
  return true;
}

bool MessagePair::post() {
  Message& message = sends_[out()];
  if (message.request == MPI_REQUEST_NULL) {
    const Counted what = counted(schedule(out()).packed_bytes());
    mpi::check(mpi::real_mpi().MPI_Send_init(message.packed.data(), what.count, what.type, peer_,
                                             out_tag_, comm_, &message.request),
               "MPI_Send_init");
  }
  start(message);
  return false;
}

PairTransfer::Completion MessagePair::poll_sent() {
  return test(sends_[out()]) ? Completion::Done : Completion::Pending;
}

bool MessagePair::poll() { return test(receives_[in()]); }

bool MessagePair::unpack() {
  const Message& message = receives_[in()];
  return schedule(in()).unpack(round().bases, message.packed.data(), {}, round().combine,
                               message.packed.place());
}

std::string MessagePair::describe() const {
  const Transport packs = schedule(kSends).on_device() ? transport_ : Transport::Pack;
  return fmt::format("one message each way, {}", machine::facts_of(packs).describe);
}

}  // namespace strake::exchange::planned
