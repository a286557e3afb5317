/// \file  Receives that one call of the MPI library's carries out: the steps around that call, and
/// what its status tells.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "exchange/message/transfer.hpp"
#include "exchange/transport/channel.hpp"
#include "exchange/transport/mpi_channel.hpp"
#include "interpose/boundary.hpp"
#include "interpose/examine.hpp"
#include "interpose/landing.hpp"
#include "interpose/short_receives.hpp"
#include "interpose/statuses.hpp"
#include "mpi/communicators.hpp"
#include "mpi/quirks.hpp"
#include "mpi/wire.hpp"

namespace strake::interpose {

using exchange::Arrival;
using exchange::CallChannel;
using exchange::Parcel;
using exchange::Transfer;
using exchange::wire_of;
using mpi::Wire;

/// Calls `call(status)`, which receives on `comm`. Whether a message came, of which the status then
/// tells. `room` [bytes], or kLongestHeader where it is known what the message is; negative: not
/// known.
template <typename Call>
bool came(Function function, MPI_Comm comm, std::int64_t room, MPI_Status& status, int& code,
          const Call& call) {
  // MPICH returns MPI_SUCCESS, since 4.3, where an error handler of the application's has returned:
  // then only the status tells.
  const MPI_Status before = status;
  status.MPI_SOURCE = MPI_UNDEFINED;
  status.MPI_ERROR = MPI_SUCCESS;
  code = call(&status);
  if (room < exchange::shared::kLongestHeader) {
    const int ended = code != MPI_SUCCESS ? code : status.MPI_ERROR;
    if (ended != MPI_SUCCESS) note_truncated(ended, status, mpi::communicator(comm));
  }
  const bool refused = status.MPI_SOURCE == MPI_UNDEFINED;
  if (refused) status = before;
  const int error = status.MPI_ERROR;
  if (!mpi::quirks::kSendrecvReplaceSetsError || function != Function::MPI_Sendrecv_replace) {
    status.MPI_ERROR = before.MPI_ERROR;
  }
  return code == MPI_SUCCESS && !refused && error == MPI_SUCCESS;
}

/// Where a receive's message may come from.
struct From {
  int source;
  Origin origin;

  /// Null: no header message comes.
  [[nodiscard]] mpi::CommunicatorPtr known(std::int64_t room) const {
    return origin.communicator_of_receive(source, room);
  }
};

/// Runs `call(status)`, a receive on `comm` that nobody looks at.
template <typename Call>
int receive_unwatched(MPI_Comm comm, MPI_Status* status, const Call& call) {
  return unwatched(status, call, [comm](int error, const MPI_Status& told) {
    note_truncated(error, told, mpi::communicator(comm));
  });
}

/// One call that receives: `call(data, count, type, status)`. Its code, and how its message ended.
template <typename Call>
int receive_into(Function function, const Parcel& parcel, const From& from, MPI_Status* user_status,
                 Call&& call, Arrival& arrival) {
  const Wire wire = wire_of(parcel);
  const std::int64_t given = exchange::shared::room_of_packed(parcel.bytes);
  const mpi::CommunicatorPtr known = from.known(given);
  const MPI_Comm comm = from.origin.comm;
  arrival.lost = true;
  StatusOr status(user_status);
  int code = MPI_SUCCESS;
  const auto ask = [&](MPI_Status* at) { return call(parcel.data, wire.count(), wire.type(), at); };
  const bool looked_at = from.origin.met() != exchange::shared::Met::No;
  const std::int64_t room = looked_at ? exchange::shared::kLongestHeader : given;
  if (!came(function, comm, room, *status.get(), code, ask)) return code;
  arrival.delivery = exchange::shared::look(*status.get(), known, from.origin.met(), [&] {
    return exchange::shared::read_landed(parcel.data, parcel.memory);
  });
  const std::int64_t bytes = mpi::received_bytes(*status.get());
  if (bytes > parcel.bytes) {
    if (arrival.delivery) {
      arrival.delivery->done();
      arrival.delivery.reset();
      return raise(comm, MPI_ERR_TRUNCATE);
    }
    if (room < exchange::shared::kLongestHeader)
      note_truncated(MPI_ERR_TRUNCATE, *status.get(), mpi::communicator(comm));
    return raise(comm, MPI_ERR_TRUNCATE);
  }
  arrival.bytes = bytes;
  arrival.lost = false;
  return MPI_SUCCESS;
}

/// Leaves a receive to the MPI library: `ask(buffer, count, type, status)`, or `ask_apart` where it
/// comes into memory of Strake's. `counted`: as what it is counted; null: its call is counted
/// already.
template <typename Ask, typename AskApart, typename Count>
int leave_receive(Function function, const Ask& ask, const AskApart& ask_apart, const Found& found,
                  void* buffer, Count count, MPI_Datatype type, const From& from,
                  MPI_Status* user_status, const Found* counted) {
  const auto with = [&](MPI_Status* at) {
    return post(
        [&](void* into, Count as_many, MPI_Datatype as) { return ask(into, as_many, as, at); },
        found, buffer, count, type);
  };
  const mpi::CommunicatorPtr known = from.known(room_of(found));
  if (known == nullptr) {
    if (counted != nullptr) note(function, Transport::Library, counted->reason, counted->bytes);
    return receive_unwatched(from.origin.comm, user_status, with);
  }
  StatusOr status(user_status);
  int code = MPI_SUCCESS;
  std::optional<Landing> landing;
  if (from.origin.gives_room(room_of(found))) landing.emplace(buffer, count, type, found, true);
  const auto receive = [&](MPI_Status* at) {
    constexpr auto kRoom = static_cast<Count>(exchange::shared::kLongestHeader);
    return landing ? ask_apart(landing->own(), kRoom, MPI_BYTE, at) : with(at);
  };
  const bool looked_at = landing || from.origin.met() != exchange::shared::Met::No;
  const std::int64_t room = looked_at ? exchange::shared::kLongestHeader : room_of(found);
  const bool received = came(function, from.origin.comm, room, *status.get(), code, receive);
  std::optional<Transport> way;
  const auto where = [&](std::optional<Landing>& made) {
    made.emplace(buffer, count, type, found);
  };
  const bool fits =
      !received || settle_left(*status.get(), known, from.origin.met(), landing, where, way);
  if (way) {
    note(function, *way, Reason::None, mpi::received_bytes(*status.get()));
  } else if (counted != nullptr) {
    note(function, Transport::Library, counted->reason, counted->bytes);
  }
  return fits ? code : raise(from.origin.comm, MPI_ERR_TRUNCATE);
}

template <typename Ask, typename Count>
int leave_receive(Function function, const Ask& ask, const Found& found, void* buffer, Count count,
                  MPI_Datatype type, const From& from, MPI_Status* user_status,
                  const Found* counted) {
  return leave_receive(function, ask, ask, found, buffer, count, type, from, user_status, counted);
}

/// A receive from inside another call, such as one from an error handler of the application's: left
/// to the MPI library, and not counted.
template <typename Ask, typename Count>
int pass_on_receive(const Ask& ask, void* buffer, Count count, MPI_Datatype type, const From& from,
                    MPI_Status* status) {
  if (g_disabled || exchange::shared::ShmEndpoint::get() == nullptr)
    return ask(buffer, count, type, status);
  return guarded(from.origin.comm, [&] {
    return leave_receive(Function::MPI_Recv, ask, Found{}, buffer, count, type, from, status,
                         nullptr);
  });
}
/// The steps of a receive that was started; `call` as above.
template <typename Call>
int receive(Function function, const Examined& found, Transfer& transfer, const From& from,
            MPI_Status* status, Call&& call) {
  int code = MPI_SUCCESS;
  CallChannel channel([&](const Parcel& parcel) {
    Arrival arrival;
    code = receive_into(function, parcel, from, status, call, arrival);
    const Transport transport =
        arrival.delivery ? transport_of(*arrival.delivery) : transfer.transport();
    if (!arrival.lost) note(function, transport, found.reason, arrival.bytes);
    return arrival;
  });
  transfer.finish(channel);
  return code;
}

}  // namespace strake::interpose
