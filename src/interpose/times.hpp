/// \file  Where the time inside MPI goes: by function, place in the program, datatype and
/// transport.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "interpose/calls.hpp"
#include "machine/message.hpp"
#include "mpi/types.hpp"

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace strake::interpose::times {

/// ~8 ns. The unit is the processor's own.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

inline constinit std::atomic<bool> g_on{false};
/// Whether calls are timed: between MPI_Init and MPI_Finalize, where a summary is wanted.
[[nodiscard]] inline bool is_on() noexcept { return g_on.load(std::memory_order_relaxed); }
void start() noexcept;

/// The calls that are counted together.
struct Row {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ticks = 0;  ///< an estimate where some calls were only counted
  std::string datatype;     ///< as `strake explain` takes it; empty: not known, or too long
  std::int64_t size = 0;    ///< of an element [bytes]

  void count(std::int64_t elements) noexcept {
    ++calls;
    if (elements > 0 && size > 0)
      bytes += static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(size);
  }
};

/// The properties that tell one call from another, as far as a call can see them.
struct Key {
  Wrapped call{};
  std::int16_t transport = -1;  ///< -1: not known
  bool many = false;            ///< other than one element
  const void* site = nullptr;
  std::uint64_t type = 0;  ///< a handle; 0: none
  std::uint64_t generation = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

/// In place of a transport, for the running call: nothing moves.
inline constexpr std::int16_t kNothing = -2;

/// A thread's rows, and its sampling, of the calls that it makes.
struct Thread {
  struct Slot {
    Key key;
    Row* row = nullptr;
  };
  /// Sampling of calls that return at once and have one Beginning::key(). Where they are short,
  /// most of them are only counted, since two looks at the clock take longer than many a call that
  /// is passed on (16 ns each on an H100's host).
  struct Turn {
    std::uint64_t key = 0;
    std::uint64_t generation = 0;
    Row* row = nullptr;           ///< of those that were timed
    std::int16_t transport = -1;  ///< of the last of them
    std::uint32_t seen = 0;       ///< timed calls, up to kAllTimed
    std::uint32_t left = 0;       ///< calls to count before the next one is timed
    std::uint32_t counted = 0;    ///< calls since the last one that was timed

    [[nodiscard]] bool is_of(std::uint64_t its_key, std::uint64_t now) const noexcept {
      return key == its_key && generation == now;
    }
  };
  static constexpr int kTurnBits = 9;
  static constexpr std::uint32_t kAllTimed = 64;  ///< the first ones, and where calls are few
  static constexpr std::size_t kSlots = 512;
  static constexpr std::size_t kProbes = 4;
  std::array<Slot, kSlots> slots{};
  std::array<Turn, std::size_t{1} << kTurnBits> turns{};
  std::uint64_t short_ticks = 0;       ///< a call that took less is short; 0: not known yet
  std::uint32_t random = 1;            ///< state of the generator that draws Turn::left
  std::uint64_t total = 0;             ///< in all calls [ticks]
  const void* fortran_site = nullptr;  ///< where the Fortran call that is running returns to
  std::int16_t transport = -1;         ///< of the message of the call that is running
  bool inside = false;                 ///< a timed call is running
  const void* frame = nullptr;         ///< of that call

  /// The turn of calls with that key, or one of others in its place.
  [[nodiscard]] Turn& turn_of(std::uint64_t key, std::uint64_t generation) noexcept {
    const std::size_t home = key >> (64 - kTurnBits);
    Turn& first = turns[home];
    if (first.is_of(key, generation)) return first;
    Turn& second = turns[home ^ 1];
    return second.is_of(key, generation) || second.generation != generation ? second : first;
  }
};
inline thread_local Thread* t_thread = nullptr;
[[nodiscard]] Thread& make_thread() noexcept;
/// This thread's. Its counts outlive the thread.
[[nodiscard]] inline Thread& thread() noexcept {
  return t_thread != nullptr ? *t_thread : make_thread();
}

/// The message of the running call travels by this transport.
inline void note_transport(machine::Transport transport) noexcept {
  if (is_on()) thread().transport = static_cast<std::int16_t>(transport);
}
/// The running call has no peer, or no bytes: nothing of its datatype moves.
inline void note_nothing() noexcept {
  if (is_on()) thread().transport = kNothing;
}

/// A call that begins, as far as it can be told before it runs.
struct Beginning {
  [[gnu::always_inline]] Beginning(Wrapped function, const void* caller, std::int64_t elements,
                                   std::uint64_t handle) noexcept
      : thread(times::thread()),
        frame(__builtin_frame_address(0)),
        call(function),
        site(thread.fortran_site != nullptr ? thread.fortran_site : caller),
        count(elements),
        type(handle) {}

  Thread& thread;
  const void* frame;  ///< the wrapper's
  Wrapped call;
  const void* site;
  std::int64_t count;
  std::uint64_t type;

  /// Equal for calls with equal function, place, type and count; its upper bits are well mixed.
  [[nodiscard]] std::uint64_t key() const noexcept {
    return (reinterpret_cast<std::uintptr_t>(site) ^ static_cast<std::uint64_t>(call) << 48) *
               0x9E3779B97F4A7C15U +
           type * 0xC2B2AE3D27D4EB4FU + static_cast<std::uint64_t>(count) * 0xFF51AFD7ED558CCDU;
  }
};

/// A call of the application's that is counted without being timed. Calls inside it belong to it.
class Counted {
 public:
  /// Decides whether this call, which returns at once, need not be timed: then it is counted when
  /// it ends. ~5 ns. `call` must outlive it.
  [[gnu::always_inline]] explicit Counted(const Beginning& call) noexcept : call_(call) {
    Thread& own = call.thread;
    if (own.inside) return;  // or was left by longjmp: Timed finds that
    const std::uint64_t key = call.key();
    const std::uint64_t generation = mpi::g_type_generation.load(std::memory_order_relaxed);
    Thread::Turn& turn = own.turn_of(key, generation);
    if (turn.left == 0 || !turn.is_of(key, generation)) return;
    --turn.left;
    ++turn.counted;
    turn_ = &turn;
    own.inside = true;
    own.frame = call.frame;
    own.transport = -1;
  }
  ~Counted() {
    if (turn_ == nullptr) return;
    call_.thread.inside = false;
    if (succeeded_ && call_.thread.transport == turn_->transport) {
      turn_->row->count(call_.count);
    } else {
      count_elsewhere();
    }
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  explicit operator bool() const noexcept { return turn_ != nullptr; }
  /// The call has returned `code`, which this returns, too.
  int end(int code) noexcept {
    succeeded_ = code == MPI_SUCCESS;
    return code;
  }

 private:
  /// The call failed, or its message took another transport than the last timed one.
  void count_elsewhere() noexcept;

  const Beginning& call_;
  Thread::Turn* turn_ = nullptr;
  bool succeeded_ = false;
};

/// Whether calls of the function are timed one by one.
enum class Timing : std::uint8_t {
  Each,    ///< it may wait
  Sample,  ///< it returns at once
};

/// One call of the application's, `begin`, which must outlive it: ~25 ns. Calls inside another one
/// belong to that.
class Timed {
 public:
  [[gnu::always_inline]] Timed(const Beginning& call, Timing timing) noexcept
      : call_(call), sampled_(timing == Timing::Sample) {
    Thread& own = call.thread;
    // A call that is not below the outermost one shows that this was left by longjmp.
    outermost_ = !own.inside || call.frame >= own.frame;
    if (!outermost_) return;
    own.inside = true;
    own.frame = call.frame;
    own.transport = -1;
    begin_ = ticks();
  }
  ~Timed() {
    if (outermost_) finish();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  /// The call has returned `code`, which this returns, too.
  int end(int code) noexcept {
    succeeded_ = code == MPI_SUCCESS;
    return code;
  }

 private:
  void finish() noexcept;
  /// Returns the turn of calls alike, or null where others have its place.
  [[nodiscard]] Thread::Turn* find_turn() const noexcept;
  void take_turn(Thread::Turn& turn, Row& row, std::uint64_t spent) noexcept;

  const Beginning& call_;
  bool sampled_;
  bool outermost_ = false;
  bool succeeded_ = false;
  std::uint64_t begin_ = 0;
};

/// A Fortran entry point, whose caller is the place of the C call that it makes.
class FortranCall {
 public:
  explicit FortranCall(const void* site) noexcept : on_(is_on()) {
    if (on_) before_ = std::exchange(thread().fortran_site, site);
  }
  ~FortranCall() {
    if (on_) thread().fortran_site = before_;
  }
  FortranCall(const FortranCall&) = delete;
  FortranCall& operator=(const FortranCall&) = delete;

 private:
  bool on_;
  const void* before_ = nullptr;
};

/// Times of this process, from start() to stop(). [s]
struct Spent {
  double wall = 0;
  double in_mpi = 0;  ///< of all threads together
};
/// Ends the timing.
[[nodiscard]] Spent stop() noexcept;

/// The rows of this process, longest first: a list of objects with `function`, `place` (program and
/// offset, as addr2line takes them), `datatype` (as `strake explain` takes it, null where it is not
/// known, absent where there is none), `method` (absent where it is not
/// known at the call, as of receives), `calls`, `bytes` (as the calls ask for, absent
/// where that is not known) and `seconds` (an estimate where not all were timed). After stop().
[[nodiscard]] nlohmann::ordered_json rows();
/// Adds the rows of other processes; keeps the longest, and adds up the others in one row.
void add_rows(nlohmann::ordered_json& rows, const nlohmann::ordered_json& more);

}  // namespace strake::interpose::times
