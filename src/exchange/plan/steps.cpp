// The steps of a planned exchange that has begun.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "exchange/peers/backoff.hpp"
#include "exchange/plan/impl.hpp"
#include "exchange/progress/in_flight.hpp"
#include "exchange/transport/launch_batcher.hpp"

namespace strake {

/// Whether the work is done that writes what is sent, and reads what is received.
bool Exchange::Impl::follows_its_work() {
  if (!std::ranges::all_of(after_, [](const Event& event) { return event.query(); })) return false;
  after_.clear();
  for (std::size_t i = 0; i < before_.size(); ++i) {
    if (before_[i] != 0 &&
        !exchange::LaunchBatcher::get().reached(places_.all[i].device, before_[i]))
      return false;
    before_[i] = 0;
  }
  return true;
}

/// advance(), until none of this rank's own copies for others goes on: it may make no call for
/// long.
bool Exchange::Impl::advance_while_copying(What what) {
  bool all = advance(what);
  const auto copies = [](const Opened& opened) { return opened.transfer->is_copying(); };
  for (exchange::Backoff backoff; !all && std::ranges::any_of(transfers_, copies); backoff.pause())
    all = advance(What::Send);
  return all;
}

/// One look at all that goes on. Waits for nothing. True: all is done.
bool Exchange::Impl::advance(What what) {
  const struct Stepping {
    explicit Stepping(bool& set) : is(set) { is = true; }
    ~Stepping() { is = false; }
    Stepping(const Stepping&) = delete;
    Stepping& operator=(const Stepping&) = delete;
    bool& is;
  } stepping(is_stepping_);
  // A start takes nothing: ghost cells that are read too early are found so (STRAKE_CHECK).
  if (putting_ && what != What::Send) look_at_puts(what);
  bool all = !putting_;
  if (all_by_put()) return all;
  if (!follows_its_work()) {
    (void)look_around();
    return false;
  }
  for (const Opened& opened : transfers_) opened.sends_here->send();
  if (own_due_) {
    own_due_ = false;
    own_.run(bases_, round_.reverse, combine_);
  }
  bool earlier = true;
  for (const Opened& opened : transfers_) {
    // Values are combined in the order of the peers, so that the result is always the same.
    if (what != What::Send && (earlier || !round_.reverse)) opened.transfer->receive();
    earlier = earlier && opened.transfer->has_received();
  }
  exchange::LaunchBatcher::get().launch();
  for (const auto& [peer, transfer, sends_here] : transfers_) {
    transfer->look();
    all = all && transfer->has_sent() && transfer->has_received();
    // A rank that has all that it needs from a peer does not ask whether that peer has left.
    if (transfer->is_waiting()) serve(*peer);
  }
  return all;
}

void Exchange::Impl::look_at_puts(What what) {
  putting_ = !puts_->test(what == What::Wait);
  if (!putting_) return;
  if (const auto late = puts_->late()) return serve(peers_[*late]);
  // Before this rank's own bytes are put any may be what holds it up.
  const bool due = look_around();
  for (const Peer& peer : peers_) {
    if (!peer.by_put) continue;
    if (due) require_alive(peer);
    require_coming(peer);
  }
}

/// In each turn of a wait: lets others go on that wait for this rank.
/// \returns ten times a second: whether to see if processes are alive, which takes system calls
bool Exchange::Impl::look_around() {
  constexpr unsigned kRarely = 64;
  constexpr unsigned kTurnsPerClock = 8;
  constexpr std::chrono::milliseconds kAgain{100};
  ++turns_;
  bool due = false;
  if (turns_ % kTurnsPerClock == 0) {
    const Clock::time_point now = Clock::now();
    due = now - looked_ >= kAgain;
    if (due) looked_ = now;
  }
  if (turns_ % kRarely != 0 && !due) return false;
  Connections::look();
  Farewells::look(*group_);
  exchange::g_in_flight.advance_others();  // test() advances this core
  return due;
}

/// In each turn of a wait for `peer`.
void Exchange::Impl::serve(const Peer& peer) {
  if (look_around()) {
    require_alive(peer);
  } else {
    require_coming(peer);
  }
}

}  // namespace strake
