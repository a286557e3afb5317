#include "exchange/collective/cell_channel.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/collective/members.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

using shared::Cell;

/// Cells that are on their way by MPI.
struct Spilled {
  struct One {
    Cell cell;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::list<One> sent;
};
Spilled& spilled() { return ProcessState::part<Spilled>(); }

/// The tag of cells.
std::int32_t cell_tag() noexcept { return mpi::first_single_tag(); }

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
  begin(parcel);
  if (!sends()) return;
  Cell cell;
  cell.name = name_;
  cell.bytes = bytes_;
  if (parcel.header) {
    cell.way = Cell::Way::Segment;
    std::memcpy(&cell.header, parcel.data, sizeof(cell.header));
  } else {
    cell.way = Cell::Way::Message;
    cell.tag = next_single_tag();
    go_by_mpi(cell.tag);
  }
  post_cell(rank(), cell);
}

std::optional<Arrival> CellChannel::poll() {
  if (goes_by_mpi()) return poll_mpi();
  if (sends()) return Arrival{};
  const std::optional<Cell> cell = take_cell(rank(), name_);
  return cell ? arrived(*cell) : std::nullopt;
}

std::optional<Arrival> CellChannel::arrived(const Cell& cell) {
  if (cell.way == Cell::Way::Message) {
    go_by_mpi(cell.tag);
    return poll_mpi();
  }
  if (cell.way == Cell::Way::Inside)
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
