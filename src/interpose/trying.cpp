#include "interpose/trying.hpp"

#include <chrono>

#include "exchange/shared/envelopes.hpp"
#include "mpi/job.hpp"
#include "mpi/world.hpp"
#include "settings/settings.hpp"

namespace strake::interpose::trying {
namespace {

using exchange::Choice;
using exchange::Method;
using exchange::Reason;

exchange::Trials& trials() {
  static exchange::Trials& instance = *new exchange::Trials;  // calls may come after main
  return instance;
}

/// Whether the running call is a blocking one.
bool g_blocking = false;

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Whether no other thread may be in MPI; else the trials end (a session may bring that).
bool is_alone() noexcept {
  if (!mpi::g_multiple.load(std::memory_order_relaxed)) return true;
  g_open.store(false, std::memory_order_relaxed);
  return false;
}

/// Whether shared memory carries it whatever was chosen.
bool is_shared(std::int64_t bytes) noexcept {
  static const bool one_node = mpi::on_one_node().value_or(false);
  return one_node && exchange::shared::may_send_envelope(bytes);
}

}  // namespace

Choice choose(const mpi::Elements& elements, exchange::Direction direction, bool nonblocking,
              Choice by_rule, bool* settled) {
  static const bool wanted = settings::flag(settings::Id::trials);
  if (!wanted || mpi::g_multiple.load(std::memory_order_relaxed) ||
      is_shared(elements.size_bytes()))
    return by_rule;
  const auto way =
      trials().way({elements.layout().hash(), elements.size_bytes(), direction, nonblocking},
                   by_rule.method, now());
  g_open.store(trials().is_open(), std::memory_order_relaxed);
  g_blocking = g_blocking || (!way.settled && !nonblocking);
  *settled = way.settled;
  return {way.method, way.settled && way.tried ? Reason::Trials : by_rule.reason};
}

void begin_open() noexcept {
  if (!is_alone()) return;
  trials().begin();
  g_open.store(trials().is_open(), std::memory_order_relaxed);
}

void enter_open() noexcept {
  if (is_alone()) trials().enter(now());
}

void leave_open(bool completes) noexcept {
  if (is_alone() && trials().is_inside()) trials().leave(now(), completes || g_blocking);
  g_blocking = false;
}

void drop_open() noexcept {
  if (is_alone()) trials().drop();
  g_open.store(false, std::memory_order_relaxed);
  g_blocking = false;
}

exchange::Trials::Found found() noexcept { return trials().found(); }

}  // namespace strake::interpose::trying
