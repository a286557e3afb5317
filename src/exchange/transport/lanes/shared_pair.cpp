#include "exchange/transport/lanes/shared_pair.hpp"

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
  lane(which).pack(round().bases, connections_.own_packed(number_, which) + packed_at(lane(which)),
                   all);
}

bool SharedPair::pack() {
  const std::size_t which = out();
  // The bytes of the round before the last may still lie where these go.
  if (their_end(which).taken.load(std::memory_order_acquire) < given_[which][1]) return false;
  const Lane& given = lane(which);
  repacks_ = false;
  in_place_ = given.bytes_in_place() > 0 && !packs_all_[which];
  for (const Lane::Shown& shown : given.shown())
    in_place_ = in_place_ && connections_.show(number_, shown.array,
                                               round().bases[static_cast<std::size_t>(shown.array)],
                                               shown.touched);
  connections_.populate(number_, which, packed_at(given), given.packed_bytes());
  pack_to_own(!in_place_);
  return true;
}

bool SharedPair::post() {
  const std::size_t which = out();
  const std::uint64_t number = round().number;
  LaneEnd& end = own_end(which);
  if (repacks_) {
    end.packed.store(number, std::memory_order_release);
    note(false);
    return true;
  }
  end.in_place[number % 2].store(in_place_ ? 1 : 0, std::memory_order_relaxed);
  if (in_place_) {
    end.offer.store(offer_of(number, Offer::Open), std::memory_order_relaxed);
    patient_until_ = Clock::now() + patience_for(lane(which).size_bytes());
  }
  end.given.store(number, std::memory_order_release);
  given_[which] = {number, given_[which][0]};
  if (!in_place_) note(false);
  return !in_place_;
}

/// Who reads the arrays may be busy elsewhere, and even wait for this rank in another way: after a
/// while they are packed.
PairTransfer::Sent SharedPair::sent() {
  const std::size_t which = out();
  const std::uint64_t number = round().number;
  if (their_end(which).taken.load(std::memory_order_acquire) >= number) {
    note(true);
    return Sent::Yes;
  }
  auto& offer = own_end(which).offer;
  std::uint64_t is = offer.load(std::memory_order_acquire);
  if (is == offer_of(number, Offer::Open) && Clock::now() >= patient_until_ &&
      offer.compare_exchange_strong(is, offer_of(number, Offer::Back), std::memory_order_acq_rel)) {
    is = offer_of(number, Offer::Back);
  } else if (is == offer_of(number, Offer::Back)) {
    packs_all_[which] = true;  // the reader's doing: it can't read them
  }
  if (is != offer_of(number, Offer::Back)) return Sent::No;
  repacks_ = true;
  pack_to_own(true);
  return Sent::Repacks;
}

void SharedPair::note(bool in_place) noexcept {
  if (!round().reverse) went_ = in_place ? Went::InPlace : Went::Packed;
}

bool SharedPair::poll() {
  const std::size_t which = in();
  const std::uint64_t number = round().number;
  LaneEnd& giver = their_end(which);
  const auto& how_far = asked_ ? giver.packed : giver.given;
  if (how_far.load(std::memory_order_acquire) < number) return false;
  find_ = nullptr;
  const bool in_place = giver.in_place[number % 2].load(std::memory_order_relaxed) != 0;
  // Arrays may be packed because there was no room to announce them.
  constexpr std::uint64_t kNowAndThen = 16;
  if (!in_place && number % kNowAndThen == 1) Connections::look();
  if (asked_ || !in_place) return true;
  std::uint64_t open = offer_of(number, Offer::Open);
  if (!giver.offer.compare_exchange_strong(open, offer_of(number, Offer::Claimed),
                                           std::memory_order_acq_rel)) {
    asked_ = true;  // the giver packs them
    return false;
  }
  find_ = [this](int array, ByteRange touched) {
    return lane(in()).on_device() ? nullptr : connections_.find(number_, array, touched);
  };
  return true;
}

bool SharedPair::unpack() {
  const std::size_t which = in();
  const std::byte* const packed =
      connections_.their_packed(number_, 1 - which) + packed_at(lane(which));
  if (lane(which).take(round().bases, packed, find_, round().combine)) return true;
  their_end(which).offer.store(offer_of(round().number, Offer::Back), std::memory_order_release);
  asked_ = true;
  return false;
}

void SharedPair::taken() {
  asked_ = false;
  own_end(in()).taken.store(round().number, std::memory_order_release);
}

void SharedPair::cancel() noexcept {
  // A peer that has not begun to read the arrays gets no bytes of them: they may change now.
  if (!is_posted()) return;
  const std::uint64_t number = round().number;
  auto& offer = own_end(out()).offer;
  std::uint64_t is = offer_of(number, Offer::Open);
  if (offer.compare_exchange_strong(is, offer_of(number, Offer::Back), std::memory_order_acq_rel) ||
      is != offer_of(number, Offer::Claimed))
    return;
  // The program may free them when this rank has given up.
  const auto& taken = their_end(out()).taken;
  const auto reads = [&] {
    return taken.load(std::memory_order_acquire) < number &&
           offer.load(std::memory_order_acquire) == offer_of(number, Offer::Claimed);
  };
  const Clock::time_point begin = Clock::now();
  for (Backoff backoff; reads(); backoff.pause())
    if (Clock::now() - begin > kReaderPatience) return;
}

std::int64_t SharedPair::bytes_in_place() const noexcept {
  const bool packs = packs_all_[kSends] || went_ == Went::Packed;
  return packs ? 0 : lane(kSends).bytes_in_place();
}

Transport SharedPair::transport() const noexcept {
  return bytes_in_place() != 0 ? Transport::Direct : packed_;
}

std::string SharedPair::describe() const {
  return fmt::format("{} bytes of what is sent are read in place, if shared, {} are {}",
                     bytes_in_place(), lane(kSends).size_bytes() - bytes_in_place(),
                     machine::facts_of(packed_).describe);
}

}  // namespace strake::exchange::planned
