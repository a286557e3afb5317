#include "sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exchange/transport/mpi_channel.hpp"
#include "exchange/transport/shared/header_messages.hpp"
#include "exchange/transport/shared/shm_endpoint.hpp"
#include "memory/sharing/directories.hpp"
#include "mpi/communicators.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

using exchange::shared::ShmEndpoint;

/// Announcements, and the answers to them, take three rounds.
constexpr int kRounds = 16;

/// Whether a job here would share memory, as far as one rank knows.
bool wanted() {
  int level = MPI_THREAD_MULTIPLE;
  return settings::flag(settings::Id::share) && PMPI_Query_thread(&level) == MPI_SUCCESS &&
         level != MPI_THREAD_MULTIPLE;
}

/// Opens this rank's end. The private directory is named by `number`, so it is another one than
/// that of a job of `strake run`, whose interposer may be in this process, too.
void open(std::uint64_t number, const Job& job) {
  try {
    sharing::SharedDirectory directory = sharing::directory_of(number);
    if (!mpi::begin_communicators()) return;
    mpi::name_communicator(MPI_COMM_WORLD, job.comm());
    ShmEndpoint::open(std::move(directory), std::to_string(number), job.rank(), job.size());
  } catch (const Error& error) {
    log::info("messages by shared memory are not measured: {}", error.what());
  }
}

}  // namespace

Sharing::Sharing(Job& job) {
  const std::vector<int> pair = job.pair(Path::Node);
  if (pair.empty()) return;
  std::uint64_t number = sharing::new_number();
  job.broadcast(&number, sizeof(number));
  const bool takes_part = std::ranges::find(pair, job.rank()) != pair.end();
  if (takes_part && wanted()) open(number, job);
  for (int round = 0; round < kRounds && !works_; ++round) {
    ShmEndpoint* const endpoint = ShmEndpoint::get();
    bool reached = !takes_part;
    if (takes_part && endpoint != nullptr) {
      reached = endpoint->directory().reaches(job.rank() == pair[0] ? pair[1] : pair[0]);
      endpoint->directory().take_announcements();
    }
    works_ = job.maximum(reached ? -1 : 0) < 0;
  }
  if (!works_) ShmEndpoint::close();
}

Sharing::~Sharing() { ShmEndpoint::close(); }

bool Sharing::carries(std::int64_t bytes) const noexcept {
  return works_ && bytes > exchange::shared::kLongestHeader &&
         bytes <= settings::number(settings::Id::share_bytes);
}

void send_shared(const exchange::Typed& typed, const mpi::Envelope& to) {
  const auto there = exchange::shared::destination(to);
  const auto lease =
      there ? ShmEndpoint::get()->lease(*there, typed.elements->layout(), typed.address,
                                        typed.place, exchange::shared::Sender::Idle)
            : std::nullopt;
  if (!lease) {
    // The receiver waits for a message.
    mpi::check(PMPI_Send(nullptr, 0, MPI_BYTE, to.rank, to.tag, to.comm), "MPI_Send");
    throw Error(fmt::format("{} bytes found no room in the memory that rank {} shares",
                            typed.elements->size_bytes(), to.rank));
  }
  MPI_Request request = MPI_REQUEST_NULL;
  exchange::HandOverChannel channel([&](const exchange::Parcel& parcel) {
    const mpi::Wire wire = exchange::wire_of(parcel, to);
    mpi::check(
        PMPI_Isend(parcel.data, wire.count(), wire.type(), to.rank, to.tag, to.comm, &request),
        "MPI_Isend");
  });
  exchange::Transfer transfer(typed, *lease);
  transfer.start();
  transfer.post(channel);
  mpi::check(PMPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  transfer.arrived({});
}

void receive_shared(const exchange::Typed& typed, const mpi::Envelope& from) {
  namespace shared = exchange::shared;
  exchange::CallChannel channel([&](const exchange::Parcel& parcel) {
    const mpi::CommunicatorPtr comm =
        shared::communicator_of_receive(parcel.bytes, from.rank, from.comm);
    const mpi::Wire wire = exchange::wire_of(parcel);
    MPI_Status status;
    mpi::check(
        PMPI_Recv(parcel.data, wire.count(), wire.type(), from.rank, from.tag, from.comm, &status),
        "MPI_Recv");
    exchange::Arrival arrival;
    arrival.delivery = shared::look(status, comm, shared::Met::No, [&] {
      return shared::read_landed(parcel.data, parcel.memory);
    });
    arrival.bytes = mpi::received_bytes(status);
    return arrival;
  });
  exchange::Transfer transfer(machine::MessageDirection::Receive, typed, machine::Transport::Pack);
  transfer.start();
  transfer.finish(channel);
  if (!transfer.arrival().delivery)
    throw Error(fmt::format("a message of rank {} did not come by shared memory", from.rank));
}

}  // namespace strake::measure
