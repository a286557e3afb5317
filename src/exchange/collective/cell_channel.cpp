#include "exchange/collective/cell_channel.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/collective/members.hpp"
#include "exchange/transport/queues.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"
#include "strake/memory.hpp"

namespace strake::exchange {
namespace {

using machine::Direction;
using shared::Cell;

/// Cells that are on their way by MPI, and the tag of the next message that a cell tells of.
struct Spilled {
  struct One {
    Cell cell;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::list<One> sent;
  std::int32_t messages = 0;
};
Spilled& spilled() { return ProcessState::part<Spilled>(); }

/// The tag of cells.
std::int32_t cell_tag() noexcept { return mpi::first_single_tag(); }

/// A tag that no other message to the same rank has while it is on its way.
std::int32_t next_single_tag() noexcept {
  std::int32_t& messages = spilled().messages;
  messages = (messages + 1) % (mpi::first_single_tag() - 1);
  return mpi::first_single_tag() + 1 + messages;
}

}  // namespace

void post_cell(std::int32_t rank, const Cell& cell) {
  if (cells()->post(rank, cell)) return;
  const mpi::RealMpi& real = mpi::real_mpi();
  std::erase_if(spilled().sent, [&](Spilled::One& one) {
    int done = 0;
    return real.MPI_Test(&one.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  Spilled::One& one = spilled().sent.emplace_back(cell);
  mpi::check(real.MPI_Isend(&one.cell, sizeof(Cell), MPI_BYTE, rank, cell_tag(), mpi::own_world(),
                            &one.request),
             "MPI_Isend");
  cells()->note_spilled(rank);
}

std::optional<Cell> take_cell(std::int32_t rank, const shared::CellName& name) {
  shared::Cells& ours = *cells();
  for (std::uint64_t left = ours.spilled(rank); left > 0; --left) {
    int is_here = 0;
    mpi::check(
        mpi::real_mpi().MPI_Iprobe(rank, cell_tag(), mpi::own_world(), &is_here, MPI_STATUS_IGNORE),
        "MPI_Iprobe");
    if (is_here == 0) break;
    Cell cell;
    mpi::check(mpi::real_mpi().MPI_Recv(&cell, sizeof(Cell), MPI_BYTE, rank, cell_tag(),
                                        mpi::own_world(), MPI_STATUS_IGNORE),
               "MPI_Recv");
    ours.keep(rank, cell);
  }
  return ours.take(rank, name);
}

void CellChannel::post(const Parcel& parcel) {
  parcel_ = parcel;
  by_mpi_.reset();
  if (direction_ == Direction::Receive) return;
  Cell cell;
  cell.name = name_;
  cell.bytes = bytes_;
  if (parcel.header) {
    cell.way = Cell::Way::Segment;
    std::memcpy(&cell.header, parcel.data, sizeof(cell.header));
  } else {
    cell.way = Cell::Way::Message;
    cell.tag = next_single_tag();
    by_mpi_.emplace(mpi::Peer{rank_, cell.tag, mpi::own_world()}, mpi::real_mpi().MPI_Isend);
    by_mpi_->post(parcel);
  }
  post_cell(rank_, cell);
}

std::optional<Arrival> CellChannel::poll() {
  if (by_mpi_) return by_mpi_->poll();
  if (direction_ == Direction::Send) return Arrival{};
  const std::optional<Cell> cell = take_cell(rank_, name_);
  return cell ? arrived(*cell) : std::nullopt;
}

std::optional<Arrival> CellChannel::arrived(const Cell& cell) {
  if (cell.way == Cell::Way::Message) {
    by_mpi_.emplace(mpi::Peer{rank_, cell.tag, mpi::own_world()});
    by_mpi_->post(parcel_);
    return by_mpi_->poll();
  }
  Arrival arrival;
  if (cell.way == Cell::Way::Segment) {
    arrival.delivery = shared::ShmEndpoint::get()->peer_segments().open(
        reinterpret_cast<const std::byte*>(&cell.header), rank_);
    if (!arrival.delivery) throw Error("a cell names a message that is not there");
    arrival.bytes = arrival.delivery->bytes();
  } else {
    arrival.bytes = std::clamp<std::int64_t>(cell.bytes, 0, Cell::kMostInside);
  }
  if (arrival.bytes > parcel_.bytes) {
    if (arrival.delivery) arrival.delivery->done();
    throw MessageFailed(MPI_ERR_TRUNCATE, true);
  }
  if (arrival.delivery || arrival.bytes == 0) return arrival;
  if (parcel_.memory == MemoryKind::Device) {
    const BorrowedQueues queues(classify(parcel_.data).device, QueueOrder::Own);
    queues.copies().wait(queues.copies().copy(parcel_.data, cell.inside.data(), arrival.bytes));
  } else {
    std::memcpy(parcel_.data, cell.inside.data(), static_cast<std::size_t>(arrival.bytes));
  }
  return arrival;
}

}  // namespace strake::exchange
