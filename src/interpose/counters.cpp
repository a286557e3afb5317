#include "interpose/counters.hpp"

namespace strake::interpose {

const char* name_of(Function function) noexcept {
  constexpr const char* kNames[] = {
#define STRAKE_MOVER(name) #name,
#include "mpi/movers.def"
#undef STRAKE_MOVER
      ""};
  return kNames[static_cast<int>(function)];
}

void set_outcome_hook(OutcomeHook hook) noexcept {
  g_recorder.hook.store(hook, std::memory_order_release);
  g_recorder.unusual.store(hook != nullptr || mpi::g_multiple, std::memory_order_release);
}

void record_unusual(CallOutcome outcome) noexcept {
  const auto function = static_cast<std::size_t>(outcome.function);
  g_recorder.by_transport[function][static_cast<std::size_t>(outcome.transport)].add(outcome.bytes);
  if (outcome.reason != Reason::None) {
    g_recorder.by_reason[static_cast<std::size_t>(outcome.reason)].add(outcome.bytes);
  }
  if (const OutcomeHook hook = g_recorder.hook.load(std::memory_order_acquire)) hook(outcome);
}

void set_multiple() noexcept {
  mpi::g_multiple = true;
  g_recorder.unusual.store(true, std::memory_order_release);
}

Totals totals() noexcept {
  Totals result;
  for (std::size_t f = 0; f < result.by_transport.size(); ++f) {
    for (std::size_t m = 0; m < result.by_transport[f].size(); ++m) {
      result.by_transport[f][m] = g_recorder.by_transport[f][m].value();
    }
  }
  for (std::size_t r = 0; r < result.by_reason.size(); ++r) {
    result.by_reason[r] = g_recorder.by_reason[r].value();
  }
  result.saved_ns = g_recorder.saved_ns.load(std::memory_order_relaxed);
  return result;
}

}  // namespace strake::interpose
