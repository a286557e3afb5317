#include "exchange/collective/announced_channel.hpp"

#include <cstring>

#include "exchange/transport/queues.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"
#include "strake/memory.hpp"

namespace strake::exchange {
namespace {

struct SingleTags {
  std::int32_t messages = 0;
};

}  // namespace

std::int32_t next_single_tag() noexcept {
  std::int32_t& messages = ProcessState::part<SingleTags>().messages;
  messages = (messages + 1) % (mpi::first_single_tag() - 1);
  return mpi::first_single_tag() + 1 + messages;
}

void AnnouncedChannel::go_by_mpi(std::int32_t tag) {
  const mpi::Envelope peer{rank_, tag, mpi::own_world()};
  sends() ? by_mpi_.emplace(peer, mpi::real_mpi().MPI_Isend) : by_mpi_.emplace(peer);
  by_mpi_->post(parcel_);
}

void AnnouncedChannel::copy(std::byte* to, const std::byte* from, std::int64_t bytes) const {
  if (bytes == 0) return;
  if (parcel_.memory == MemoryKind::Device) {
    const BorrowedQueues queues(classify(parcel_.data).device, QueueOrder::Own);
    queues.copies().wait(queues.copies().copy(to, from, bytes));
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

void AnnouncedChannel::put_inside(std::byte* inside) const {
  copy(inside, parcel_.data, parcel_.bytes);
}

Arrival AnnouncedChannel::take_inside(const std::byte* inside, std::int64_t bytes) const {
  if (bytes > parcel_.bytes) throw MessageFailed(MPI_ERR_TRUNCATE, true);
  copy(parcel_.data, inside, bytes);
  Arrival arrival;
  arrival.bytes = bytes;
  return arrival;
}

}  // namespace strake::exchange
