// The steps of a planned exchange that has begun.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "exchange/peers/backoff.hpp"
#include "exchange/plan/impl.hpp"
#include "exchange/transport/together.hpp"

namespace strake {

/// Whether the work is done that writes what is sent, and reads what is received.
bool Exchange::Impl::follows_its_work() {
  if (!std::ranges::all_of(after_, [](const Event& event) { return event.query(); })) return false;
  after_.clear();
  for (std::size_t i = 0; i < before_.size(); ++i) {
    if (before_[i] != 0 && !exchange::Together::get().reached(places_.all[i].device, before_[i]))
      return false;
    before_[i] = 0;
  }
  return true;
}

/// The same, until none of this rank's own copies for others goes on: it may make no call for long.
bool Exchange::Impl::advance_while_copying(What what) {
  bool all = advance(what);
  const auto copies = [](const Peer& peer) {
    return peer.giving == Giving::Packing || peer.giving == Giving::Repacking ||
           peer.taking == Taking::Copying;
  };
  for (exchange::Backoff backoff; !all && std::ranges::any_of(peers_, copies); backoff.pause())
    all = advance(What::Give);
  return all;
}

/// One look at all that goes on. Waits for nothing. True: all is done.
bool Exchange::Impl::advance(What what) {
  // A start takes nothing: ghost cells that are read too early are found so (STRAKE_CHECK).
  if (mailing_ && what != What::Give) look_at_mail(what);
  bool all = !mailing_;
  if (all_by_mail()) return all;
  if (!follows_its_work()) return false;
  // Far messages take longest; then what others wait for.
  for (const bool near : {false, true})
    for (Peer& peer : peers_)
      if (peer.near == near && peer.giving == Giving::Due) give(peer);
  if (own_due_) {
    own_due_ = false;
    own_.run(bases_, reverse_, combine_);
  }
  bool earlier = true;
  for (Peer& peer : peers_) {
    // Values are combined in the order of the peers, so that the result is always the same.
    if (what != What::Give && (peer.taking == Taking::Due || peer.taking == Taking::Asked) &&
        (earlier || !reverse_))
      take(peer);
    earlier = earlier && peer.taking == Taking::No;
  }
  exchange::Together::get().launch();
  for (Peer& peer : peers_) {
    if ((peer.giving == Giving::Packing || peer.giving == Giving::Repacking) &&
        peer.lanes[giving()].idle())
      end_of_packing(peer);
    if (peer.giving == Giving::Offered) watch_reader(peer);
    if (peer.taking == Taking::Copying && peer.lanes[taking()].idle()) end_of_taking(peer);
    all = all && peer.giving == Giving::No && peer.taking == Taking::No;
    if (peer.far && !peer.far->sent()) {
      serve(peer);
      all = false;
    }
  }
  return all;
}

void Exchange::Impl::look_at_mail(What what) {
  mailing_ = !mail_->test(what == What::Wait);
  if (!mailing_) return;
  if (const auto late = mail_->late()) return serve(peers_[*late]);
  // Before this rank's own bytes are put any may be what holds it up.
  const bool due = look_around();
  for (const Peer& peer : peers_) {
    if (!peer.mailed) continue;
    if (due) require_alive(peer);
    require_coming(peer);
  }
}

void Exchange::Impl::give(Peer& peer) {
  Lane& lane = peer.lanes[giving()];
  if (peer.near) {
    if (!give_near(peer)) return;
  } else {
    peer.in_place = false;
    lane.pack(bases_, peer.far->room(lane.packed_bytes()), true);
  }
  peer.giving = Giving::Packing;
  if (lane.idle()) end_of_packing(peer);
}

/// False: the bytes of the exchange before the last lie still where these go.
bool Exchange::Impl::give_near(Peer& peer) {
  const std::size_t which = giving();
  Lane& lane = peer.lanes[which];
  const std::uint64_t before = peer.given[which][1];
  if (other_end_of(peer, which).taken.load(std::memory_order_acquire) < before) {
    serve(peer);
    return false;
  }
  peer.in_place = lane.bytes_in_place() > 0 && !peer.packs_all[which];
  for (const Lane::Shown& shown : lane.shown())
    peer.in_place =
        peer.in_place &&
        connections_->show(number_of(peer), shown.array,
                           bases_[static_cast<std::size_t>(shown.array)], shown.touched);
  const std::int64_t at = packed_at(lane);
  connections_->populate(number_of(peer), which, at, lane.packed_bytes());
  lane.pack(bases_, connections_->own_packed(number_of(peer), which) + at, !peer.in_place);
  return true;
}

void Exchange::Impl::end_of_packing(Peer& peer) {
  const std::size_t which = giving();
  if (!peer.near) {
    peer.giving = Giving::No;
    return peer.far->send();
  }
  LaneEnd& end = end_of(peer, which);
  if (peer.giving == Giving::Repacking) {
    end.packed.store(number_, std::memory_order_release);
    return end_of_giving(peer, false);
  }
  end.in_place[number_ % 2].store(peer.in_place ? 1 : 0, std::memory_order_relaxed);
  if (peer.in_place) {
    end.offer.store(offer_of(number_, Offer::Open), std::memory_order_relaxed);
    peer.patient_until = Clock::now() + patience_for(peer.lanes[which].size_bytes());
  }
  end.given.store(number_, std::memory_order_release);
  peer.given[which] = {number_, peer.given[which][0]};
  if (!peer.in_place) return end_of_giving(peer, false);
  peer.giving = Giving::Offered;
}

void Exchange::Impl::end_of_giving(Peer& peer, bool in_place) noexcept {
  peer.giving = Giving::No;
  if (!reverse_) peer.went = in_place ? Peer::Went::InPlace : Peer::Went::Packed;
}

/// Of bytes that are to be read in place. Who reads them may be busy elsewhere, and even wait for
/// this rank in another way: after a while they are packed.
void Exchange::Impl::watch_reader(Peer& peer) {
  const std::size_t which = giving();
  if (other_end_of(peer, which).taken.load(std::memory_order_acquire) >= number_)
    return end_of_giving(peer, true);
  auto& offer = end_of(peer, which).offer;
  Lane& lane = peer.lanes[which];
  std::uint64_t is = offer.load(std::memory_order_acquire);
  if (is == offer_of(number_, Offer::Open) && Clock::now() >= peer.patient_until &&
      offer.compare_exchange_strong(is, offer_of(number_, Offer::Back),
                                    std::memory_order_acq_rel)) {
    is = offer_of(number_, Offer::Back);
  } else if (is == offer_of(number_, Offer::Back)) {
    peer.packs_all[which] = true;  // the reader's doing: it can't read them
  }
  if (is != offer_of(number_, Offer::Back)) return serve(peer);
  lane.pack(bases_, connections_->own_packed(number_of(peer), which) + packed_at(lane), true);
  peer.giving = Giving::Repacking;
  if (lane.idle()) end_of_packing(peer);  // this rank may not call again soon
}

/// Begins it, if the bytes are there.
void Exchange::Impl::take(Peer& peer) {
  if (peer.near) return take_near(peer);
  const std::byte* const packed = peer.far->received();
  if (packed == nullptr) return serve(peer);
  (void)peer.lanes[taking()].take(bases_, packed, {}, combining());
  peer.taking = Taking::Copying;
  if (peer.lanes[taking()].idle()) end_of_taking(peer);
}

void Exchange::Impl::take_near(Peer& peer) {
  const std::size_t which = taking();
  Lane& lane = peer.lanes[which];
  LaneEnd& giver = other_end_of(peer, which);
  const auto& how_far = peer.taking == Taking::Asked ? giver.packed : giver.given;
  if (how_far.load(std::memory_order_acquire) < number_) return serve(peer);
  Lane::Find find;
  const bool in_place = giver.in_place[number_ % 2].load(std::memory_order_relaxed) != 0;
  // Perhaps it is not, since there was no room to tell of its arrays.
  constexpr std::uint64_t kNowAndThen = 16;
  if (!in_place && number_ % kNowAndThen == 1) Connections::look();
  if (peer.taking == Taking::Due && in_place) {
    std::uint64_t open = offer_of(number_, Offer::Open);
    if (!giver.offer.compare_exchange_strong(open, offer_of(number_, Offer::Claimed),
                                             std::memory_order_acq_rel)) {
      peer.taking = Taking::Asked;  // the giver packs them
      return;
    }
    find = [&](int array, ByteRange touched) {
      return is_device(peer.place) ? nullptr : connections_->find(number_of(peer), array, touched);
    };
  }
  const std::byte* const packed =
      connections_->their_packed(number_of(peer), 1 - which) + packed_at(lane);
  if (lane.take(bases_, packed, find, combining())) {
    peer.taking = Taking::Copying;
    if (lane.idle()) end_of_taking(peer);
  } else {
    giver.offer.store(offer_of(number_, Offer::Back), std::memory_order_release);
    peer.taking = Taking::Asked;
  }
}

void Exchange::Impl::end_of_taking(Peer& peer) {
  peer.taking = Taking::No;
  if (peer.near) end_of(peer, taking()).taken.store(number_, std::memory_order_release);
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
