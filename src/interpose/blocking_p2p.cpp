// Blocking point to point: all steps of a transfer, with one call of the MPI library's as its
// channel.
#include <optional>
#include <utility>

#include "interpose/examine.hpp"
#include "interpose/messages.hpp"
#include "interpose/requests.hpp"
#include "mpi/wire.hpp"

namespace strake::interpose {
namespace {

using exchange::Arrival;
using exchange::CallChannel;
using exchange::HandOverChannel;
using exchange::Parcel;
using exchange::Transfer;
using exchange::wire_of;
using mpi::Wire;

template <typename Real, typename Count>
int send(Function function, Real real, const void* buffer, Count count, MPI_Datatype type, int rank,
         int tag, MPI_Comm comm) {
  const auto pass_on = [&] { return real(buffer, count, type, rank, tag, comm); };
  return sending(comm, pass_on, [&] {
    Requests::get().hand_on();
    if (const Found* left =
            left_before(Direction::Send, Style::Blocking, rank, buffer, count, type)) {
      return leave_to(pass_on, function, *left);
    }
    Examined found = examine(Direction::Send, Style::Blocking, buffer, count, type);
    std::optional<Transfer> transfer;
    if (!take(found, [&] { begin(Direction::Send, found, transfer); })) {
      return leave_to(pass_on, function, found);
    }
    note(function, transfer->method(), found.reason, found.bytes);
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

/// Lends a status of ours where the caller wants none, and else the caller's own.
class StatusOr {
 public:
  explicit StatusOr(MPI_Status* status) : status_(status == MPI_STATUS_IGNORE ? &own_ : status) {}
  MPI_Status* get() { return status_; }

 private:
  MPI_Status own_{};
  MPI_Status* status_;
};

/// One call that receives: `call(data, count, type, status)`. Its code, and how its message ended.
template <typename Call>
int receive_into(Function function, const Parcel& parcel, MPI_Comm comm, MPI_Status* user_status,
                 Call&& call, Arrival& arrival) {
  const Wire wire = wire_of(parcel);
  arrival.lost = true;
  StatusOr status(user_status);
  // MPICH returns MPI_SUCCESS, since 4.3, where an error handler of the application's has returned:
  // then only the status tells.
  const MPI_Status before = *status.get();
  status.get()->MPI_SOURCE = MPI_UNDEFINED;
  status.get()->MPI_ERROR = MPI_SUCCESS;
  const int code = call(parcel.data, wire.count(), wire.type(), status.get());
  const bool refused = status.get()->MPI_SOURCE == MPI_UNDEFINED;
  if (refused) *status.get() = before;
  const int error = status.get()->MPI_ERROR;
  if (!mpi::quirks::kSendrecvReplaceSetsError || function != Function::MPI_Sendrecv_replace) {
    status.get()->MPI_ERROR = before.MPI_ERROR;
  }
  if (code != MPI_SUCCESS || refused || error != MPI_SUCCESS) return code;
  const std::int64_t bytes = mpi::received_bytes(*status.get());
  if (bytes > parcel.bytes) {
    return mpi::quirks::kLongMessagesOverrun ? raise(comm, MPI_ERR_TRUNCATE) : MPI_ERR_TRUNCATE;
  }
  arrival = {.bytes = bytes, .lost = false};
  return MPI_SUCCESS;
}

/// The steps of a receive that was started; `call` as above.
template <typename Call>
int receive(Function function, const Examined& found, Transfer& transfer, MPI_Comm comm,
            MPI_Status* status, Call&& call) {
  int code = MPI_SUCCESS;
  CallChannel channel([&](const Parcel& parcel) {
    Arrival arrival;
    code = receive_into(function, parcel, comm, status, call, arrival);
    if (!arrival.lost) note(function, transfer.method(), found.reason, arrival.bytes);
    return arrival;
  });
  transfer.finish(channel);
  return code;
}

template <typename Real, typename Count>
int recv(Real real, void* buffer, Count count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
         MPI_Status* status) {
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as) {
    return real(into, as_many, as, rank, tag, comm, status);
  };
  const auto pass_on = [&] { return ask(buffer, count, type); };
  const auto leave_as = [&](const Found& found) {
    return leave_receive(ask, Function::MPI_Recv, found, buffer, count, type);
  };
  return receiving(comm, pass_on, [&] {
    Requests::get().hand_on();
    if (const Found* left =
            left_before(Direction::Receive, Style::Blocking, rank, buffer, count, type)) {
      return leave_as(*left);
    }
    Examined found = examine(Direction::Receive, Style::Blocking, buffer, count, type);
    std::optional<Transfer> transfer;
    if (!take(found, [&] { begin(Direction::Receive, found, transfer); })) return leave_as(found);
    return receive(Function::MPI_Recv, found, *transfer, comm, status,
                   [&](void* data, int bytes, MPI_Datatype packed, MPI_Status* at) {
                     return real(data, bytes, packed, rank, tag, comm, at);
                   });
  });
}

template <typename Real, typename Count>
int mrecv(Real real, void* buffer, Count count, MPI_Datatype type, MPI_Message* message,
          MPI_Status* status) {
  const MPI_Comm comm = forget_message(message);
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as) {
    return real(into, as_many, as, message, status);
  };
  const auto pass_on = [&] { return ask(buffer, count, type); };
  return receiving(comm, pass_on, [&] {
    Requests::get().hand_on();
    Examined found = examine(Direction::Receive, Style::Blocking, buffer, count, type);
    std::optional<Transfer> transfer;
    if (!take(found, [&] { begin(Direction::Receive, found, transfer); })) {
      return leave_receive(ask, Function::MPI_Mrecv, found, buffer, count, type);
    }
    return receive(Function::MPI_Mrecv, found, *transfer, comm, status,
                   [&](void* data, int bytes, MPI_Datatype packed, MPI_Status* at) {
                     return real(data, bytes, packed, message, at);
                   });
  });
}

/// A packed send that leaves by a call which also receives.
struct PartOfCall {
  const std::byte* data = nullptr;
  std::optional<Wire> wire;
  /// Waits until the transfer is packed.
  void take(Transfer& transfer, int to, MPI_Comm comm) {
    HandOverChannel channel([&](const Parcel& parcel) {
      mpi::prepare_send(parcel.memory, parcel.data, parcel.bytes);
      wire.emplace(parcel.memory, parcel.bytes, to, comm);
      data = parcel.data;
    });
    transfer.post(channel);
  }
};

template <typename Real, typename Count>
int sendrecv(Real real, const void* send_buffer, Count send_count, MPI_Datatype send_type, int to,
             int send_tag, void* recv_buffer, Count recv_count, MPI_Datatype recv_type, int from,
             int recv_tag, MPI_Comm comm, MPI_Status* status) {
  const auto pass_on = [&] {
    return real(send_buffer, send_count, send_type, to, send_tag, recv_buffer, recv_count,
                recv_type, from, recv_tag, comm, status);
  };
  return sending(comm, pass_on, [&] {
    Requests::get().hand_on();
    const Found* const left =
        left_before(Direction::Send, Style::Blocking, to, send_buffer, send_count, send_type);
    const Found* const left_too =
        left_before(Direction::Receive, Style::Blocking, from, recv_buffer, recv_count, recv_type);
    if (left != nullptr && left_too != nullptr && !left_too->as_bytes)
      return leave_to(pass_on, Function::MPI_Sendrecv, *left);
    Examined out{kNobody, {}};
    Examined in{kNobody, {}};
    if (to != MPI_PROC_NULL)
      out = examine(Direction::Send, Style::Blocking, send_buffer, send_count, send_type);
    if (from != MPI_PROC_NULL)
      in = examine(Direction::Receive, Style::Blocking, recv_buffer, recv_count, recv_type);
    std::optional<Transfer> outgoing;
    std::optional<Transfer> incoming;
    take(out, [&] { begin(Direction::Send, out, outgoing); });
    take(in, [&] { begin(Direction::Receive, in, incoming); });
    PartOfCall part;
    if (out.method != Method::System) {
      part.take(*outgoing, to, comm);
      note(Function::MPI_Sendrecv, outgoing->method(), out.reason, out.bytes);
    } else if (in.method == Method::System) {
      note(Function::MPI_Sendrecv, Method::System, out.reason, out.bytes);
    }
    const void* data = part.wire ? part.data : send_buffer;
    const Count data_count = part.wire ? static_cast<Count>(part.wire->count()) : send_count;
    const MPI_Datatype data_type = part.wire ? part.wire->type() : send_type;
    const auto call = [&](void* into, Count into_count, MPI_Datatype into_type, MPI_Status* at) {
      const int code = real(data, data_count, data_type, to, send_tag, into, into_count, into_type,
                            from, recv_tag, comm, at);
      if (outgoing) outgoing->arrived({});
      return code;
    };
    if (in.method == Method::System) {
      const auto ask = [&](void* into, Count as_many, MPI_Datatype as) {
        return call(into, as_many, as, status);
      };
      return post(ask, in, recv_buffer, recv_count, recv_type);
    }
    return receive(Function::MPI_Sendrecv, in, *incoming, comm, status, call);
  });
}

template <typename Real, typename Count>
int sendrecv_replace(Real real, void* buffer, Count count, MPI_Datatype type, int to, int send_tag,
                     int from, int recv_tag, MPI_Comm comm, MPI_Status* status) {
  const auto ask = [&](void* there, Count as_many, MPI_Datatype as) {
    return real(there, as_many, as, to, send_tag, from, recv_tag, comm, status);
  };
  const auto pass_on = [&] { return ask(buffer, count, type); };
  return sending(comm, pass_on, [&] {
    Requests::get().hand_on();
    Examined found = examine(Direction::Send, Style::Blocking, buffer, count, type);
    if (found.method == Method::System) {
      found = examine(Direction::Receive, Style::Blocking, buffer, count, type);
    }
    std::optional<Transfer> outgoing;
    std::optional<Transfer> incoming;
    const auto make = [&] {
      begin(Direction::Receive, found, incoming);
      begin(Direction::Send, found, outgoing);
    };
    if (!take(found, make)) {
      return leave_receive(ask, Function::MPI_Sendrecv_replace, found, buffer, count, type);
    }
    PartOfCall part;
    part.take(*outgoing, to, comm);
    const auto call = [&](void* data, int bytes, MPI_Datatype packed, MPI_Status* at) {
      const int code =
          real_mpi().MPI_Sendrecv(part.data, part.wire->count(), part.wire->type(), to, send_tag,
                                  data, bytes, packed, from, recv_tag, comm, at);
      outgoing->arrived({});
      return code;
    };
    return receive(Function::MPI_Sendrecv_replace, found, *incoming, comm, status, call);
  });
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

STRAKE_MPI int MPI_Send(const void* buffer, int count, MPI_Datatype type, int rank, int tag,
                        MPI_Comm comm) {
  return send(Function::MPI_Send, real_mpi().MPI_Send, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int rank, int tag,
                         MPI_Comm comm) {
  return send(Function::MPI_Ssend, real_mpi().MPI_Ssend, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int rank, int tag,
                         MPI_Comm comm) {
  return send(Function::MPI_Rsend, real_mpi().MPI_Rsend, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Bsend(const void* buffer, int count, MPI_Datatype type, int rank, int tag,
                         MPI_Comm comm) {
  return send(Function::MPI_Bsend, real_mpi().MPI_Bsend, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Recv(void* buffer, int count, MPI_Datatype type, int rank, int tag,
                        MPI_Comm comm, MPI_Status* status) {
  return recv(real_mpi().MPI_Recv, buffer, count, type, rank, tag, comm, status);
}

STRAKE_MPI int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
                         MPI_Status* status) {
  return mrecv(real_mpi().MPI_Mrecv, buffer, count, type, message, status);
}

STRAKE_MPI int MPI_Sendrecv(const void* send_buffer, int send_count, MPI_Datatype send_type, int to,
                            int send_tag, void* recv_buffer, int recv_count, MPI_Datatype recv_type,
                            int from, int recv_tag, MPI_Comm comm, MPI_Status* status) {
  return sendrecv(real_mpi().MPI_Sendrecv, send_buffer, send_count, send_type, to, send_tag,
                  recv_buffer, recv_count, recv_type, from, recv_tag, comm, status);
}

STRAKE_MPI int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to,
                                    int send_tag, int from, int recv_tag, MPI_Comm comm,
                                    MPI_Status* status) {
  return sendrecv_replace(real_mpi().MPI_Sendrecv_replace, buffer, count, type, to, send_tag, from,
                          recv_tag, comm, status);
}

#if STRAKE_MPI_LARGE_COUNTS
STRAKE_MPI int MPI_Send_c(const void* buffer, MPI_Count count, MPI_Datatype type, int rank, int tag,
                          MPI_Comm comm) {
  return send(Function::MPI_Send, real_mpi().MPI_Send_c, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Ssend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int rank,
                           int tag, MPI_Comm comm) {
  return send(Function::MPI_Ssend, real_mpi().MPI_Ssend_c, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Rsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int rank,
                           int tag, MPI_Comm comm) {
  return send(Function::MPI_Rsend, real_mpi().MPI_Rsend_c, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Bsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int rank,
                           int tag, MPI_Comm comm) {
  return send(Function::MPI_Bsend, real_mpi().MPI_Bsend_c, buffer, count, type, rank, tag, comm);
}

STRAKE_MPI int MPI_Recv_c(void* buffer, MPI_Count count, MPI_Datatype type, int rank, int tag,
                          MPI_Comm comm, MPI_Status* status) {
  return recv(real_mpi().MPI_Recv_c, buffer, count, type, rank, tag, comm, status);
}

STRAKE_MPI int MPI_Mrecv_c(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                           MPI_Status* status) {
  return mrecv(real_mpi().MPI_Mrecv_c, buffer, count, type, message, status);
}

STRAKE_MPI int MPI_Sendrecv_c(const void* send_buffer, MPI_Count send_count, MPI_Datatype send_type,
                              int to, int send_tag, void* recv_buffer, MPI_Count recv_count,
                              MPI_Datatype recv_type, int from, int recv_tag, MPI_Comm comm,
                              MPI_Status* status) {
  return sendrecv(real_mpi().MPI_Sendrecv_c, send_buffer, send_count, send_type, to, send_tag,
                  recv_buffer, recv_count, recv_type, from, recv_tag, comm, status);
}

STRAKE_MPI int MPI_Sendrecv_replace_c(void* buffer, MPI_Count count, MPI_Datatype type, int to,
                                      int send_tag, int from, int recv_tag, MPI_Comm comm,
                                      MPI_Status* status) {
  return sendrecv_replace(real_mpi().MPI_Sendrecv_replace_c, buffer, count, type, to, send_tag,
                          from, recv_tag, comm, status);
}
#endif
