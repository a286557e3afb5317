// Blocking point to point: all steps of a transfer, with one call of the MPI library's as its
// channel.
#include <optional>
#include <type_traits>
#include <utility>

#include "interpose/at_once.hpp"
#include "interpose/blocking_receive.hpp"
#include "interpose/examine.hpp"
#include "interpose/landing.hpp"
#include "interpose/messages.hpp"
#include "interpose/requests.hpp"
#include "mpi/peers.hpp"
#include "mpi/wire.hpp"
#include "settings/log.hpp"

namespace strake::interpose {
namespace {

using exchange::HandOverChannel;
using exchange::StartSend;
using exchange::shared::Sender;
using mpi::Envelope;

/// A send by shared memory inside one call: its header message leaves first, by a call that does
/// not wait for the receiver, and its bytes are packed then.
class HeaderSend {
 public:
  HeaderSend(StartSend start, const Envelope& peer, Transfer& transfer) : transfer_(transfer) {
    HandOverChannel channel([&](const Parcel& parcel) {
      const Wire wire = wire_of(parcel, peer);
      code_ =
          start(parcel.data, wire.count(), wire.type(), peer.rank, peer.tag, peer.comm, &request_);
    });
    try {
      transfer.post(channel);
    } catch (...) {
      if (request_ != MPI_REQUEST_NULL) real_mpi().MPI_Request_free(&request_);
      throw;
    }
    if (!given()) transfer.withdraw();
  }
  /// The call has left by an exception.
  ~HeaderSend() {
    if (finished_) return;
    try {
      finish();
    } catch (const std::exception& error) {
      log::warn("a send by shared memory failed: {}", error.what());
    }
  }
  HeaderSend(const HeaderSend&) = delete;
  HeaderSend& operator=(const HeaderSend&) = delete;
  /// Whether the MPI library has it; else finish() says why not.
  [[nodiscard]] bool given() const noexcept {
    return code_ == MPI_SUCCESS && request_ != MPI_REQUEST_NULL;
  }
  /// Waits until the send is complete.
  int finish() {
    finished_ = true;
    const bool sent = given();
    if (sent) code_ = real_mpi().MPI_Wait(&request_, MPI_STATUS_IGNORE);
    transfer_.arrived({.bytes = 0, .lost = !sent});
    return code_;
  }

 private:
  Transfer& transfer_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
  bool finished_ = false;
};

template <typename Real, typename Count>
[[gnu::noinline]] int send_examined(Function function, Real real, const void* buffer, Count count,
                                    MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  const auto pass_on = [&] { return real(buffer, count, type, rank, tag, comm); };
  return sending(comm, pass_on, [&] {
    Requests::get().hand_on();
    const Envelope peer{rank, tag, comm};
    const Found* const left =
        left_before(MessageDirection::Send, Style::Blocking, rank, buffer, count, type);
    if (left != nullptr && !may_be_shared(*left)) {
      return leave_with_placeholder(*left, count, type, peer,
                                    [&] { return leave_to(pass_on, function, *left); });
    }
    Examined found = examine(MessageDirection::Send, Style::Blocking, buffer, count, type);
    std::optional<Transfer> transfer;
    const bool buffered = function == Function::MPI_Bsend;  // its bytes are the MPI library's
    const auto make = [&] {
      buffered ? begin_packed(MessageDirection::Send, found, transfer)
               : begin_send(found, buffer, count, type, peer, Sender::Idle, transfer);
    };
    if (!(buffered ? take(found, make) : take_send(found, make))) {
      return leave_with_placeholder(found, count, type, peer,
                                    [&] { return leave_to(pass_on, function, found); });
    }
    note(function, transfer->transport(), found.reason, found.bytes);
    if (transfer->shares()) return HeaderSend(start_of(function), peer, *transfer).finish();
    exchange::shared::add_placeholder(found.bytes, peer);
    int code = MPI_SUCCESS;
    CallChannel channel([&](const Parcel& parcel) {
      const Wire wire = wire_of(parcel, {rank, tag, comm});
      code = real(parcel.data, wire.count(), wire.type(), rank, tag, comm);
      return Arrival{};
    });
    transfer->finish(channel);
    return code;
  });
}

/// Handles MPI_Send, MPI_Ssend, MPI_Rsend and MPI_Bsend.
template <typename Real, typename Count>
[[gnu::always_inline]] inline int send(Function function, Real real, const void* buffer,
                                       Count count, MPI_Datatype type, int rank, int tag,
                                       MPI_Comm comm) {
  trying::tick();
  const Known* const known =
      known_at_once(MessageDirection::Send, Style::Blocking, rank, buffer, count, type);
  if (passes(known)) {
    return hand_on_and_pass(function, known->found,
                            [=] { return real(buffer, count, type, rank, tag, comm); });
  }
  return send_examined(function, real, buffer, count, type, rank, tag, comm);
}

template <typename Real, typename Count>
[[gnu::noinline]] int recv_examined(Function function, Real real, void* buffer, Count count,
                                    MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                                    MPI_Status* status) {
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as, MPI_Status* at) {
    return real(into, as_many, as, rank, tag, comm, at);
  };
  Receive receive(comm, rank);
  const auto pass_on = [&] { return pass_on_receive(ask, buffer, count, type, receive, status); };
  return receiving(comm, pass_on, [&] {
    Requests::get().hand_on();
    if (const Found* left =
            left_before(MessageDirection::Receive, Style::Blocking, rank, buffer, count, type)) {
      return leave_receive(function, ask, *left, buffer, count, type, receive, status, left);
    }
    return receive_examined(function, ask, buffer, count, type, receive, status);
  });
}

template <typename Real, typename Count>
[[gnu::always_inline]] inline int recv(Function function, Real real, void* buffer, Count count,
                                       MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                                       MPI_Status* status) {
  trying::tick();
  const Known* const known =
      known_at_once(MessageDirection::Receive, Style::Blocking, rank, buffer, count, type);
  if (passes(known)) {
    const auto ask = [=](MPI_Status* at) { return real(buffer, count, type, rank, tag, comm, at); };
    return hand_on_and_pass(function, known->found,
                            [=] { return receive_unwatched(comm, status, ask); });
  }
  return recv_examined(function, real, buffer, count, type, rank, tag, comm, status);
}

template <typename Real, typename Count>
int mrecv(Function function, Real real, void* buffer, Count count, MPI_Datatype type,
          MPI_Message* message, MPI_Status* status) {
  trying::tick();
  Receive receive = forget_message(message);
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as, MPI_Status* at) {
    return real(into, as_many, as, message, at);
  };
  const auto pass_on = [&] { return pass_on_receive(ask, buffer, count, type, receive, status); };
  return receiving(receive.comm(), pass_on, [&] {
    Requests::get().hand_on();
    return receive_examined(function, ask, buffer, count, type, receive, status);
  });
}

/// The packed send of a call that also receives: it leaves by that call, or, by shared memory,
/// before it.
class SendOfCall {
 public:
  /// Waits until the transfer is packed.
  void take(Transfer& transfer, const Envelope& peer) {
    transfer_ = &transfer;
    if (transfer.shares()) {
      header_.emplace(real_mpi().MPI_Isend, peer, transfer);
      return;
    }
    exchange::shared::add_placeholder(transfer.size_bytes(), peer);
    HandOverChannel channel([&](const Parcel& parcel) {
      mpi::prepare_send(parcel.memory, parcel.data, parcel.bytes);
      wire_.emplace(parcel.memory, parcel.bytes, peer.rank, peer.comm);
      data_ = parcel.data;
    });
    transfer.post(channel);
  }
  /// Runs `both(data, wire)`, which sends that (null: what the caller was given) and receives, or
  /// `receive()`, where the send has left before. The code so far: finish() follows.
  template <typename Both, typename Receive>
  int run(const Both& both, const Receive& receive) {
    if (!header_) {
      const int code = both(data_, wire_ ? &*wire_ : nullptr);
      if (transfer_ != nullptr) transfer_->arrived({});
      return code;
    }
    return header_->given() ? receive() : header_->finish();
  }
  /// After all that: what was received is taken, as the receiver of the send may wait for that.
  /// `code` is the call's so far; returns that of it all.
  int finish(int code) {
    if (!header_ || !header_->given()) return code;
    const int sent = header_->finish();
    return code != MPI_SUCCESS ? code : sent;
  }

 private:
  Transfer* transfer_ = nullptr;
  const std::byte* data_ = nullptr;
  std::optional<Wire> wire_;
  std::optional<HeaderSend> header_;
};

/// The receive alone of a call that counts in `Count`.
template <typename Count>
constexpr auto recv_of() {
  if constexpr (std::is_same_v<Count, int>) return mpi::RealFunction{&mpi::RealMpi::MPI_Recv};
#if STRAKE_MPI_LARGE_COUNTS
  else
    return mpi::RealFunction{&mpi::RealMpi::MPI_Recv_c};
#endif
}

/// Examines one message of a call that also has another one; `rank` may be MPI_PROC_NULL.
Examined examine_one(int rank, MessageDirection direction, const void* buffer, std::int64_t count,
                     MPI_Datatype type) {
  if (rank == MPI_PROC_NULL) return {kNobody, {}};
  return examine(direction, Style::Blocking, buffer, count, type);
}

/// Whether a send and a receive (null: not known) are both left to the MPI library, and no header
/// message comes or goes.
bool both_pass(const Found* send, const Found* receive) {
  return send != nullptr && receive != nullptr && !receive->as_bytes && !may_be_shared(*send) &&
         !exchange::shared::may_get_header(room_of(*receive));
}

template <typename Real, typename Count>
int sendrecv(Function function, Real real, const void* send_buffer, Count send_count,
             MPI_Datatype send_type, int to, int send_tag, void* recv_buffer, Count recv_count,
             MPI_Datatype recv_type, int from, int recv_tag, MPI_Comm comm, MPI_Status* status) {
  trying::tick();
  Receive receive(comm, from);
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as, MPI_Status* at) {
    return real(send_buffer, send_count, send_type, to, send_tag, into, as_many, as, from, recv_tag,
                comm, at);
  };
  const auto pass_on = [&] {
    return pass_on_receive(ask, recv_buffer, recv_count, recv_type, receive, status);
  };
  return sending(comm, pass_on, [&] {
    Requests::get().hand_on();
    const Found* const left = left_before(MessageDirection::Send, Style::Blocking, to, send_buffer,
                                          send_count, send_type);
    const Found* const left_too = left_before(MessageDirection::Receive, Style::Blocking, from,
                                              recv_buffer, recv_count, recv_type);
    const Envelope peer{to, send_tag, comm};
    if (both_pass(left, left_too)) {
      add_placeholder_of_left(*left, send_count, send_type, peer);
      note(function, Transport::Library, left->reason, left->bytes);
      return receive_unwatched(comm, status, [&](MPI_Status* at) {
        return ask(recv_buffer, recv_count, recv_type, at);
      });
    }
    Examined out = examine_one(to, MessageDirection::Send, send_buffer, send_count, send_type);
    Examined in = examine_one(from, MessageDirection::Receive, recv_buffer, recv_count, recv_type);
    prepare_for_header(in, receive);
    std::optional<Transfer> outgoing;
    std::optional<Transfer> incoming;
    take(in, [&] { begin_packed(MessageDirection::Receive, in, incoming); });
    take_send(out, [&] {
      begin_send(out, send_buffer, send_count, send_type, peer, Sender::Busy, outgoing);
    });
    SendOfCall sent;
    if (out.transport != Transport::Library) {
      note(function, outgoing->transport(), out.reason, out.bytes);
      sent.take(*outgoing, peer);
    } else {
      add_placeholder_of_left(out, send_count, send_type, peer);
    }
    const auto call = [&](void* into, Count as_many, MPI_Datatype as, MPI_Status* at) {
      const auto both = [&](const std::byte* data, const Wire* wire) {
        if (wire == nullptr) return ask(into, as_many, as, at);
        return real(data, static_cast<Count>(wire->count()), wire->type(), to, send_tag, into,
                    as_many, as, from, recv_tag, comm, at);
      };
      return sent.run(
          both, [&] { return recv_of<Count>()(into, as_many, as, from, recv_tag, comm, at); });
    };
    if (in.transport == Transport::Library) {
      return sent.finish(leave_receive(function, call, in, recv_buffer, recv_count, recv_type,
                                       receive, status,
                                       out.transport == Transport::Library ? &out : nullptr));
    }
    return sent.finish(finish_receive(function, in, *incoming, receive, status, call));
  });
}

template <typename Real, typename Count>
int sendrecv_replace(Function function, Real real, void* buffer, Count count, MPI_Datatype type,
                     int to, int send_tag, int from, int recv_tag, MPI_Comm comm,
                     MPI_Status* status) {
  trying::tick();
  const auto ask = [&](void* there, Count as_many, MPI_Datatype as, MPI_Status* at) {
    return real(there, as_many, as, to, send_tag, from, recv_tag, comm, at);
  };
  Receive receive(comm, from);
  const auto pass_on = [&] { return pass_on_receive(ask, buffer, count, type, receive, status); };
  const Envelope peer{to, send_tag, comm};
  return sending(comm, pass_on, [&] {
    Requests::get().hand_on();
    Examined found = examine(MessageDirection::Send, Style::Blocking, buffer, count, type);
    if (found.transport == Transport::Library) {
      found = examine(MessageDirection::Receive, Style::Blocking, buffer, count, type);
    }
    std::optional<Transfer> outgoing;
    std::optional<Transfer> incoming;
    const auto make = [&] {
      Examined in = found;
      Examined out = found;
      begin_packed(MessageDirection::Receive, in, incoming);
      begin_send(out, buffer, count, type, peer, Sender::Overwrites, outgoing);
    };
    // The send of one whose message comes into memory of Strake's.
    const auto apart = [&](void* into, Count as_many, MPI_Datatype as, MPI_Status* at) {
      return real_mpi().MPI_Sendrecv(buffer, static_cast<int>(count), type, to, send_tag, into,
                                     static_cast<int>(as_many), as, from, recv_tag, comm, at);
    };
    // The MPI library can't send from a device's memory.
    const bool on_host = !found.typed.mixed && !found.typed.on_device();
    if (found.transport == Transport::Library || on_host) prepare_for_header(found, receive);
    if (found.transport == Transport::Library || !take(found, make)) {
      add_placeholder_of_left(found, count, type, peer);
      return leave_receive(function, ask, apart, found, buffer, count, type, receive, status,
                           &found);
    }
    SendOfCall sent;
    sent.take(*outgoing, peer);
    const auto call = [&](void* data, int bytes, MPI_Datatype packed, MPI_Status* at) {
      const auto both = [&](const std::byte* out, const Wire* wire) {
        return real_mpi().MPI_Sendrecv(out, wire->count(), wire->type(), to, send_tag, data, bytes,
                                       packed, from, recv_tag, comm, at);
      };
      return sent.run(
          both, [&] { return real_mpi().MPI_Recv(data, bytes, packed, from, recv_tag, comm, at); });
    };
    return sent.finish(finish_receive(function, found, *incoming, receive, status, call));
  });
}

}  // namespace
}  // namespace strake::interpose

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/blocking_p2p.hpp"
