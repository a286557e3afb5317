// Nonblocking point to point. In host memory a message is one of the MPI library's, whose request
// the application gets (interpose/pending.hpp); else it is an operation that the application knows
// as a generalised request (interpose/requests.hpp).
#include <memory>
#include <optional>

#include "interpose/at_once.hpp"
#include "interpose/examine.hpp"
#include "interpose/landing.hpp"
#include "interpose/messages.hpp"
#include "interpose/requests.hpp"
#include "mpi/peers.hpp"
#include "mpi/wire.hpp"

namespace strake::interpose {
namespace {

using exchange::CallChannel;
using exchange::HandOverChannel;
using exchange::Parcel;
using exchange::Transfer;
using exchange::wire_of;
using exchange::shared::Sender;
using mpi::Envelope;
using mpi::Wire;

/// Another thread may be inside a blocking call, which then can't take our next steps: leave
/// nothing to take.
void finish_if_threaded() {
  if (mpi::g_multiple) Requests::get().hand_on();
}

/// Returns `known`, which known_at_once() has found, or what found_before() finds in its place.
const Known* known_or_before(const Known* known, MessageDirection direction, int rank,
                             const void* buffer, std::int64_t count, MPI_Datatype type) {
  if (known != nullptr || rank == MPI_PROC_NULL) return known;
  return found_before(direction, Style::Nonblocking, buffer, count, type);
}
/// Examines a message of which that is known (null: nothing).
Examined examine_by(const Known* known, MessageDirection direction, const void* buffer,
                    std::int64_t count, MPI_Datatype type) {
  if (known != nullptr) return examined(*known, buffer);
  return examine_new(direction, Style::Nonblocking, buffer, count, type, use_of(direction));
}

/// Gives the message to the MPI library, by a call that makes a request, and enters what remains to
/// do under that request.
template <typename Call>
int give(OwnedPending pending, MPI_Request* request, Call&& call) {
  int code = MPI_SUCCESS;
  HandOverChannel channel([&](const Parcel& parcel) { code = call(parcel); });
  Transfer& transfer = *pending->transfer;
  transfer.post(channel);
  const bool given = code == MPI_SUCCESS && *request != MPI_REQUEST_NULL;
  if (!given) {
    transfer.withdraw();
    pending->give_up();
  } else if (transfer.direction() == MessageDirection::Send && is_shared_complete(*request)) {
    if (!transfer.offered()) {
      transfer.arrived({});
      return code;
    }
    // The header message is sent, but the message not taken: the application gets a request for
    // that.
    MPI_Request own = MPI_REQUEST_NULL;
    try {
      own = Requests::make_complete();
    } catch (const MpiError&) {
      transfer.arrived({});
      return code;
    }
    real_mpi().MPI_Wait(request, MPI_STATUS_IGNORE);
    *request = own;
    enter_pending(own, std::move(pending));
  } else {
    enter_pending(*request, std::move(pending));
  }
  return code;
}

/// The call copies the message, or refuses it for want of room: nothing is left to wait for.
template <typename Real, typename PassOn>
int ibsend(Examined& found, Real real, const Envelope& peer, MPI_Request* request, PassOn&& pass_on,
           std::int64_t count, MPI_Datatype type) {
  Requests::get().hand_on();
  std::optional<Transfer> transfer;
  add_placeholder_of_left(found, count, type, peer);
  if (!take(found, [&] { begin_packed(MessageDirection::Send, found, transfer); })) {
    return leave_to(pass_on, Function::MPI_Ibsend, found);
  }
  note(Function::MPI_Ibsend, transfer->transport(), found.reason, found.bytes);
  int code = MPI_SUCCESS;
  CallChannel channel([&](const Parcel& parcel) {
    const Wire wire = wire_of(parcel, peer);
    code = real(parcel.data, wire.count(), wire.type(), peer.rank, peer.tag, peer.comm, request);
    return exchange::Arrival{};
  });
  transfer->finish(channel);
  return code;
}

/// The operation of a send that has a lease, which is given back where no memory is left.
std::shared_ptr<MessageOperation> operation_of(const exchange::shared::Lease& lease,
                                               Function function, const Examined& found,
                                               const Envelope& peer) {
  try {
    return Requests::get().make_operation(function, found.reason, found.typed, lease, peer,
                                          start_of(function));
  } catch (...) {
    exchange::shared::SendSegment& send_segment =
        exchange::shared::ShmEndpoint::get()->send_segment();
    send_segment.withdraw(lease);
    send_segment.release(lease);
    throw;
  }
}

/// The operation of a send, which has a lease if shared memory can carry it.
std::shared_ptr<MessageOperation> make_send_operation(Function function, Examined& found,
                                                      const void* buffer, std::int64_t count,
                                                      MPI_Datatype type, const Envelope& peer) {
  if (const auto lease = lease_for(found, buffer, count, type, peer, Sender::Busy))
    return operation_of(*lease, function, found, peer);
  return Requests::get().make_operation(function, found.reason, found.typed, found.transport,
                                        MessageDirection::Send, peer, start_of(function));
}

/// \param known  what known_at_once() has found
template <typename Real, typename Count>
[[gnu::noinline]] int isend_examined(const Known* known, Function function, Real real,
                                     const void* buffer, Count count, MPI_Datatype type, int rank,
                                     int tag, MPI_Comm comm, MPI_Request* request) {
  const auto pass_on = [&] { return real(buffer, count, type, rank, tag, comm, request); };
  if (request == nullptr) return pass_on();
  return sending(comm, pass_on, [&] {
    Requests& ours = Requests::get();
    const Envelope peer{rank, tag, comm};
    const Known* const before =
        known_or_before(known, MessageDirection::Send, rank, buffer, count, type);
    const auto leave = [&](const Found& what) {
      return leave_with_placeholder(what, count, type, peer,
                                    [&] { return leave_to(pass_on, function, what); });
    };
    const Found* const left = left_by(before, rank);
    if (left != nullptr && !may_be_shared(*left)) {
      ours.hand_on();  // what was sent before leaves before
      return leave(*left);
    }
    Examined found = examine_by(before, MessageDirection::Send, buffer, count, type);
    const bool buffered = function == Function::MPI_Ibsend;  // its bytes are the MPI library's
    if (!buffered && (found.transport == Transport::Pack || may_be_shared(found))) {
      ours.hand_on();  // what was sent before leaves before
      OwnedPending pending;
      const auto make = [&] {
        pending = PendingPool::get().make(function, found.reason, Receive(comm));
        begin_send(found, buffer, count, type, peer, Sender::Busy, pending->transfer);
      };
      if (!take_send(found, make)) return leave(found);
      const Transfer& transfer = *pending->transfer;
      note(function, transfer.transport(), found.reason, found.bytes);
      if (!transfer.shares()) exchange::shared::add_placeholder(found.bytes, peer);
      return give(std::move(pending), request, [&](const Parcel& parcel) {
        const Wire wire = wire_of(parcel, peer);
        return real(parcel.data, wire.count(), wire.type(), rank, tag, comm, request);
      });
    }
    if (found.transport != Transport::Library && !mpi::sendable(peer)) {
      found.transport = Transport::Library;
      found.reason = Reason::BadArguments;
    }
    if (buffered) return ibsend(found, real, peer, request, pass_on, count, type);
    std::shared_ptr<MessageOperation> operation;
    const auto make = [&] {
      operation = make_send_operation(function, found, buffer, count, type, peer);
      operation->start();
    };
    if (!take(found, make)) {
      ours.hand_on();  // what was sent before leaves before
      return leave(found);
    }
    times::note_transport(operation->transport());
    *request = ours.launch(operation);
    finish_if_threaded();
    return MPI_SUCCESS;
  });
}

/// Handles MPI_Isend, MPI_Issend, MPI_Irsend and MPI_Ibsend.
template <typename Real, typename Count>
[[gnu::always_inline]] inline int isend(Function function, Real real, const void* buffer,
                                        Count count, MPI_Datatype type, int rank, int tag,
                                        MPI_Comm comm, MPI_Request* request) {
  const Known* const known =
      known_at_once(MessageDirection::Send, Style::Nonblocking, rank, buffer, count, type);
  if (passes(known)) {
    return hand_on_and_pass(function, known->found,
                            [=] { return real(buffer, count, type, rank, tag, comm, request); });
  }
  return isend_examined(known, function, real, buffer, count, type, rank, tag, comm, request);
}

/// A receive from inside another call, such as one from an error handler of the application's.
template <typename Ask, typename Count>
int pass_on_receive(const Ask& ask, void* buffer, Count count, MPI_Datatype type,
                    const Receive& receive, const MPI_Request* request) {
  if (g_disabled || exchange::shared::ShmEndpoint::get() == nullptr)
    return ask(buffer, count, type);
  return guarded(receive.comm(), [&] {
    return watch(Function::MPI_Irecv, Found{}, buffer, count, type, receive, request, ask);
  });
}

/// Leaves a receive to the MPI library: `ask(buffer, count, type)` makes its request.
template <typename Ask, typename Count>
int leave_receive(Function function, const Ask& ask, const Found& found, void* buffer, Count count,
                  MPI_Datatype type, const Receive& receive, const MPI_Request* request) {
  // A watched receive is counted once its message has come, by the transport that carried it.
  const std::int64_t room = room_of(found);
  if (!exchange::shared::may_get_header(room) && !receive.gives_room(room))
    note(function, Transport::Library, found.reason, found.bytes);
  return watch(function, found, buffer, count, type, receive, request, ask);
}

/// A receive: `ask(buffer, count, type)` asks the MPI library for it. `channel`: what an
/// operation's channel is made of.
template <typename Ask, typename Count, typename... Channel>
int begin_receive(Function function, const Ask& ask, Examined found, void* buffer, Count count,
                  MPI_Datatype type, const Receive& receive, MPI_Request* request,
                  const Channel&... channel) {
  prepare_for_header(found, receive);
  const auto leave = [&] {
    return leave_receive(function, ask, found, buffer, count, type, receive, request);
  };
  if (found.transport == Transport::Pack) {
    OwnedPending pending;
    const auto make = [&] {
      pending = PendingPool::get().make(function, found.reason, receive);
      begin_packed(MessageDirection::Receive, found, pending->transfer);
      pending->receive.expect(pending->transfer->room());
    };
    if (!take(found, make)) return leave();
    times::note_transport(found.transport);
    return give(std::move(pending), request, [&](const Parcel& parcel) {
      const Wire wire = wire_of(parcel);
      return ask(parcel.data, wire.count(), wire.type());
    });
  }
  Requests& ours = Requests::get();
  std::shared_ptr<MessageOperation> operation;
  const auto make = [&] {
    operation =
        ours.make_operation(function, found.reason, found.typed, found.transport, channel...);
    operation->start();
  };
  if (!take(found, make)) return leave();
  times::note_transport(found.transport);
  *request = ours.launch(operation);
  return MPI_SUCCESS;
}

/// \param known  what known_at_once() has found
template <typename Real, typename Count>
[[gnu::noinline]] int irecv_examined(const Known* known, Function function, Real real, void* buffer,
                                     Count count, MPI_Datatype type, int rank, int tag,
                                     MPI_Comm comm, MPI_Request* request) {
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as) {
    return real(into, as_many, as, rank, tag, comm, request);
  };
  if (request == nullptr) return ask(buffer, count, type);
  const Receive receive(comm, rank);
  const auto pass_on = [&] { return pass_on_receive(ask, buffer, count, type, receive, request); };
  return boundary(comm, pass_on, [&] {
    const Known* const before =
        known_or_before(known, MessageDirection::Receive, rank, buffer, count, type);
    if (const Found* const left = left_by(before, rank)) {
      return leave_receive(function, ask, *left, buffer, count, type, receive, request);
    }
    return begin_receive(
        function, ask, examine_by(before, MessageDirection::Receive, buffer, count, type), buffer,
        count, type, receive, request, MessageDirection::Receive, Envelope{rank, tag, comm});
  });
}

template <typename Real, typename Count>
[[gnu::always_inline]] inline int irecv(Function function, Real real, void* buffer, Count count,
                                        MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                                        MPI_Request* request) {
  const Known* const known =
      known_at_once(MessageDirection::Receive, Style::Nonblocking, rank, buffer, count, type);
  if (passes(known)) {
    return pass_at_once(function, known->found,
                        [=] { return real(buffer, count, type, rank, tag, comm, request); });
  }
  if (known != nullptr && known->found.passes == Passes::Unshared && request != nullptr) {
    const auto code = watch_at_once(function, *known, buffer, rank, comm, request, [=] {
      return real(buffer, count, type, rank, tag, comm, request);
    });
    if (code) return *code;
  }
  return irecv_examined(known, function, real, buffer, count, type, rank, tag, comm, request);
}

template <typename Real, typename Count>
int imrecv(Function function, Real real, void* buffer, Count count, MPI_Datatype type,
           MPI_Message* message, MPI_Request* request) {
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as) {
    return real(into, as_many, as, message, request);
  };
  if (request == nullptr) return ask(buffer, count, type);
  const Receive receive = forget_message(message);
  const auto pass_on = [&] { return pass_on_receive(ask, buffer, count, type, receive, request); };
  return boundary(receive.comm(), pass_on, [&] {
    return begin_receive(
        function, ask, examine(MessageDirection::Receive, Style::Nonblocking, buffer, count, type),
        buffer, count, type, receive, request, message, receive);
  });
}

/// The send of such a call leaves by the MPI library.
template <typename Count>
void add_placeholder_of_combined(const void* buffer, Count count, MPI_Datatype type,
                                 const Envelope& peer) {
  if (exchange::shared::ShmEndpoint::get() == nullptr || t_depth != 0 || g_disabled) return;
  (void)guarded(peer.comm, [&] {
    add_placeholder_of_left(
        examine(MessageDirection::Send, Style::Nonblocking, buffer, count, type), count, type,
        peer);
    return MPI_SUCCESS;
  });
}

/// A nonblocking send and receive with one request is left to the MPI library, but for how it takes
/// the bytes: `call(buffer, count, type)`.
template <typename Call, typename Count>
int combined(const Call& call, void* buffer, Count count, MPI_Datatype type, int from,
             MPI_Comm comm, const MPI_Request* request, Watched how) {
  const Receive receive(comm, from);
  const auto pass_on = [&] {
    return request == nullptr ? call(buffer, count, type)
                              : pass_on_receive(call, buffer, count, type, receive, request);
  };
  return sending(comm, pass_on, [&] {
    record_passed(Reason::Combined);
    Requests::get().hand_on();
    if (from == MPI_PROC_NULL || request == nullptr) return pass_on();
    const Examined found =
        examine(MessageDirection::Receive, Style::Nonblocking, buffer, count, type);
    return watch(Function::MPI_Irecv, found, buffer, count, type, receive, request, call, how);
  });
}

template <typename Real, typename Count>
int isendrecv(Real real, const void* send_buffer, Count send_count, MPI_Datatype send_type, int to,
              int send_tag, void* recv_buffer, Count recv_count, MPI_Datatype recv_type, int from,
              int recv_tag, MPI_Comm comm, MPI_Request* request) {
  const auto call = [&](void* into, Count as_many, MPI_Datatype as) {
    return real(send_buffer, send_count, send_type, to, send_tag, into, as_many, as, from, recv_tag,
                comm, request);
  };
  add_placeholder_of_combined(send_buffer, send_count, send_type, {to, send_tag, comm});
  return combined(call, recv_buffer, recv_count, recv_type, from, comm, request, Watched::Once);
}

template <typename Real, typename Count>
int isendrecv_replace(Real real, void* buffer, Count count, MPI_Datatype type, int to, int send_tag,
                      int from, int recv_tag, MPI_Comm comm, MPI_Request* request) {
  const auto call = [&](void* there, Count as_many, MPI_Datatype as) {
    return real(there, as_many, as, to, send_tag, from, recv_tag, comm, request);
  };
  add_placeholder_of_combined(buffer, count, type, {to, send_tag, comm});
  return combined(call, buffer, count, type, from, comm, request, Watched::InPlace);
}

}  // namespace
}  // namespace strake::interpose

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/nonblocking_p2p.hpp"
