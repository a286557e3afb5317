// Persistent requests. Of a message in host memory the application holds the MPI library's own
// (interpose/pending.hpp); else a real one to MPI_PROC_NULL, which stands for an operation of
// Strake's (interpose/requests.hpp).
#include <algorithm>
#include <memory>
#include <utility>

#include "interpose/examine.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "mpi/peers.hpp"
#include "mpi/wire.hpp"
#include "settings/settings.hpp"

namespace strake::interpose {
namespace {

using exchange::HandOverChannel;
using exchange::InitSend;
using exchange::Parcel;
using exchange::Transfer;
using exchange::wire_of;
using mpi::Envelope;

/// The application's handle for `persistent`; errors in `comm` are raised here, by the MPI library.
int give_out(std::shared_ptr<Operation> operation, MessageDirection direction, const Envelope& peer,
             MPI_Request* request) {
  const mpi::RealMpi& real = real_mpi();
  const int code =
      direction == MessageDirection::Send
          ? real.MPI_Send_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, peer.comm, request)
          : real.MPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, peer.comm, request);
  if (code != MPI_SUCCESS) return code;
  Requests::get().add(*request, std::move(operation));
  return MPI_SUCCESS;
}

/// In host memory a message is one of the MPI library's from beginning to end: the application gets
/// its request. Enters what remains to do each time that it is started.
int keep(OwnedPending pending, MPI_Request request, int code) {
  if (code != MPI_SUCCESS || request == MPI_REQUEST_NULL) return code;
  pending->kind = RequestEntry::Kind::Persistent;
  pending->active = false;
  enter_pending(request, std::move(pending));
  return code;
}

/// The message of an entry, if it may be started; else null.
Pending* startable(RequestEntry* entry) {
  Pending* const pending = as_pending(entry);
  return pending != nullptr && pending->persistent() && !pending->active ? pending : nullptr;
}

/// Entries whose requests the MPI library is about to start: their transfers go as far as that.
class Starting {
 public:
  explicit Starting(std::size_t count) : entries_(count) {}
  /// Gives up the messages that the MPI library did not start: they are as before.
  ~Starting() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i] != nullptr) entries_[i]->give_up();
    }
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  /// \throws OutOfMemory
  void add(std::size_t i, Pending* pending) {
    if (pending == nullptr) return;
    if (pending->placeholder)
      exchange::shared::add_placeholder(pending->placeholder->bytes, pending->placeholder->peer);
    entries_[i] = pending;
    if (pending->work != nullptr) pending->work->begin();
    if (!pending->transfer) return;
    Transfer& transfer = *pending->transfer;
    const bool sends = transfer.direction() == MessageDirection::Send;
    HandOverChannel channel([&](const Parcel& parcel) {
      if (sends) mpi::prepare_send(parcel.memory, parcel.data, parcel.bytes);
    });
    transfer.start();
    transfer.post(channel);
    if (sends) {
      note(pending->function, transfer.transport(), pending->reason, transfer.size_bytes());
    }
  }
  /// After the MPI library's call.
  int started(int code) {
    for (std::size_t i = 0; code == MPI_SUCCESS && i < entries_.size(); ++i) {
      if (Pending* const entry = std::exchange(entries_[i], nullptr)) entry->active = true;
    }
    return code;
  }

 private:
  Scratch<Pending*> entries_;
};

/// Leaves a send to the MPI library.
template <typename PassOn>
int leave_send(const PassOn& pass_on, Function function, const Found& found, const Envelope& peer,
               const MPI_Request* request) {
  if (!exchange::shared::like_header(found.bytes)) return leave_to(pass_on, function, found);
  OwnedPending pending = PendingPool::get().make(function, found.reason, Receive(peer.comm));
  const int code = leave_to(pass_on, function, found);
  if (code != MPI_SUCCESS) return code;
  pending->placeholder = {found.bytes, peer};
  return keep(std::move(pending), *request, code);
}

/// The operation of a send that may go by shared memory, or null. `make_left(request)` makes the
/// MPI library's own persistent request of it.
template <typename MakeLeft>
std::shared_ptr<Operation> make_shared_send(Function function, Examined found, const void* buffer,
                                            std::int64_t count, MPI_Datatype type,
                                            const Envelope& peer, const MakeLeft& make_left) {
  const bool buffered = function == Function::MPI_Bsend_init;  // its bytes are the MPI library's
  const Found by_rule = found;
  found.shares = found.shares || settings::flag(settings::Id::trials);  // starts may try it
  if (buffered || !exchange::shared::may_send_header(found.bytes, found.typed.place))
    return nullptr;
  const auto to = exchange::shared::destination(peer);
  if (!to || !exchange::shared::ShmEndpoint::get()->directory().may_reach(to->rank) ||
      !mpi::sendable(peer) || !pack_for_sharing(found, buffer, count, type))
    return nullptr;
  std::shared_ptr<MessageOperation> operation;
  const auto make = [&] {
    operation = Requests::get().make_operation(function, found.reason, found.typed, found.transport,
                                               MessageDirection::Send, peer, start_of(function));
    operation->make_persistent(*to);
  };
  if (!take(found, make)) return nullptr;
  MPI_Request left = MPI_REQUEST_NULL;
  const bool host = found.typed.place.in_host_memory() && by_rule.reason != Reason::Forced;
  if (host && make_left(&left) == MPI_SUCCESS)
    operation->may_be_left(left,
                           {by_rule.transport, by_rule.reason, by_rule.shares, by_rule.offers});
  return operation;
}

/// The function that makes a send of that mode.
InitSend init_of(Function function) noexcept {
  const mpi::RealMpi& real = real_mpi();
  switch (function) {
    case Function::MPI_Ssend_init:
      return real.MPI_Ssend_init;
    case Function::MPI_Rsend_init:
      return real.MPI_Rsend_init;
    case Function::MPI_Bsend_init:
      return real.MPI_Bsend_init;
    default:
      return real.MPI_Send_init;
  }
}

/// Handles MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init and MPI_Bsend_init.
template <typename Real, typename Count>
int send_init(Function function, Real real, const void* buffer, Count count, MPI_Datatype type,
              int rank, int tag, MPI_Comm comm, MPI_Request* request) {
  const auto pass_on = [&] { return real(buffer, count, type, rank, tag, comm, request); };
  return boundary(comm, pass_on, [&] {
    Examined found =
        examine(MessageDirection::Send, Style::Nonblocking, buffer, count, type, Use::Often);
    const Envelope peer{rank, tag, comm};
    if (found.transport != Transport::Library && !mpi::sendable(peer)) {
      found.transport = Transport::Library;
      found.reason = rank == MPI_PROC_NULL ? Reason::Empty : Reason::BadArguments;
    }
    const auto make_left = [&](MPI_Request* left) {
      return real(buffer, count, type, rank, tag, comm, left);
    };
    if (auto shared = make_shared_send(function, found, buffer, count, type, peer, make_left))
      return give_out(std::move(shared), MessageDirection::Send, peer, request);
    if (found.transport == Transport::Pack) {
      OwnedPending pending;
      const auto take_memory = [&] {
        pending = PendingPool::get().make(function, found.reason, Receive(comm));
        pending->transfer.emplace(MessageDirection::Send, found.typed, found.transport);
      };
      if (!take(found, take_memory)) return leave_send(pass_on, function, found, peer, request);
      if (exchange::shared::like_header(found.bytes)) pending->placeholder = {found.bytes, peer};
      const Parcel parcel = pending->transfer->parcel();
      const mpi::Wire wire = wire_of(parcel, peer);
      const int code = real(parcel.data, wire.count(), wire.type(), rank, tag, comm, request);
      return keep(std::move(pending), *request, code);
    }
    std::shared_ptr<MessageOperation> operation;
    const auto make = [&] {
      operation = Requests::get().make_operation(function, found.reason, found.typed,
                                                 found.transport, MessageDirection::Send, peer);
      operation->make_persistent(init_of(function));
    };
    if (!take(found, make)) return leave_send(pass_on, function, found, peer, request);
    return give_out(std::move(operation), MessageDirection::Send, peer, request);
  });
}

template <typename Real, typename Count>
int recv_init(Function function, Real real, void* buffer, Count count, MPI_Datatype type, int rank,
              int tag, MPI_Comm comm, MPI_Request* request) {
  const auto ask = [&](void* into, Count as_many, MPI_Datatype as) {
    return real(into, as_many, as, rank, tag, comm, request);
  };
  const Receive receive(comm, rank);
  const auto pass_on = [&] {
    return watch(function, Found{}, buffer, count, type, receive, request, ask,
                 Watched::Persistent);
  };
  return boundary(comm, pass_on, [&] {
    Examined found =
        examine(MessageDirection::Receive, Style::Nonblocking, buffer, count, type, Use::Often);
    prepare_for_header(found, receive);
    const Envelope probe{rank == MPI_ANY_SOURCE ? 0 : rank, tag == MPI_ANY_TAG ? 0 : tag, comm};
    if (found.transport != Transport::Library && !mpi::sendable(probe)) {
      found.transport = Transport::Library;
      found.reason = rank == MPI_PROC_NULL ? Reason::Empty : Reason::BadArguments;
    }
    const Envelope peer{rank, tag, comm};
    const auto leave = [&] {
      note(function, Transport::Library, found.reason, found.bytes);
      return watch(function, found, buffer, count, type, receive, request, ask,
                   Watched::Persistent);
    };
    if (found.transport == Transport::Pack) {
      OwnedPending pending;
      const auto take_memory = [&] {
        pending = PendingPool::get().make(function, found.reason, receive);
        pending->transfer.emplace(MessageDirection::Receive, found.typed, found.transport);
        pending->receive.expect(pending->transfer->room());
      };
      if (!take(found, take_memory)) return leave();
      const Parcel parcel = pending->transfer->parcel();
      const mpi::Wire wire = wire_of(parcel);
      const int code = ask(parcel.data, wire.count(), wire.type());
      return keep(std::move(pending), *request, code);
    }
    std::shared_ptr<MessageOperation> operation;
    const auto make = [&] {
      operation = Requests::get().make_operation(function, found.reason, found.typed,
                                                 found.transport, MessageDirection::Receive, peer);
      operation->make_persistent(nullptr);
    };
    if (!take(found, make)) return leave();
    return give_out(std::move(operation), MessageDirection::Receive, peer, request);
  });
}

int start(MPI_Request* request, RequestEntry* entry) {
  Requests& ours = Requests::get();
  Operation* const operation = as_operation(entry);
  if (operation == nullptr || !operation->is_persistent()) {
    ours.hand_on();
    Starting one(1);
    one.add(0, startable(entry));
    return one.started(real_mpi().MPI_Start(request));
  }
  if (mpi::quirks::kStartsActiveRequests) {
    // The MPI library would accept the active dummy; it refuses a null request as it should that.
    const Requests::Seen seen = ours.see(*operation);
    MPI_Request none = MPI_REQUEST_NULL;
    if (seen.pending || seen.complete) return real_mpi().MPI_Start(&none);
  }
  if (operation->is_buffered()) ours.hand_on();  // it leaves at once
  // The dummy keeps the MPI library's rules: starting an active request is an error there.
  const int code = real_mpi().MPI_Start(request);
  if (code != MPI_SUCCESS) return code;
  try {
    ours.start(*operation);
  } catch (...) {
    MPI_Request dummy = *request;
    real_mpi().MPI_Wait(&dummy, MPI_STATUS_IGNORE);  // inactive again
    throw;
  }
  if (mpi::g_multiple) ours.hand_on();
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

int calls::MPI_Start(MPI_Request* request) {
  return strake::interpose::starting(
      [&] { return real_mpi().MPI_Start(request); },
      [&] {
        return request == nullptr ? real_mpi().MPI_Start(request)
                                  : start(request, RequestTable::get().find(*request));
      });
}

int calls::MPI_Startall(int count, MPI_Request requests[]) {
  const auto pass_on = [&] { return real_mpi().MPI_Startall(count, requests); };
  return strake::interpose::starting(pass_on, [&] {
    const bool known = !RequestTable::empty() && requests != nullptr && count > 0;
    Scratch<RequestEntry*> entries(known ? static_cast<std::size_t>(count) : 0);
    for (std::size_t i = 0; i < entries.size(); ++i)
      entries[i] = RequestTable::get().find(requests[i]);
    const auto is_operation = [](RequestEntry* entry) { return as_operation(entry) != nullptr; };
    if (std::ranges::none_of(entries, is_operation)) {
      Requests::get().hand_on();
      Starting all(entries.size());
      for (std::size_t i = 0; i < entries.size(); ++i) all.add(i, startable(entries[i]));
      return all.started(pass_on());
    }
    // The dummies' refusal of what is none to be started, before anything is.
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Operation* const operation = as_operation(entries[i]);
      const bool persistent = operation == nullptr || operation->is_persistent();
      if (requests[i] == MPI_REQUEST_NULL || !persistent) return pass_on();
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (const int code = start(&requests[i], entries[i]); code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
  });
}

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/persistent.hpp"
