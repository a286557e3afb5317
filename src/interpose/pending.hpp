/// \file  Messages that the application holds the MPI library's own requests of, and what remains
/// to do when these complete: a send's buffer goes back, a receive's bytes are unpacked. An entry
/// is found by its handle.
///
/// Handles are not unique. Both libraries give all sends that are complete on return one and the
/// same handle. These get no entry. Under MPI_THREAD_MULTIPLE a completed request's handle may be
/// another thread's new request before its entry is removed: so of several entries with one handle
/// the newest is the one.
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

#include "exchange/choice/choice.hpp"
#include "exchange/message/transfer.hpp"
#include "interpose/counters.hpp"
#include "interpose/receive.hpp"
#include "memory/scratch.hpp"
#include "mpi/peers.hpp"
#include "mpi/types.hpp"
#include "mpi/world.hpp"

namespace strake::interpose {

/// A send of a header message's length that the MPI library carries.
struct Placeholder {
  std::int64_t bytes = 0;
  mpi::Peer peer;
};

/// One message. Belongs to the table, or to the call that makes it.
struct Pending {
  std::optional<exchange::Transfer> transfer;  ///< posted while the MPI library has the message
  Receive receive;                             ///< a send has only its communicator
  Function function = Function::MPI_Isend;
  exchange::Reason reason = exchange::Reason::None;
  bool persistent = false;
  bool active = true;        ///< false: a persistent one that was not started
  bool may_be_gone = false;  ///< the application has asked to cancel it
  bool claimed = false;      ///< it is not in the table, but a call's that may complete it
  /// A receive that is only watched, and that no call but those that complete it has met. Unless a
  /// header message comes, nothing remains to be done for it.
  bool plain = false;
  /// A persistent send of a header message's length gets a placeholder at each start.
  std::optional<Placeholder> placeholder;
  /// Of a persistent receive that Strake has asked about, where the MPI library tells once
  /// (quirks::kTellsOfPersistentOnce): it is complete, which no call of the library's tells again.
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
  /// The communicator on which errors of the message are raised.
  [[nodiscard]] MPI_Comm comm() const noexcept { return receive.comm(); }
  /// The first bytes that a receive has got.
  [[nodiscard]] exchange::shared::Landed landed() const;
  /// The room of a receive. [bytes]
  [[nodiscard]] std::int64_t room() const noexcept {
    return transfer ? transfer->room() : receive.landing()->room();
  }
  [[nodiscard]] bool receives() const noexcept {
    return transfer ? transfer->direction() == machine::Direction::Receive
                    : receive.landing() != nullptr;
  }
  /// The message has ended without bytes to unpack, or was never taken.
  void give_up() {
    if (transfer && transfer->state() == exchange::Transfer::State::Posted) {
      transfer->arrived({.bytes = 0, .lost = true});
    }
  }

  std::uint64_t key = 0;    ///< the handle
  Pending* next = nullptr;  ///< with the same hash, older; or free
};

/// All of the process. Threads may share it.
class PendingTable {
 public:
  /// Never destroyed: other threads may outlive main.
  static PendingTable& get() noexcept { return s_table; }

  /// True while there is no entry: one load.
  [[nodiscard]] static bool empty() noexcept {
    return s_count.load(std::memory_order_acquire) == 0;
  }

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
    Pending* const made = std::exchange(free_, free_->next);
    made->function = function;
    made->reason = reason;
    return made;
  }
  void recycle(Pending* pending) noexcept;
  /// Enters it under the request's handle. Never fails.
  void add(MPI_Request request, Owned pending) noexcept { enter(request, pending.release()); }
  [[gnu::always_inline]] void enter(MPI_Request request, Pending* pending) noexcept {
    pending->key = mpi::key_of(request);
    const mpi::Lock lock(mutex_);
    link(pending);
    s_count.store(s_count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// The entry of a request, which is plain no longer; or null. ~3 ns.
  [[nodiscard]] Pending* find(MPI_Request request) noexcept;
  /// Finds the entries of a call's requests, which it may complete: claimed, where that is needed.
  /// False: there are none.
  bool claim_all(int count, const MPI_Request* requests, Pending** entries) noexcept;
  /// The request was left as it was.
  void put_back(Pending* pending) noexcept;
  /// A call ends that has claimed the entry and not taken it: puts it back. Where the request is
  /// gone the message has failed: Open MPI frees each request that has, also where the call tells
  /// of one alone, and an error handler of the application's may have thrown.
  void let_go(Pending* pending, MPI_Request request) noexcept;
  /// Takes it out for good.
  Owned remove(Pending* pending) noexcept;
  /// Ends the plain entry that a call has claimed. For one thread at a time.
  [[gnu::always_inline]] void end_plain(Pending* pending) noexcept {
    pending->receive.end();
    pending->plain = false;
    pending->claimed = false;
    pending->next = free_;
    free_ = pending;
    s_count.store(s_count.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }
  /// Calls `visit` for each entry, none of which is plain any longer; it may not add or remove any.
  template <typename Visit>
  void for_each(const Visit& visit) {
    for (Pending* bucket : buckets_) {
      for (Pending* at = bucket; at != nullptr; at = at->next) {
        at->plain = false;
        visit(*at);
      }
    }
  }
  /// Every entry's buffer is leaked: MPI ends, and what is still in flight is its own.
  void leak_all() noexcept;

 private:
  static constexpr std::size_t kBuckets = 4096;
  [[nodiscard]] Pending* claim_locked(MPI_Request request) noexcept {
    // A handle may be there twice: UCX gives all sends that are complete on return one and the
    // same. A persistent request keeps its own.
    const std::uint64_t key = mpi::key_of(request);
    for (Pending** at = &buckets_[bucket_of(key)]; *at != nullptr; at = &(*at)->next) {
      Pending* const pending = *at;
      if (pending->key != key) continue;
      if (pending->persistent) return pending;
      *at = pending->next;
      pending->claimed = true;
      return pending;
    }
    return nullptr;
  }
  void link(Pending* pending) noexcept {
    Pending*& newest = buckets_[bucket_of(pending->key)];
    pending->next = newest;
    newest = pending;
  }
  void unlink(Pending* pending) noexcept;
  static std::size_t bucket_of(std::uint64_t key) noexcept {
    return (key * 0x9E3779B97F4A7C15U) >> (64 - 12);
  }

  static PendingTable s_table;
  static inline constinit std::atomic<std::size_t> s_count{0};
  std::mutex mutex_;
  std::array<Pending*, kBuckets> buckets_{};
  Pending* free_ = nullptr;
};

/// The entries of a call's requests, found before the MPI library completes them.
class PendingList {
 public:
  PendingList(int count, const MPI_Request* requests);
  /// Lets go what was not taken.
  ~PendingList();
  PendingList(const PendingList&) = delete;
  PendingList& operator=(const PendingList&) = delete;
  /// None of the requests has an entry.
  [[nodiscard]] bool empty() const noexcept { return !any_; }
  /// All entries were taken, by end_plain() or otherwise.
  void clear() noexcept { any_ = false; }
  /// Null where request `i` has none.
  [[nodiscard]] Pending* operator[](int i) noexcept { return any_ ? entries_[i] : nullptr; }
  /// The first from `i` on that has ended already; -1: none.
  [[nodiscard]] int next_ended(int i = 0) const noexcept {
    if (!any_ || !s_any_ended.load(std::memory_order_relaxed)) return -1;
    for (; i < count_; ++i) {
      if (entries_[i] != nullptr && entries_[i]->ended) return i;
    }
    return -1;
  }
  /// From now on there may be such.
  static void expect_ended() noexcept { s_any_ended.store(true, std::memory_order_relaxed); }
  /// The same for a request that is complete.
  Pending* take(int i) noexcept { return any_ ? std::exchange(entries_[i], nullptr) : nullptr; }

 private:
  static constexpr int kFew = 64;  // a halo exchange has 52 requests
  static inline constinit std::atomic<bool> s_any_ended{false};
  bool any_ = false;
  int count_;
  const MPI_Request* requests_;
  Pending** entries_;
  std::array<Pending*, kFew>
      few_;  // NOLINT(cppcoreguidelines-pro-type-member-init): as many as set
  std::unique_ptr<Pending*[]> many_;
};

/// After the MPI library's call completed the one request, whose entry was claimed: `code` is what
/// it returned, `status` what it gave. Returns the code of it all.
int finish_pending(Pending& pending, MPI_Request request, MPI_Status& status, int code);
/// After a call that completes all: `statuses` are of all requests, which are as the call left
/// them.
int finish_all_pending(PendingList& list, int count, const MPI_Request* requests,
                       MPI_Status* statuses, int code);
/// After a call that completes any one: `status` is of request `index`, if that is one.
int finish_any_pending(PendingList& list, const MPI_Request* requests, int index,
                       MPI_Status& status, int code);
/// After a call that completes some: statuses[i] is of request indices[i].
int finish_some_pending(PendingList& list, const MPI_Request* requests, int outcount,
                        const int* indices, MPI_Status* statuses, int code);
/// Instead of a call that completes some: request `index`, and those after it, that have ended
/// already.
int finish_all_ended(PendingList& list, const MPI_Request* requests, int index, int* outcount,
                     int* indices, MPI_Status* statuses);
/// MPI_Request_get_status of a request with an entry.
int ask_pending(Pending& pending, MPI_Request request, int& flag, MPI_Status& status);
/// The same for a call of Strake's own, after which the program can ask again, or complete it.
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
