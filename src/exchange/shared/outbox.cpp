#include "exchange/shared/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

// As many become free as are taken, so the memory in use stays what is in flight, and in a cache.
constexpr std::uint32_t kAtATime = 2;

}  // namespace

Outbox::Outbox(std::int32_t rank, std::int32_t ranks, std::uint64_t nonce, std::int64_t bytes)
    : parts_(ranks), memory_(sharing::SharedMemory::make(parts_.bytes + bytes)), blocks_(bytes) {
  if (!memory_.populate(0, parts_.bytes)) throw OutOfMemory("no memory for a page of messages");
  Page* const made = new (memory_.data()) Page;
  made->header.rank = rank;
  made->header.ranks = ranks;
  made->header.nonce = nonce;
  made->header.bytes = memory_.bytes();
  free_slots_.reserve(kSlots);
  for (std::uint32_t i = kSlots; i > 0; --i) free_slots_.push_back(i - 1);
}

bool Outbox::take_slot(std::uint32_t& number) {
  if (free_slots_.empty()) collect(kSlots);
  if (free_slots_.empty()) return false;
  number = free_slots_.back();
  free_slots_.pop_back();
  used_slots_[(first_used_ + used_++) % kSlots] = number;
  if (number >= page().slots_used.load(std::memory_order_relaxed))
    page().slots_used.store(number + 1, std::memory_order_release);
  return true;
}

std::optional<std::int64_t> Outbox::take_block(std::int64_t bytes) {
  auto offset = blocks_.take(bytes);
  if (!offset) {
    collect(kSlots);
    offset = blocks_.take(bytes);
  }
  if (!offset) return std::nullopt;
  const std::int64_t at = parts_.bytes + *offset;
  if (memory_.populate(at, at + bytes)) return at;
  blocks_.give_back(*offset, bytes);
  return std::nullopt;
}

void Outbox::fill(Slot& slot, const Destination& to, std::int64_t bytes, std::int64_t at) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  slot.generation.store(slot.generation.load(kRelaxed) + 1, kRelaxed);
  slot.to.store(to.rank, kRelaxed);
  slot.tag.store(to.tag, kRelaxed);
  slot.comm.store(to.comm, kRelaxed);
  slot.sequence.store(++sequence_, kRelaxed);
  slot.bytes.store(bytes, kRelaxed);
  slot.at.store(at, kRelaxed);
  slot.packed.store(0, kRelaxed);
  slot.state.store(State::Live, std::memory_order_release);
}

std::optional<Lease> Outbox::lease(const Destination& to, std::int64_t bytes) {
  collect(kAtATime);
  const std::optional<std::int64_t> at = take_block(bytes);
  std::uint32_t number = 0;
  if (!at) return std::nullopt;
  if (!take_slot(number)) {
    blocks_.give_back(*at - parts_.bytes, bytes);
    return std::nullopt;
  }
  Slot& slot = page().slots[number];
  own_[number] = {*at, bytes, false};
  fill(slot, to, bytes, *at);
  std::byte* const place = memory_.data() + parts_.envelopes + number * kEnvelopePlace;
  Envelope envelope;
  envelope.nonce = header().nonce;
  envelope.slot = number;
  envelope.generation = slot.generation;
  std::memcpy(place, &envelope, sizeof(envelope));
  return Lease(slot, place, memory_.data() + *at);
}

bool Outbox::mark(const Destination& to) {
  std::uint32_t number = 0;
  collect(kAtATime);
  if (!take_slot(number)) return false;
  own_[number] = {-1, 0, true};
  fill(page().slots[number], to, kEnvelopeBytes, -1);
  return true;
}

void Outbox::release(const Lease& lease) noexcept { own_[number_of(*lease.slot_)].released = true; }

void Outbox::withdraw(const Lease& lease) noexcept {
  lease.slot_->state.store(State::Done, std::memory_order_release);
  release(lease);
}

/// What the receivers are done with can be used again. Looks at that many, in turn.
void Outbox::collect(std::uint32_t most) {
  for (std::uint32_t looked = std::min(most, used_); looked > 0; --looked) {
    const std::uint32_t number = used_slots_[first_used_ % kSlots];
    first_used_ = (first_used_ + 1) % kSlots;
    Slot& slot = page().slots[number];
    const Own& own = own_[number];
    if (!own.released || slot.state.load(std::memory_order_acquire) != State::Done) {
      used_slots_[(first_used_ + used_ - 1) % kSlots] = number;
      continue;
    }
    --used_;
    slot.state.store(State::Free, std::memory_order_relaxed);
    if (own.at >= 0) blocks_.give_back(own.at - parts_.bytes, own.bytes);
    free_slots_.push_back(number);
  }
}

}  // namespace strake::exchange::shared
