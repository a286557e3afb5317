/// \file  Messages that the application holds the MPI library's own requests of, and what remains
/// to do when these complete: a send's buffer goes back, a receive's bytes are unpacked. An entry
/// is found by its handle (interpose/request_table.hpp).
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/choice/choice.hpp"
#include "exchange/message/transfer.hpp"
#include "interpose/counters.hpp"
#include "interpose/operation.hpp"
#include "interpose/receive.hpp"
#include "interpose/request_table.hpp"
#include "interpose/request_work.hpp"
#include "interpose/untestable.hpp"
#include "memory/scratch.hpp"
#include "mpi/peers.hpp"
#include "mpi/types.hpp"
#include "mpi/world.hpp"

namespace strake::interpose {

/// A send of a header message's length that the MPI library carries.
struct Placeholder {
  std::int64_t bytes = 0;
  mpi::Envelope peer;
};

/// One message, or other work. Belongs to the table, or to the call that makes it.
struct Pending : RequestEntry {
  Pending() noexcept : RequestEntry(Kind::Message) {}

  Function function = Function::MPI_Isend;
  exchange::Reason reason = exchange::Reason::None;
  bool active = true;        ///< false: a persistent one that was not started
  bool may_be_gone = false;  ///< the application has asked to cancel it
  /// A receive that is only watched, and that no call but those that complete it has met. Unless a
  /// header message comes, nothing remains to be done for it.
  bool plain = false;
  Receive receive;                             ///< a send has only its communicator
  std::optional<exchange::Transfer> transfer;  ///< posted while the MPI library has the message
  /// Work for a request that is no message: at each start, and whenever the request is complete.
  std::unique_ptr<RequestWork> work;
  /// A persistent send of a header message's length gets a placeholder at each start.
  std::optional<Placeholder> placeholder;
  /// Outcome of a persistent receive that Strake has found complete, for the program's next call:
  /// the MPI library tells of it only once (quirks::kTellsOfPersistentOnce).
  struct Ended {
    int code = MPI_SUCCESS;
    MPI_Status status{};
  };
  std::optional<Ended> ended;

  /// Makes it the plain entry of a receive of `elements` (null: of bytes side by side) from
  /// `source` on `comm`, which `known` is.
  void watch(MPI_Comm comm, int source, const mpi::CommunicatorPtr& known, void* buffer,
             const Found& found, mpi::Elements* elements) noexcept {
    receive.begin(comm, source);
    if (elements == nullptr || elements->dense()) {
      receive.place(reinterpret_cast<std::byte*>(address_of(buffer, found.lowest)), found.bytes);
    } else {
      receive.place(static_cast<std::byte*>(buffer), elements->shared_from_this());
    }
    receive.expect_from(known);
    plain = true;
  }
  [[nodiscard]] bool persistent() const noexcept { return kind == Kind::Persistent; }
  /// The communicator on which errors of the message are raised.
  [[nodiscard]] MPI_Comm comm() const noexcept { return receive.comm(); }
  /// The first bytes that a receive has got.
  [[nodiscard]] exchange::shared::Landed landed() const;
  /// The room of a receive. [bytes]
  [[nodiscard]] std::int64_t room() const noexcept {
    return transfer ? transfer->room() : receive.landing()->room();
  }
  [[nodiscard]] bool receives() const noexcept {
    return transfer ? transfer->direction() == machine::MessageDirection::Receive
                    : receive.landing() != nullptr;
  }
  /// The message has ended without bytes to unpack, or was never taken.
  void give_up() {
    if (transfer && transfer->state() == exchange::Transfer::State::Posted) {
      transfer->arrived({.bytes = 0, .lost = true});
    }
  }
};

/// The Pending objects of the process: those whose messages have ended are used again. Threads may
/// share it.
class PendingPool {
 public:
  /// Never destroyed: other threads may outlive main.
  static PendingPool& get() noexcept { return s_pool; }

  struct Recycle {
    void operator()(Pending* pending) const noexcept { get().recycle(pending); }
  };
  using Owned = std::unique_ptr<Pending, Recycle>;

  /// One for a receive that was not posted yet, or for a send on the communicator of `receive`. No
  /// allocation where one was recycled.
  /// \throws std::bad_alloc
  [[nodiscard]] Owned make(Function function, exchange::Reason reason, const Receive& receive);
  /// One whose receive has not begun; null if no entry was recycled. The caller enters it or
  /// recycles it.
  [[nodiscard]] Pending* make_of_recycled(Function function, exchange::Reason reason) noexcept {
    const mpi::Lock lock(mutex_);
    if (free_ == nullptr) return nullptr;
    Pending* const made = std::exchange(free_, static_cast<Pending*>(free_->next));
    made->function = function;
    made->reason = reason;
    return made;
  }
  void recycle(Pending* pending) noexcept;
  /// Ends the plain entry that a call has claimed. For one thread at a time.
  [[gnu::always_inline]] void end_plain(Pending* pending) noexcept {
    pending->receive.end();
    pending->plain = false;
    RequestTable::get().remove_claimed(*pending);
    pending->next = free_;
    free_ = pending;
  }

 private:
  static PendingPool s_pool;
  std::mutex mutex_;
  Pending* free_ = nullptr;
};
using OwnedPending = PendingPool::Owned;

/// Enters a message under its request's handle. Never fails.
inline void enter_pending(MPI_Request request, OwnedPending pending) noexcept {
  RequestTable::get().enter(request, *pending.release());
}
/// Takes a message out of the table for good.
[[nodiscard]] inline OwnedPending remove_pending(Pending& pending) noexcept {
  RequestTable::get().remove(pending);
  return OwnedPending(&pending);
}
/// The message of an entry, which is plain no longer; null for none, and for one of another kind.
[[nodiscard]] inline Pending* as_pending(RequestEntry* entry) noexcept {
  if (entry == nullptr || !entry->is_message()) return nullptr;
  auto* const pending = static_cast<Pending*>(entry);
  pending->plain = false;
  return pending;
}
/// as_pending() of a request's entry.
[[nodiscard]] inline Pending* find_pending(MPI_Request request) noexcept {
  return as_pending(RequestTable::get().find(request));
}
/// Calls `visit` for each message, none of which is plain any longer. The table is not locked
/// meanwhile: `visit` may call MPI, whose calls may call the program.
template <typename Visit>
void for_each_pending(const Visit& visit) {
  if (RequestTable::empty()) return;
  std::vector<Pending*> all;
  RequestTable::get().for_each([&](RequestEntry& entry) {
    if (Pending* const pending = as_pending(&entry)) all.push_back(pending);
  });
  for (Pending* const pending : all) visit(*pending);
}

/// The entries of a call's requests, found before the MPI library completes them.
class RequestList {
 public:
  RequestList(int count, const MPI_Request* requests);
  /// Lets messages go that were not taken: puts them back. Where a request is gone its message has
  /// failed: Open MPI frees each request that has, also where the call tells of one alone, and an
  /// error handler of the application's may have thrown.
  ~RequestList() {
    if (any_) let_go();
  }
  RequestList(const RequestList&) = delete;
  RequestList& operator=(const RequestList&) = delete;
  /// None of the requests is a message's.
  [[nodiscard]] bool empty() const noexcept { return !any_; }
  /// All messages were taken, by end_plain() or otherwise.
  void clear() noexcept { any_ = false; }
  /// The message of request `i`; null where it has none.
  [[nodiscard]] Pending* operator[](int i) noexcept {
    return any_ ? static_cast<Pending*>(entries_[i]) : nullptr;
  }
  /// The first from `i` on that has ended already; -1: none.
  [[nodiscard]] int next_ended(int i = 0) noexcept {
    if (!any_ || !s_any_ended.load(std::memory_order_relaxed)) return -1;
    for (; i < count_; ++i) {
      if (entries_[i] != nullptr && (*this)[i]->ended) return i;
    }
    return -1;
  }
  /// From now on there may be such.
  static void expect_ended() noexcept { s_any_ended.store(true, std::memory_order_relaxed); }
  /// The message of request `i`, which is complete, and the caller's from now on.
  Pending* take(int i) noexcept {
    return any_ ? static_cast<Pending*>(std::exchange(entries_[i], nullptr)) : nullptr;
  }
  /// The operation of each request, null where it has none; null if all are.
  [[nodiscard]] Operations* operations() noexcept {
    return others_ && !others_->operations.empty() ? &others_->operations : nullptr;
  }
  [[nodiscard]] Untestable untestable(std::size_t i) const noexcept {
    return others_ && !others_->untestable.empty() ? others_->untestable[i] : Untestable::No;
  }

 private:
  void let_go() noexcept;
  void sort_out();

  static constexpr int kFew = 64;  // a halo exchange has 52 requests
  static inline constinit std::atomic<bool> s_any_ended{false};
  bool any_ = false;
  int count_;
  const MPI_Request* requests_;
  RequestEntry** entries_;
  std::array<RequestEntry*, kFew>
      few_;  // NOLINT(cppcoreguidelines-pro-type-member-init): as many as set
  std::unique_ptr<RequestEntry*[]> many_;
  /// By request; empty where none of them is such.
  struct Others {
    Operations operations;
    Scratch<Untestable> untestable;
  };
  std::optional<Others> others_;  ///< set if some requests are no messages'
};

/// After the MPI library's call completed the one request, whose entry was claimed: `code` is what
/// it returned, `status` what it gave. Returns the code of it all.
int finish_pending(Pending& pending, MPI_Request request, MPI_Status& status, int code);
/// After a call that completes all: `statuses` are of all requests, which are as the call left
/// them.
int finish_all_pending(RequestList& list, int count, const MPI_Request* requests,
                       MPI_Status* statuses, int code);
/// After a call that completes any one: `status` is of request `index`, if that is one.
int finish_any_pending(RequestList& list, const MPI_Request* requests, int index,
                       MPI_Status& status, int code);
/// After a call that completes some: statuses[i] is of request indices[i].
int finish_some_pending(RequestList& list, const MPI_Request* requests, int outcount,
                        const int* indices, MPI_Status* statuses, int code);
/// Instead of a call that completes some: request `index`, and those after it, that have ended
/// already.
int finish_all_ended(RequestList& list, const MPI_Request* requests, int index, int* outcount,
                     int* indices, MPI_Status* statuses);
/// MPI_Request_get_status of a request with an entry.
int ask_pending(Pending& pending, MPI_Request request, int& flag, MPI_Status& status);
/// ask_pending() for Strake's own use: keeps an answer that the MPI library gives only once, so
/// that the program can still ask, or complete the request.
int look_at_pending(Pending& pending, MPI_Request request, int& flag, MPI_Status& status);
/// MPI_Request_get_status has said that the request is complete.
/// False: what a header message stands for is longer than the receive.
bool unpack_pending(Pending& pending, MPI_Status& status);

/// MPI_Request_free: the message goes on by itself. The handle becomes null.
int free_pending(Pending& pending, MPI_Request* request);
/// Freed ones take a step.
void step_freed() noexcept;
/// Before MPI_Finalize.
void end_pending() noexcept;

/// Whether a request that a nonblocking send gave is complete, and will be given again to others.
[[nodiscard]] bool is_shared_complete(MPI_Request request) noexcept;

}  // namespace strake::interpose
