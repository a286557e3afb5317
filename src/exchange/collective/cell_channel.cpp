#include "exchange/collective/cell_channel.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <new>
#include <vector>

#include "exchange/collective/members.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/transport/shared/header_messages.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

using shared::Cell;

/// Copies of bytes that are on their way by MPI. No call waits for one: a rank that has made a
/// nonblocking call may be in an MPI_Barrier of the library's, and asks for them later.
struct Copies {
  struct One {
    One(const mpi::Envelope& peer, const void* data, std::int64_t size)
        : bytes(static_cast<std::size_t>(size + mpi::kWireRoom)),
          channel(peer, mpi::real_mpi().MPI_Isend) {
      if (size > 0) std::memcpy(bytes.data(), data, static_cast<std::size_t>(size));
      channel.post({bytes.data(), size});
    }
    std::vector<std::byte> bytes;
    MpiChannel channel;
  };
  std::list<One> sent;

  void drop_arrived() noexcept {
    std::erase_if(sent, [](One& one) {
      try {
        return one.channel.poll().has_value();
      } catch (const std::exception& failed) {
        log::warn("a message of a collective call failed: {}", failed.what());
        return true;
      }
    });
  }
  void send(std::int32_t rank, std::int32_t tag, const void* data, std::int64_t bytes) {
    drop_arrived();
    sent.emplace_back(mpi::Envelope{rank, tag, mpi::own_world()}, data, bytes);
  }
};
Copies& copies() { return ProcessState::part<Copies>(); }

/// The tag of cells.
std::int32_t cell_tag() noexcept { return mpi::first_single_tag(); }

}  // namespace

void post_cell(std::int32_t rank, const Cell& cell) {
  if (cells()->post(rank, cell)) return;
  copies().send(rank, cell_tag(), &cell, sizeof cell);
  cells()->note_spilled(rank);
}

void complete_copies() noexcept {
  for (Backoff backoff; !copies().sent.empty(); backoff.pause()) copies().drop_arrived();
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
  begin(parcel);
  if (!sends()) return;
  Cell cell;
  cell.name = name_;
  cell.bytes = bytes_;
  if (parcel.header) {
    cell.carrier = Cell::Carrier::Segment;
    std::memcpy(&cell.header, parcel.data, sizeof(cell.header));
  } else {
    cell.carrier = Cell::Carrier::Message;
    cell.tag = next_single_tag();
    send_by_mpi(cell.tag);
  }
  post_cell(rank(), cell);
}

void CellChannel::send_by_mpi(std::int32_t tag) {
  if (leaves_copies_ && parcel().memory != MemoryKind::Device) {
    try {
      return copies().send(rank(), tag, parcel().data, parcel().bytes);
    } catch (const std::bad_alloc&) {  // it waits for its receiver then
    }
  }
  go_by_mpi(tag);
}

std::optional<Arrival> CellChannel::poll() {
  if (goes_by_mpi()) return poll_mpi();
  if (sends()) return Arrival{};
  const std::optional<Cell> cell = take_cell(rank(), name_);
  return cell ? arrived(*cell) : std::nullopt;
}

std::optional<Arrival> CellChannel::arrived(const Cell& cell) {
  if (cell.carrier == Cell::Carrier::Message) {
    shared::look_behind(cell.bytes);
    go_by_mpi(cell.tag);
    return poll_mpi();
  }
  if (cell.carrier == Cell::Carrier::Inside)
    return take_inside(cell.inside.data(),
                       std::clamp<std::int64_t>(cell.bytes, 0, Cell::kMostInside));
  Arrival arrival;
  arrival.delivery = shared::ShmEndpoint::get()->peer_segments().open(
      reinterpret_cast<const std::byte*>(&cell.header), rank());
  if (!arrival.delivery) throw Error("a cell names a message that is not there");
  arrival.bytes = arrival.delivery->bytes();
  if (arrival.bytes > parcel().bytes) {
    arrival.delivery->done();
    throw MessageFailed(MPI_ERR_TRUNCATE, true);
  }
  return arrival;
}

}  // namespace strake::exchange
