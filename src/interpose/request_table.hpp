/// \file  The table of the application's requests that Strake knows something of, found by their
/// handles. A call that completes requests looks each up once.
///
/// Handles are not unique. Both libraries give all sends that are complete on return one and the
/// same handle. Once that is known, these get no entry (is_shared_complete()). Under
/// MPI_THREAD_MULTIPLE a completed request's handle may be another thread's new request before its
/// entry is removed: so of several entries with one handle the newest is the one. Entries of
/// generalised requests that the MPI library has let go of are not found.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "mpi/types.hpp"
#include "mpi/world.hpp"

namespace strake::interpose {

/// A request that Strake knows something of, which a derived class says. Its owner makes and ends
/// it.
struct RequestEntry {
  enum class Kind : std::uint8_t {
    Message,     ///< the MPI library's own request (Pending); a call that may complete it claims it
    Persistent,  ///< a message whose request may be started again (Pending)
    Operation,   ///< a request of Strake's (Operation)
    Untestable,  ///< one that MPICH's MPI_Testall must not be given (interpose/untestable.hpp)
  };
  explicit RequestEntry(Kind its_kind) noexcept : kind(its_kind) {}
  RequestEntry(const RequestEntry&) = delete;
  RequestEntry& operator=(const RequestEntry&) = delete;
  [[nodiscard]] bool is_message() const noexcept { return kind <= Kind::Persistent; }

  std::uint64_t key = 0;         ///< the handle
  RequestEntry* next = nullptr;  ///< with the same hash, older; its owner's while it is not entered
  Kind kind;
  /// MPICH's MPI_Testall must not be given it (Untestable::Beside), whatever else it is.
  bool beside = false;
  bool claimed = false;  ///< it is not in the table, but a call's that may complete it
  std::atomic<bool> released = false;  ///< the MPI library has let go of the request

 protected:
  ~RequestEntry() = default;
};

/// All of the process. Threads may share it.
class RequestTable {
 public:
  /// Never destroyed: other threads may outlive main.
  static RequestTable& get() noexcept { return s_table; }
  /// True while there is no entry: one load.
  [[nodiscard]] static bool empty() noexcept {
    return s_count.load(std::memory_order_acquire) == 0;
  }

  /// Enters it under the request's handle. Never fails.
  [[gnu::always_inline]] void enter(MPI_Request request, RequestEntry& entry) noexcept {
    entry.key = mpi::key_of(request);
    const mpi::Lock lock(mutex_);
    link(entry);
    add_to_count(1);
  }
  /// The entry of a request; null if there is none, also for MPI_REQUEST_NULL. ~3 ns.
  [[nodiscard]] RequestEntry* find(MPI_Request request) noexcept {
    return empty() || request == MPI_REQUEST_NULL ? nullptr : find_entry(request);
  }
  struct Claimed {
    bool any = false;     ///< some requests have entries
    bool others = false;  ///< some of these are no messages
  };
  /// Finds the entries of a call's requests, which it may complete: messages that are not
  /// persistent are claimed.
  Claimed claim_all(int count, const MPI_Request* requests, RequestEntry** entries) noexcept;
  /// The request of a claimed entry was left as it was.
  void put_back(RequestEntry& entry) noexcept;
  /// Takes an entry out for good, claimed or not. Does nothing for one that is not entered.
  void remove(RequestEntry& entry) noexcept;
  /// remove() of a claimed entry. The caller holds the lock, or one thread at a time is in MPI.
  void remove_claimed(RequestEntry& entry) noexcept {
    entry.claimed = false;
    add_to_count(-1);
  }
  /// The first message in the table; null: there is none.
  [[nodiscard]] RequestEntry* any_message() noexcept;
  /// Calls `visit` for each entry. The table is locked: `visit` calls neither it nor MPI.
  template <typename Visit>
  void for_each(const Visit& visit) {
    const mpi::Lock lock(mutex_);
    for (RequestEntry* bucket : buckets_) {
      for (RequestEntry* at = bucket; at != nullptr; at = at->next) visit(*at);
    }
  }

 private:
  static constexpr std::size_t kBuckets = 4096;
  [[nodiscard]] RequestEntry* find_entry(MPI_Request request) noexcept;
  void link(RequestEntry& entry) noexcept {
    RequestEntry*& newest = buckets_[bucket_of(entry.key)];
    entry.next = newest;
    newest = &entry;
  }
  static void add_to_count(std::ptrdiff_t more) noexcept {
    s_count.store(s_count.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
  static std::size_t bucket_of(std::uint64_t key) noexcept {
    return (key * 0x9E3779B97F4A7C15U) >> (64 - 12);
  }

  static RequestTable s_table;
  static inline constinit std::atomic<std::ptrdiff_t> s_count{0};
  std::mutex mutex_;
  std::array<RequestEntry*, kBuckets> buckets_{};
};

}  // namespace strake::interpose
