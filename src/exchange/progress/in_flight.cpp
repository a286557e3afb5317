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

/// The first slot with `from` gets `to`. False: there is none.
template <typename T, std::size_t Count>
bool exchange_one(std::array<std::atomic<T>, Count>& slots, T from, T to) noexcept {
  return std::ranges::any_of(slots, [&](std::atomic<T>& slot) {
    T found = from;
    return slot.compare_exchange_strong(found, to, std::memory_order_acq_rel);
  });
}

}  // namespace

void InFlight::add(Mover& mover) noexcept { (void)exchange_one<Mover*>(movers_, nullptr, &mover); }

void InFlight::advance_own() noexcept {
  bool& inside = is_inside();
  if (inside) return;
  inside = true;
  for (const std::atomic<Mover*>& slot : movers_)
    if (Mover* const mover = slot.load(std::memory_order_acquire)) mover->advance();
  inside = false;
}

void InFlight::advance() noexcept {
  if (is_inside()) return;
  advance_own();
  if (const CoreLink* const met = met_.load(std::memory_order_acquire)) met->advance();
  for (const std::atomic<const CoreLink*>& slot : cores_)
    if (const CoreLink* const other = slot.load(std::memory_order_acquire)) other->advance();
}

const CoreLink* InFlight::link() noexcept {
  static const CoreLink own{STRAKE_VERSION, [] { g_in_flight.advance_own(); }, &g_in_flight.count_};
  return &own;
}

void InFlight::meet_interposer() {
  static const struct Meeting {
    Meeting() {
      const auto meet = reinterpret_cast<MeetFunction>(dlsym(RTLD_DEFAULT, kMeetFunction));
      const CoreLink* const found = meet != nullptr ? meet(g_in_flight.link()) : nullptr;
      if (found == nullptr) return;
      if (std::strcmp(found->version, STRAKE_VERSION) != 0)
        log::info("the interposer is Strake {}, this library {}", found->version, STRAKE_VERSION);
      found->in_flight->fetch_add(g_in_flight.count(), std::memory_order_relaxed);
      g_in_flight.met_.store(found, std::memory_order_release);
    }
    ~Meeting() {
      if (g_in_flight.met_.exchange(nullptr) == nullptr) return;
      const auto part = reinterpret_cast<PartFunction>(dlsym(RTLD_DEFAULT, kPartFunction));
      if (part != nullptr) part(g_in_flight.link());
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
  } meeting;
}

bool InFlight::add_core(const CoreLink* other) noexcept {
  return exchange_one<const CoreLink*>(cores_, nullptr, other);
}

void InFlight::drop_core(const CoreLink* other) noexcept {
  (void)exchange_one<const CoreLink*>(cores_, other, nullptr);
}

}  // namespace strake::exchange
