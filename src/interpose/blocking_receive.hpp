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
#include "interpose/receive.hpp"
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

/// Calls `call(status)`, which carries out the receive. Whether a message came, of which the status
/// then tells. `room` of the receive [bytes]; negative: not known.
template <typename Call>
bool came(Function function, const Receive& receive, std::int64_t room, MPI_Status& status,
          int& code, const Call& call) {
  // MPICH returns MPI_SUCCESS, since 4.3, where an error handler of the application's has returned:
  // then only the status tells.
  const MPI_Status before = status;
  status.MPI_SOURCE = MPI_UNDEFINED;
  status.MPI_ERROR = MPI_SUCCESS;
  code = call(&status);
  const int ended = code != MPI_SUCCESS ? code : status.MPI_ERROR;
  if (ended != MPI_SUCCESS) receive.note_failed(ended, status, room);
  const bool refused = status.MPI_SOURCE == MPI_UNDEFINED;
  if (refused) status = before;
  const int error = status.MPI_ERROR;
  if (!mpi::quirks::kSendrecvReplaceSetsError || function != Function::MPI_Sendrecv_replace) {
    status.MPI_ERROR = before.MPI_ERROR;
  }
  return code == MPI_SUCCESS && !refused && error == MPI_SUCCESS;
}

/// Runs `call(status)`, a receive on `comm` that nobody looks at.
template <typename Call>
int receive_unwatched(MPI_Comm comm, MPI_Status* status, const Call& call) {
  return unwatched(status, call, [comm](int error, const MPI_Status& told) {
    note_truncated(error, told, mpi::communicator(comm));
  });
}

/// One call that receives: `call(data, count, type, status)`. Its code, and how its message ended.
template <typename Call>
int receive_into(Function function, const Parcel& parcel, Receive& receive, MPI_Status* user_status,
                 Call&& call, Arrival& arrival) {
  const Wire wire = wire_of(parcel);
  const std::int64_t room = exchange::shared::room_of_packed(parcel.bytes);
  receive.expect(room);
  arrival.lost = true;
  StatusOr status(user_status);
  int code = MPI_SUCCESS;
  const auto ask = [&](MPI_Status* at) { return call(parcel.data, wire.count(), wire.type(), at); };
  if (!came(function, receive, room, *status.get(), code, ask)) return code;
  arrival.delivery = receive.look(
      *status.get(), [&] { return exchange::shared::read_landed(parcel.data, parcel.memory); });
  const std::int64_t bytes = mpi::received_bytes(*status.get());
  if (bytes > parcel.bytes) {
    if (arrival.delivery) {
      arrival.delivery->done();
      arrival.delivery.reset();
    } else {
      receive.note_failed(MPI_ERR_TRUNCATE, *status.get(), room);
    }
    return raise(receive.comm(), MPI_ERR_TRUNCATE);
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
                  void* buffer, Count count, MPI_Datatype type, Receive& receive,
                  MPI_Status* user_status, const Found* counted) {
  const auto with = [&](MPI_Status* at) {
    return post(
        [&](void* into, Count as_many, MPI_Datatype as) { return ask(into, as_many, as, at); },
        found, buffer, count, type);
  };
  const std::int64_t room = room_of(found);
  if (!receive.expect(room)) {
    if (counted != nullptr) note(function, Transport::Library, counted->reason, counted->bytes);
    return receive_unwatched(receive.comm(), user_status, with);
  }
  StatusOr status(user_status);
  int code = MPI_SUCCESS;
  if (receive.gives_room(room)) receive.place(buffer, count, type, found, true);
  const auto call = [&](MPI_Status* at) {
    constexpr auto kRoom = static_cast<Count>(exchange::shared::kLongestHeader);
    const Landing* const own = receive.landing();
    return own != nullptr ? ask_apart(own->own(), kRoom, MPI_BYTE, at) : with(at);
  };
  std::optional<Delivery> delivery;
  bool fits = true;
  if (came(function, receive, room, *status.get(), code, call)) {
    delivery = receive.look(*status.get(), [&] {
      if (receive.landing() == nullptr) receive.place(buffer, count, type, found);
      return receive.landing()->landed();
    });
    fits = receive.settle(delivery, *status.get());
  }
  if (delivery) {
    note(function, transport_of(*delivery), Reason::None, mpi::received_bytes(*status.get()));
  } else if (counted != nullptr) {
    note(function, Transport::Library, counted->reason, counted->bytes);
  }
  return fits ? code : raise(receive.comm(), MPI_ERR_TRUNCATE);
}

template <typename Ask, typename Count>
int leave_receive(Function function, const Ask& ask, const Found& found, void* buffer, Count count,
                  MPI_Datatype type, Receive& receive, MPI_Status* user_status,
                  const Found* counted) {
  return leave_receive(function, ask, ask, found, buffer, count, type, receive, user_status,
                       counted);
}

/// A receive from inside another call, such as one from an error handler of the application's: left
/// to the MPI library, and not counted.
template <typename Ask, typename Count>
int pass_on_receive(const Ask& ask, void* buffer, Count count, MPI_Datatype type, Receive& receive,
                    MPI_Status* status) {
  if (g_disabled || exchange::shared::ShmEndpoint::get() == nullptr)
    return ask(buffer, count, type, status);
  return guarded(receive.comm(), [&] {
    return leave_receive(Function::MPI_Recv, ask, Found{}, buffer, count, type, receive, status,
                         nullptr);
  });
}

/// The steps of a receive whose transfer was started; `call` as receive_into()'s.
template <typename Call>
int finish_receive(Function function, const Examined& found, Transfer& transfer, Receive& receive,
                   MPI_Status* status, Call&& call) {
  int code = MPI_SUCCESS;
  CallChannel channel([&](const Parcel& parcel) {
    Arrival arrival;
    code = receive_into(function, parcel, receive, status, call, arrival);
    const Transport transport =
        arrival.delivery ? transport_of(*arrival.delivery) : transfer.transport();
    if (!arrival.lost) note(function, transport, found.reason, arrival.bytes);
    return arrival;
  });
  transfer.finish(channel);
  return code;
}

/// A receive of which nothing was found before: looks at its arguments, and carries it out by
/// `ask(buffer, count, type, status)`.
template <typename Ask, typename Count>
int receive_examined(Function function, const Ask& ask, void* buffer, Count count,
                     MPI_Datatype type, Receive& receive, MPI_Status* status) {
  Examined found = examine(MessageDirection::Receive, Style::Blocking, buffer, count, type);
  prepare_for_header(found, receive);
  std::optional<Transfer> transfer;
  if (!take(found, [&] { begin_packed(MessageDirection::Receive, found, transfer); }))
    return leave_receive(function, ask, found, buffer, count, type, receive, status, &found);
  return finish_receive(function, found, *transfer, receive, status, ask);
}

}  // namespace strake::interpose
