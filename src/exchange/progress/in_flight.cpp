#include "exchange/progress/in_flight.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "settings/log.hpp"

namespace strake::exchange {
namespace {

/// Whether this thread is inside advance_own().
bool& is_inside() noexcept {
  static thread_local bool inside = false;
  return inside;
}

/// Puts `entry` into the first free slot. False: there is none.
template <typename T, std::size_t Count>
bool add_to(std::array<std::atomic<T>, Count>& slots, T entry) noexcept {
  return std::ranges::any_of(slots, [entry](std::atomic<T>& slot) {
    T free = nullptr;
    return slot.compare_exchange_strong(free, entry, std::memory_order_acq_rel);
  });
}

}  // namespace

void InFlight::add(Mover& mover) noexcept {
  if (!add_to<Mover*>(movers_, &mover))
    log::warn("more than {} kinds of things are in flight: one stands still", kMost);
}

void InFlight::advance_own() noexcept {
  bool& inside = is_inside();
  if (inside) return;
  inside = true;
  for (const std::atomic<Mover*>& slot : movers_)
    if (Mover* const mover = slot.load(std::memory_order_acquire)) mover->advance();
  inside = false;
}

void InFlight::advance_others() noexcept {
  if (is_inside()) return;
  if (const CoreLink* const met = met_.load(std::memory_order_acquire)) met->advance();
  for (const std::atomic<const CoreLink*>& slot : cores_)
    if (const CoreLink* const other = slot.load(std::memory_order_acquire)) other->advance();
}

void InFlight::advance() noexcept {
  advance_own();
  advance_others();
}

const CoreLink* InFlight::link() noexcept {
  static const CoreLink own{STRAKE_VERSION, [] { g_in_flight.advance_own(); }, &g_in_flight.count_};
  return &own;
}

void InFlight::meet_interposer() {
  static const bool met = [this] {
    const auto meet = reinterpret_cast<MeetFunction>(dlsym(RTLD_DEFAULT, kMeetFunction));
    const CoreLink* const found = meet != nullptr ? meet(link()) : nullptr;
    if (found == nullptr) return false;
    if (std::strcmp(found->version, STRAKE_VERSION) != 0)
      log::info("the interposer is Strake {}, this library {}", found->version, STRAKE_VERSION);
    found->in_flight->fetch_add(count(), std::memory_order_relaxed);
    met_.store(found, std::memory_order_release);
    return true;
  }();
  (void)met;
}

bool InFlight::add_core(const CoreLink* other) noexcept {
  return add_to<const CoreLink*>(cores_, other);
}

}  // namespace strake::exchange
