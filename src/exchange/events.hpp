/// \file  What happened: one event where a method runs, counted per function, method and reason.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "exchange/method.hpp"

namespace strake::exchange {

/// A function that moves data, as the summary names it.
enum class Function : std::uint8_t {
#define STRAKE_MOVER(name) name,
#include "exchange/movers.def"
#undef STRAKE_MOVER
  Count_
};
inline constexpr int kFunctions = static_cast<int>(Function::Count_);

/// "MPI_Send", …
[[nodiscard]] const char* name_of(Function function) noexcept;

/// One call that moved, or left to the system, `bytes`: of a receive those that came, of one that
/// was left to the system those that it has room for.
struct Event {
  Function function;
  Method method = Method::System;
  Reason reason = Reason::None;
  std::int64_t bytes = 0;
};

struct Count {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

/// Totals of this process, in the order of the enums.
struct Totals {
  std::array<std::array<Count, kMethods>, kFunctions> by_method{};
  std::array<Count, kReasons> by_reason{};
  std::int64_t saved_ns = 0;  ///< by packing and unpacking, where the system's own time was sampled
};

/// Called after an event was counted, on the thread of the call or (receives) of the call that
/// found the message there; null: nobody listens. For traces and verification.
using EventHook = void (*)(const Event& event);
void set_event_hook(EventHook hook) noexcept;

/// Counts the event (~3 ns) and tells the hook.
void record(const Event& event) noexcept;
/// Counts a call of a function that is no mover: left to the system, its bytes unknown.
void record_passed(Reason reason) noexcept;
/// Adds to the time that packing saved against the system's own.
void record_saved(std::int64_t nanoseconds) noexcept;
[[nodiscard]] Totals totals() noexcept;

}  // namespace strake::exchange
