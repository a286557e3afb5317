/// \file  The messages of this process that go different ways in turn, until the faster one is
/// known (exchange/trials.hpp), and again now and then. Only where one thread at a time calls MPI.
#pragma once

#include <atomic>
#include <cstdint>

#include "exchange/choice/choice.hpp"
#include "exchange/choice/trials.hpp"
#include "mpi/elements.hpp"

namespace strake::interpose::trying {

/// An exchange on trial is open.
inline constinit std::atomic<bool> g_open{false};

/// A message's ways by shared memory: as exchange::Trials::Rule and Subject.
struct Where {
  bool shareable = false;
  bool offerable = false;
};
/// The choice for the running call, where the rules gave `by_rule`. `*settled`: it stays so.
[[nodiscard]] exchange::Choice choose(const mpi::Elements& elements,
                                      exchange::MessageDirection direction, bool nonblocking,
                                      Where where, exchange::Choice by_rule, bool* settled);

/// In MPI_Init: the job begins.
void start() noexcept;
/// Whether messages are to be tried again, or trials go on after a pause. ~30 ns.
void look_at_time() noexcept;
/// \{ The general cases of what follows.
void begin_open() noexcept;
void enter_open() noexcept;
void leave_open(bool completes) noexcept;
void drop_open() noexcept;
/// \}
/// A message begins, on trial or not.
inline void begin() noexcept {
  if (g_open.load(std::memory_order_relaxed)) [[unlikely]]
    begin_open();
}
/// The running call has failed.
inline void drop() noexcept {
  if (g_open.load(std::memory_order_relaxed)) [[unlikely]]
    drop_open();
}
/// tick() counts its calls here.
inline constinit std::atomic<std::uint32_t> g_calls{0};
/// A call begins that may wait for a message: now and then look_at_time(). < 1 ns.
inline void tick() noexcept {
  constexpr std::uint32_t kAtATime = 64;
  const std::uint32_t calls = g_calls.load(std::memory_order_relaxed) + 1;
  g_calls.store(calls, std::memory_order_relaxed);
  if (calls % kAtATime == 0) [[unlikely]]
    look_at_time();
}
/// A call that may complete requests begins.
inline void enter() noexcept {
  tick();
  if (g_open.load(std::memory_order_relaxed)) [[unlikely]]
    enter_open();
}
/// A call returns. `completes`: it may have completed messages, as every blocking one does.
inline void leave(bool completes = false) noexcept {
  if (g_open.load(std::memory_order_relaxed)) [[unlikely]]
    leave_open(completes);
}

[[nodiscard]] exchange::Trials::Found found() noexcept;

}  // namespace strake::interpose::trying
