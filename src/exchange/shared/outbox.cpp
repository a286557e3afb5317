#include "exchange/shared/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace strake::exchange::shared {
namespace {

constexpr int kSmallestBlock = 12;       // a page of memory [log2 bytes]
constexpr std::int32_t kNone = -1;
constexpr std::size_t kFewSlots = 64;  // a probe looks at all that were ever used

}  // namespace

Outbox::Outbox(std::int32_t rank, std::uint64_t nonce, std::int64_t bytes)
    : memory_(sharing::SharedMemory::make(kBytesAt + bytes)),
      end_(kBytesAt),
      next_free_(static_cast<std::size_t>(bytes >> kSmallestBlock)) {
  first_free_.fill(kNone);
  Page* const made = new (memory_.data()) Page;
  made->header.rank = rank;
  made->header.nonce = nonce;
  made->header.bytes = memory_.bytes();
  free_slots_.reserve(kSlots);
  used_slots_.reserve(kSlots);
  for (std::uint32_t i = kSlots; i > 0; --i) free_slots_.push_back(i - 1);
}

bool Outbox::take_slot(std::uint32_t& number) {
  if (free_slots_.empty() || used_slots_.size() >= collect_at_) collect();
  if (free_slots_.empty()) return false;
  number = free_slots_.back();
  free_slots_.pop_back();
  if (number >= page().slots_used.load(std::memory_order_relaxed))
    page().slots_used.store(number + 1, std::memory_order_release);
  used_slots_.push_back(number);
  return true;
}

std::optional<std::int64_t> Outbox::take_block(int size_class) {
  std::int32_t& first = first_free_[static_cast<std::size_t>(size_class)];
  if (first == kNone) collect();
  if (first != kNone) {
    const std::int64_t at = kBytesAt + (std::int64_t{first} << kSmallestBlock);
    first = next_free_[static_cast<std::size_t>(first)];
    return at;
  }
  const std::int64_t bytes = class_bytes(size_class);
  if (memory_.bytes() - end_ < bytes || !memory_.populate(end_, end_ + bytes)) return std::nullopt;
  end_ += bytes;
  return end_ - bytes;
}

void Outbox::free_block(int size_class, std::int64_t at) noexcept {
  const auto number = static_cast<std::int32_t>((at - kBytesAt) >> kSmallestBlock);
  std::int32_t& first = first_free_[static_cast<std::size_t>(size_class)];
  next_free_[static_cast<std::size_t>(number)] = std::exchange(first, number);
}

void Outbox::fill(Slot& slot, const Destination& to, std::int64_t bytes, std::int64_t at) {
  ++slot.generation;
  slot.to = to.rank;
  slot.tag = to.tag;
  slot.comm = to.comm;
  slot.sequence = ++sequence_;
  slot.bytes = bytes;
  slot.at = at;
  slot.packed.store(0, std::memory_order_relaxed);
  slot.state.store(State::Live, std::memory_order_release);
}

std::optional<Lease> Outbox::lease(const Destination& to, std::int64_t bytes) {
  const int size_class = std::max(size_class_of(bytes), kSmallestBlock);
  const std::optional<std::int64_t> at = take_block(size_class);
  std::uint32_t number = 0;
  if (!at) return std::nullopt;
  if (!take_slot(number)) {
    free_block(size_class, *at);
    return std::nullopt;
  }
  Slot& slot = page().slots[number];
  own_[number] = {size_class, *at, false};
  fill(slot, to, bytes, *at);
  std::byte* const place = memory_.data() + kEnvelopesAt + number * kEnvelopePlace;
  Envelope envelope;
  envelope.nonce = header().nonce;
  envelope.slot = number;
  envelope.generation = slot.generation;
  std::memcpy(place, &envelope, sizeof(envelope));
  return Lease(slot, place, memory_.data() + *at);
}

bool Outbox::mark(const Destination& to) {
  std::uint32_t number = 0;
  if (!take_slot(number)) return false;
  own_[number] = {-1, -1, true};
  fill(page().slots[number], to, kEnvelopeBytes, -1);
  return true;
}

void Outbox::release(const Lease& lease) noexcept {
  own_[number_of(*lease.slot_)].released = true;
}

void Outbox::withdraw(const Lease& lease) noexcept {
  lease.slot_->state.store(State::Done, std::memory_order_release);
  release(lease);
}

/// What the receivers are done with can be used again.
void Outbox::collect() {
  std::erase_if(used_slots_, [&](std::uint32_t number) {
    Slot& slot = page().slots[number];
    const Own& own = own_[number];
    if (!own.released || slot.state.load(std::memory_order_acquire) != State::Done) return false;
    slot.state.store(State::Free, std::memory_order_relaxed);
    if (own.size_class >= 0) free_block(own.size_class, own.at);
    free_slots_.push_back(number);
    return true;
  });
  collect_at_ = std::max(kFewSlots, 2 * used_slots_.size());
}

}  // namespace strake::exchange::shared
