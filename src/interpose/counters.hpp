/// \file  Counts of what the wrapped calls did, by function, transport and reason.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "exchange/choice/choice.hpp"
#include "interpose/sharing.hpp"
#include "mpi/world.hpp"

namespace strake::interpose {

using exchange::kReasons;
using exchange::Reason;
using machine::kTransports;
using machine::Transport;

/// A function that moves data, as the summary names it.
enum class Function : std::uint8_t {
#define STRAKE_MOVER(name) name,
#include "mpi/movers.def"
#undef STRAKE_MOVER
  Count
};
inline constexpr int kFunctions = static_cast<int>(Function::Count);

/// "MPI_Send", …
[[nodiscard]] const char* name_of(Function function) noexcept;

/// One call that moved `bytes`, or left them to the MPI library. For a receive these are the bytes
/// that came; for one that was left to the MPI library, those that it has room for.
struct CallOutcome {
  Function function;
  Transport transport = Transport::Library;
  Reason reason = Reason::None;
  std::int64_t bytes = 0;
};

struct Count {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

/// Totals of this process, in the order of the enums.
struct Totals {
  std::array<std::array<Count, kTransports>, kFunctions> by_transport{};
  std::array<Count, kReasons> by_reason{};
  std::int64_t saved_ns = 0;  ///< by packing, where the MPI library's time was measured
  std::array<std::uint64_t, kSharings> ranks_sharing{};
  Shared shared;
  SharedHeap heap;
  /// \{ Layouts that were tried; as exchange::Trials::Found.
  std::uint64_t trials_packed = 0;
  std::uint64_t trials_shared = 0;
  std::uint64_t trials_left = 0;
  std::uint64_t trials_unsettled = 0;
  std::uint64_t trials_moved_ns = 0;
  std::uint64_t trials_left_ns = 0;
  /// \}
  /// \{ Communicators whose ranks could be placed anew; as ReorderCounts.
  std::uint64_t reordered = 0;
  std::uint64_t order_kept = 0;
  std::uint64_t across_before = 0;
  std::uint64_t across_after = 0;
  std::uint64_t islands_before = 0;
  std::uint64_t islands_after = 0;
  std::uint64_t across_all = 0;
  /// \}
  std::uint64_t timed = 0;      ///< ranks whose calls were timed
  std::uint64_t wall_ns = 0;    ///< from MPI_Init to MPI_Finalize
  std::uint64_t in_mpi_ns = 0;  ///< of these, inside MPI
};

/// Called after an outcome was counted, on the thread of the call, or for a receive on that of the
/// call that completed it. Null: none. For traces and verification.
using OutcomeHook = void (*)(const CallOutcome& outcome);
void set_outcome_hook(OutcomeHook hook) noexcept;

class Counter {
 public:
  void add(std::int64_t bytes) noexcept {
    if (mpi::g_multiple.load(std::memory_order_relaxed)) {
      calls_.fetch_add(1, std::memory_order_relaxed);
      bytes_.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
    } else {
      add_alone(bytes);
    }
  }
  /// For one thread at a time.
  [[gnu::always_inline]] void add_alone(std::int64_t bytes) noexcept {
    const auto more = static_cast<std::uint64_t>(bytes);
    calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes_.store(bytes_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  [[nodiscard]] Count value() const noexcept {
    return {calls_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

/// The counters that `record` adds to, and the hook that it calls.
struct Recorder {
  std::array<std::array<Counter, kTransports>, kFunctions> by_transport;
  std::array<Counter, kReasons> by_reason;
  std::atomic<std::int64_t> saved_ns{0};
  std::atomic<OutcomeHook> hook{nullptr};
  std::atomic<bool> unusual{false};  ///< there is a hook, or MPI_THREAD_MULTIPLE
};
inline constinit Recorder g_recorder;

/// The general case of `record`.
void record_unusual(CallOutcome outcome) noexcept;

/// Counts the outcome where g_recorder is not `unusual`. ~1 ns.
[[gnu::always_inline]] inline void record_usual(CallOutcome outcome) noexcept {
  const auto function = static_cast<std::size_t>(outcome.function);
  g_recorder.by_transport[function][static_cast<std::size_t>(outcome.transport)].add_alone(
      outcome.bytes);
  if (outcome.reason != Reason::None) {
    g_recorder.by_reason[static_cast<std::size_t>(outcome.reason)].add_alone(outcome.bytes);
  }
}
/// Counts the outcome and calls the hook.
[[gnu::always_inline]] inline void record(CallOutcome outcome) noexcept {
  if (g_recorder.unusual.load(std::memory_order_acquire)) [[unlikely]]
    return record_unusual(outcome);
  record_usual(outcome);
}
/// Counts a call that was passed on, of a function that is not in movers.def. Its bytes are not
/// known.
inline void record_passed(Reason reason) noexcept {
  g_recorder.by_reason[static_cast<std::size_t>(reason)].add(0);
}
/// Adds to the time that packing saved against the MPI library.
inline void record_saved(std::int64_t nanoseconds) noexcept {
  std::atomic<std::int64_t>& total = g_recorder.saved_ns;
  if (mpi::g_multiple.load(std::memory_order_relaxed)) {
    total.fetch_add(nanoseconds, std::memory_order_relaxed);
  } else {
    total.store(total.load(std::memory_order_relaxed) + nanoseconds, std::memory_order_relaxed);
  }
}
[[nodiscard]] Totals totals() noexcept;

/// From now on several threads may be in MPI at a time (MPI_THREAD_MULTIPLE).
void set_multiple() noexcept;

}  // namespace strake::interpose
