/// \file  Where the time inside MPI goes: by function, place in the program, datatype and method.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "interpose/calls.hpp"
#include "machine/method.hpp"

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
struct Row;

/// What tells one call from another, as far as a call can see it.
struct Key {
  Wrapped call{};
  std::int16_t method = -1;  ///< -1: not known
  bool many = false;         ///< other than one element
  const void* site = nullptr;
  std::uint64_t type = 0;  ///< a handle; 0: none
  std::uint64_t generation = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

/// In place of a method, for the running call: nothing moves.
inline constexpr std::int16_t kNothing = -2;

/// What a thread knows of the calls that it makes.
struct Thread {
  struct Slot {
    Key key;
    Row* row = nullptr;
  };
  static constexpr std::size_t kSlots = 512;
  static constexpr std::size_t kProbes = 4;
  std::array<Slot, kSlots> slots{};
  std::uint64_t total = 0;             ///< in all calls [ticks]
  const void* fortran_site = nullptr;  ///< where the Fortran call that is running returns to
  std::int16_t method = -1;            ///< of the message of the call that is running
  bool inside = false;                 ///< a timed call is running
  const void* frame = nullptr;         ///< of that call
};
/// This thread's. Its counts outlive the thread.
[[nodiscard]] Thread& thread() noexcept;

/// The message of the running call travels by this method.
inline void note_method(machine::Method method) noexcept {
  if (is_on()) thread().method = static_cast<std::int16_t>(method);
}
/// The running call has no peer, or no bytes: nothing of its datatype moves.
inline void note_nothing() noexcept {
  if (is_on()) thread().method = kNothing;
}

/// One call of the application's: ~25 ns. Calls inside another one belong to that.
class Timed {
 public:
  Timed(Wrapped call, const void* site, std::int64_t count, std::uint64_t type) noexcept
      : thread_(thread()) {
    // A call that is not below the outermost one shows that this was left by longjmp.
    const void* const frame = __builtin_frame_address(0);
    outermost_ = !thread_.inside || frame >= thread_.frame;
    if (!outermost_) return;
    thread_.inside = true;
    thread_.frame = frame;
    thread_.method = -1;
    count_ = count;
    key_.call = call;
    key_.many = type != 0 && count != 1;
    key_.site = thread_.fortran_site != nullptr ? thread_.fortran_site : site;
    key_.type = type;
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

  Thread& thread_;
  bool outermost_ = false;
  bool succeeded_ = false;
  Key key_;
  std::int64_t count_ = 0;
  std::uint64_t begin_ = 0;
};

/// A Fortran entry point, whose caller is the place of the C call that it makes.
class FortranCall {
 public:
  explicit FortranCall(const void* site) noexcept : on_(is_on()) {
    if (on_) thread().fortran_site = site;
  }
  ~FortranCall() {
    if (on_) thread().fortran_site = nullptr;
  }
  FortranCall(const FortranCall&) = delete;
  FortranCall& operator=(const FortranCall&) = delete;

 private:
  bool on_;
};

/// Of this process, from start() to now. [s]
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
/// where that is not known) and `seconds`. After stop().
[[nodiscard]] nlohmann::ordered_json rows();
/// Adds the rows of other processes; keeps the longest, and adds up the others in one row.
void add_rows(nlohmann::ordered_json& rows, const nlohmann::ordered_json& more);

}  // namespace strake::interpose::times
