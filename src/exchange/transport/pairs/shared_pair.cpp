#include "exchange/transport/pairs/shared_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "machine/transports.hpp"

namespace strake::exchange::planned {
namespace {

/// How long a rank that takes part no longer waits for a peer that reads its arrays, and may have
/// died.
constexpr std::chrono::seconds kReaderPatience{2};

/// How long a rank waits for the reader of so many bytes before it packs them.
std::chrono::nanoseconds patience_for(std::int64_t bytes) noexcept {
  constexpr std::int64_t kBytesPerNs = 4;
  return std::chrono::nanoseconds(5000 + bytes / kBytesPerNs);
}

}  // namespace

void SharedPair::pack_to_own(bool all) {
  const std::size_t which = out();
  schedule(which).pack(round().bases,
                       connections_.own_packed(number_, which) + packed_at(schedule(which)), all);
}

bool SharedPair::pack() {
  const std::size_t which = out();
  // The bytes of the round before the last may still lie where these go.
  if (their_counters(which).received.load(std::memory_order_acquire) < posted_[which][1])
    return false;
  const PairSchedule& sent = schedule(which);
  repacks_ = false;
  in_place_ = sent.bytes_in_place() > 0 && !packs_all_[which];
  for (const PairSchedule::Shown& shown : sent.shown())
    in_place_ = in_place_ && connections_.show(number_, shown.array,
                                               round().bases[static_cast<std::size_t>(shown.array)],
                                               shown.touched);
  connections_.populate(number_, which, packed_at(sent), sent.packed_bytes());
  pack_to_own(!in_place_);
  return true;
}

bool SharedPair::post() {
  const std::size_t which = out();
  const std::uint64_t number = round().number;
  SequenceCounters& end = own_counters(which);
  if (repacks_) {
    end.packed.store(number, std::memory_order_release);
    note(false);
    return true;
  }
  end.in_place[number % 2].store(in_place_ ? 1 : 0, std::memory_order_relaxed);
  if (in_place_) {
    end.offer.store(offer_of(number, OfferState::Open), std::memory_order_relaxed);
    patient_until_ = Clock::now() + patience_for(schedule(which).size_bytes());
  }
  end.posted.store(number, std::memory_order_release);
  posted_[which] = {number, posted_[which][0]};
  if (!in_place_) note(false);
  return !in_place_;
}

/// The peer that reads the arrays may be busy elsewhere, and even wait for this rank in another
/// way: after a while this rank packs them.
PairTransfer::Completion SharedPair::poll_sent() {
  const std::size_t which = out();
  const std::uint64_t number = round().number;
  if (their_counters(which).received.load(std::memory_order_acquire) >= number) {
    note(true);
    return Completion::Done;
  }
  auto& offer = own_counters(which).offer;
  std::uint64_t is = offer.load(std::memory_order_acquire);
  if (is == offer_of(number, OfferState::Open) && Clock::now() >= patient_until_ &&
      offer.compare_exchange_strong(is, offer_of(number, OfferState::Back),
                                    std::memory_order_acq_rel)) {
    is = offer_of(number, OfferState::Back);
  } else if (is == offer_of(number, OfferState::Back)) {
    packs_all_[which] = true;  // the reader's doing: it can't read them
  }
  if (is != offer_of(number, OfferState::Back)) return Completion::Pending;
  repacks_ = true;
  pack_to_own(true);
  return Completion::Repacks;
}

void SharedPair::note(bool in_place) noexcept {
  if (!round().reverse) went_ = in_place ? Went::InPlace : Went::Packed;
}

bool SharedPair::poll() {
  const std::size_t which = in();
  const std::uint64_t number = round().number;
  SequenceCounters& sender = their_counters(which);
  const auto& how_far = asked_ ? sender.packed : sender.posted;
  if (how_far.load(std::memory_order_acquire) < number) return false;
  find_ = nullptr;
  const bool in_place = sender.in_place[number % 2].load(std::memory_order_relaxed) != 0;
  // Arrays may be packed because there was no room to announce them.
  constexpr std::uint64_t kNowAndThen = 16;
  if (!in_place && number % kNowAndThen == 1) Connections::look();
  if (asked_ || !in_place) return true;
  std::uint64_t open = offer_of(number, OfferState::Open);
  if (!sender.offer.compare_exchange_strong(open, offer_of(number, OfferState::Claimed),
                                            std::memory_order_acq_rel)) {
    asked_ = true;  // the sender packs them
    return false;
  }
  find_ = [this](int array, ByteRange touched) {
    return schedule(in()).on_device() ? nullptr : connections_.find(number_, array, touched);
  };
  return true;
}

bool SharedPair::unpack() {
  const std::size_t which = in();
  const std::byte* const packed =
      connections_.their_packed(number_, 1 - which) + packed_at(schedule(which));
  if (schedule(which).unpack(round().bases, packed, find_, round().combine)) return true;
  their_counters(which).offer.store(offer_of(round().number, OfferState::Back),
                                    std::memory_order_release);
  asked_ = true;
  return false;
}

void SharedPair::unpacked() {
  asked_ = false;
  own_counters(in()).received.store(round().number, std::memory_order_release);
}

void SharedPair::cancel() noexcept {
  // A peer that has not begun to read the arrays gets no bytes of them: they may change now.
  if (!is_posted()) return;
  const std::uint64_t number = round().number;
  auto& offer = own_counters(out()).offer;
  std::uint64_t is = offer_of(number, OfferState::Open);
  if (offer.compare_exchange_strong(is, offer_of(number, OfferState::Back),
                                    std::memory_order_acq_rel) ||
      is != offer_of(number, OfferState::Claimed))
    return;
  // The program may free them when this rank has given up.
  const auto& received = their_counters(out()).received;
  const auto reads = [&] {
    return received.load(std::memory_order_acquire) < number &&
           offer.load(std::memory_order_acquire) == offer_of(number, OfferState::Claimed);
  };
  const Clock::time_point begin = Clock::now();
  for (Backoff backoff; reads(); backoff.pause())
    if (Clock::now() - begin > kReaderPatience) return;
}

std::int64_t SharedPair::bytes_in_place() const noexcept {
  const bool packs = packs_all_[kSends] || went_ == Went::Packed;
  return packs ? 0 : schedule(kSends).bytes_in_place();
}

Transport SharedPair::transport() const noexcept {
  return bytes_in_place() != 0 ? Transport::Direct : packed_;
}

std::string SharedPair::describe() const {
  const Transport packs = schedule(kSends).on_device() ? Transport::Staged : Transport::Shared;
  return fmt::format("{} bytes of what is sent are read in place{}, {} are {}", bytes_in_place(),
                     went_ == Went::Unknown ? ", if shared" : "",
                     schedule(kSends).size_bytes() - bytes_in_place(),
                     machine::facts_of(packs).describe);
}

}  // namespace strake::exchange::planned
