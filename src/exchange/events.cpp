#include "exchange/events.hpp"

#include "exchange/operation.hpp"

namespace strake::exchange {
namespace {

struct Counter {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> bytes{0};

  void add(std::int64_t amount) noexcept {
    if (g_multiple) {
      calls.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(static_cast<std::uint64_t>(amount), std::memory_order_relaxed);
      return;
    }
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes.store(bytes.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(amount),
                std::memory_order_relaxed);
  }
  [[nodiscard]] Count value() const noexcept {
    return {calls.load(std::memory_order_relaxed), bytes.load(std::memory_order_relaxed)};
  }
};

std::array<std::array<Counter, kMethods>, kFunctions> g_by_method;
std::array<Counter, kReasons> g_by_reason;
std::atomic<std::int64_t> g_saved_ns{0};
std::atomic<EventHook> g_hook{nullptr};

}  // namespace

const char* name_of(Function function) noexcept {
  constexpr const char* kNames[] = {
#define STRAKE_MOVER(name) #name,
#include "exchange/movers.def"
#undef STRAKE_MOVER
      ""};
  return kNames[static_cast<int>(function)];
}

void set_event_hook(EventHook hook) noexcept { g_hook.store(hook, std::memory_order_release); }

void record(const Event& event) noexcept {
  g_by_method[static_cast<std::size_t>(event.function)][static_cast<std::size_t>(event.method)].add(
      event.bytes);
  if (event.reason != Reason::None)
    g_by_reason[static_cast<std::size_t>(event.reason)].add(event.bytes);
  if (const EventHook hook = g_hook.load(std::memory_order_acquire)) hook(event);
}

void record_passed(Reason reason) noexcept { g_by_reason[static_cast<std::size_t>(reason)].add(0); }

void record_saved(std::int64_t nanoseconds) noexcept {
  g_saved_ns.fetch_add(nanoseconds, std::memory_order_relaxed);
}

Totals totals() noexcept {
  Totals result;
  for (std::size_t f = 0; f < g_by_method.size(); ++f) {
    for (std::size_t m = 0; m < g_by_method[f].size(); ++m) {
      result.by_method[f][m] = g_by_method[f][m].value();
    }
  }
  for (std::size_t r = 0; r < g_by_reason.size(); ++r) result.by_reason[r] = g_by_reason[r].value();
  result.saved_ns = g_saved_ns.load(std::memory_order_relaxed);
  return result;
}

}  // namespace strake::exchange
