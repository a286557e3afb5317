#include "exchange/transport/shared/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "layout/encoding.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

// As many become free as are taken, so the memory in use stays what is in flight, and in a cache.
constexpr std::uint32_t kAtATime = 2;
/// Layouts that lie in the page at a time.
constexpr std::size_t kMostLayouts = 1024;
/// Longer than this part of the packed memory none may be.
constexpr std::int64_t kLongestLayout = 4;

}  // namespace

Outbox::Outbox(peers::Directory& directory)
    : parts_(directory.ranks()),
      memory_(directory.own()),
      nonce_(directory.identity().nonce),
      blocks_(memory_.bytes() - parts_.bytes),
      lengths_(directory.ranks()) {
  if (!memory_.populate(0, parts_.bytes)) throw OutOfMemory("no memory for slots of messages");
  new (memory_.data() + parts_.page) Page;
  free_slots_.reserve(kSlots);
  layouts_.reserve(kMostLayouts);
  layout_of_.reserve(kMostLayouts);
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

std::optional<std::int64_t> Outbox::take_block(std::int64_t bytes, bool populated) {
  auto offset = blocks_.take(bytes);
  if (!offset) {
    collect(kSlots);
    offset = blocks_.take(bytes);
  }
  while (!offset && drop_layout()) offset = blocks_.take(bytes);
  if (!offset) return std::nullopt;
  const std::int64_t at = parts_.bytes + *offset;
  if (!populated || memory_.populate(at, at + bytes)) return at;
  blocks_.give_back(*offset, bytes);
  return std::nullopt;
}

void Outbox::fill(Slot& slot, const Destination& to, std::int64_t bytes, std::int64_t at,
                  std::int64_t length) {
  slot.generation.store(slot.generation.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  // A reader that sees a word below, and then reads the generation, sees the one above.
  constexpr auto kRelease = std::memory_order_release;
  slot.to.store(to.rank, kRelease);
  slot.tag.store(to.tag, kRelease);
  slot.comm.store(to.comm, kRelease);
  slot.bytes.store(bytes, kRelease);
  slot.at.store(at, kRelease);
  slot.length.store(length, kRelease);
  slot.packed.store(0, kRelease);
  slot.offer.store(Offer::None, kRelease);
  slot.news.store(0, kRelease);
}

/// The length of the newest message there that has a slot and was not received yet; 0: none has.
std::int64_t Outbox::newest_length(const Destination& to) const noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const Slot* newest = nullptr;
  for (std::uint32_t i = 0; i < used_; ++i) {
    const Slot& slot = page().slots[used_slots_[(first_used_ + i) % kSlots]];
    const Destination there{slot.to.load(kRelaxed), slot.tag.load(kRelaxed),
                            slot.comm.load(kRelaxed)};
    if (there == to &&
        (newest == nullptr || slot.sequence.load(kRelaxed) > newest->sequence.load(kRelaxed)))
      newest = &slot;
  }
  return newest != nullptr ? newest->length.load(kRelaxed) : 0;
}

void Outbox::go_live(Slot& slot) noexcept {
  slot.sequence.store(++sequence_, std::memory_order_release);
  slot.state.store(State::Live, std::memory_order_release);
}

std::optional<Lease> Outbox::lease(const Destination& to, std::int64_t bytes, bool populated) {
  collect(kAtATime);
  const std::optional<std::int64_t> at = take_block(bytes, populated);
  std::uint32_t number = 0;
  if (!at) return std::nullopt;
  if (!take_slot(number)) {
    blocks_.give_back(*at - parts_.bytes, bytes);
    return std::nullopt;
  }
  Slot& slot = page().slots[number];
  held_[number] = {*at, bytes, false};
  if (!to_self_.empty()) to_self_[number] = {};
  const std::int64_t length = lengths_.next(to, [&] { return newest_length(to); });
  fill(slot, to, bytes, *at, length);
  std::byte* const place = memory_.data() + parts_.envelopes + number * kEnvelopePlace;
  Envelope envelope;
  envelope.nonce = nonce_;
  envelope.slot = number;
  envelope.generation = slot.generation;
  std::memcpy(place, &envelope, sizeof(envelope));
  return Lease(slot, place, length, memory_.data() + *at);
}

bool Outbox::prepare(const Lease& lease) {
  const Held& own = held_[number_of(*lease.slot_)];
  return memory_.populate(own.at, own.at + own.bytes);
}

bool Outbox::mark(const Destination& to, std::int64_t bytes) {
  std::uint32_t number = 0;
  collect(kAtATime);
  if (!take_slot(number)) return false;
  held_[number] = {-1, 0, true};
  fill(page().slots[number], to, bytes, -1, bytes);
  lengths_.avoid(to, bytes);
  go_live(page().slots[number]);
  marked_ = number;
  return true;
}

void Outbox::unmark() noexcept {
  page().slots[marked_].state.store(State::Done, std::memory_order_release);
}

bool Outbox::offer(const Lease& lease, const sharing::Arenas::Region& region,
                   const std::byte* address, const Layout& layout) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const std::optional<std::int64_t> number = publish(layout);
  if (!number) return false;
  Published& published = layouts_[static_cast<std::size_t>(*number)];
  ++published.users;
  Held& own = held_[number_of(*lease.slot_)];
  own.layout = *number;
  own.region = region.number;
  ++offered_[static_cast<std::size_t>(region.number)];
  Slot& slot = *lease.slot_;
  const Hash128 hash = layout.hash();
  slot.region.store(region.number, kRelaxed);
  slot.region_generation.store(region.generation, kRelaxed);
  slot.base.store(
      reinterpret_cast<std::intptr_t>(address) - reinterpret_cast<std::intptr_t>(region.data),
      kRelaxed);  // absolute addresses count from null
  slot.layout_at.store(published.at, kRelaxed);
  slot.layout_words.store(published.words, kRelaxed);
  slot.layout_lo.store(hash.lo, kRelaxed);
  slot.layout_hi.store(hash.hi, kRelaxed);
  slot.offer.store(Offer::Open, std::memory_order_release);
  return true;
}

void Outbox::keep(const Layout& layout) {
  if (const auto number = publish(layout)) ++layouts_[static_cast<std::size_t>(*number)].kept;
}

void Outbox::let_go(const Layout& layout) noexcept {
  const auto known = layout_of_.find(layout.hash().lo);
  if (known == layout_of_.end()) return;
  Published& published = layouts_[static_cast<std::size_t>(known->second)];
  if (published.layout == layout && published.kept > 0) --published.kept;
}

void Outbox::offer_to_self(const Lease& lease, const std::byte* address, const Layout& layout,
                           Place place) {
  to_self_.resize(kSlots);
  to_self_[number_of(*lease.slot_)] = {layout, address, place};
  lease.slot_->offer.store(Offer::Open, std::memory_order_release);
}

/// The number of a layout that is in the page, from now on at least; nothing: it finds no room.
std::optional<std::int64_t> Outbox::publish(const Layout& layout) {
  const std::uint64_t hash = layout.hash().lo;
  const auto known = layout_of_.find(hash);
  if (known != layout_of_.end()) {
    Published& published = layouts_[static_cast<std::size_t>(known->second)];
    if (published.layout != layout) return std::nullopt;  // as good as never
    published.last_use = sequence_;
    return known->second;
  }
  if (layout.metadata_bytes() > (memory_.bytes() - parts_.bytes) / kLongestLayout)
    return std::nullopt;
  const std::vector<std::int64_t> words = encode(layout);
  const auto bytes = static_cast<std::int64_t>(words.size() * sizeof(std::int64_t));
  const std::optional<std::int64_t> at = room_for_layout(bytes);
  if (!at) return std::nullopt;
  std::memcpy(memory_.data() + *at, words.data(), static_cast<std::size_t>(bytes));
  auto place = std::find_if(layouts_.begin(), layouts_.end(),
                            [](const Published& published) { return published.at < 0; });
  if (place == layouts_.end()) place = layouts_.emplace(place);  // there is room: kMostLayouts
  *place = {layout, *at, static_cast<std::int64_t>(words.size()), 0, 0, sequence_};
  return layout_of_[hash] = place - layouts_.begin();
}

std::optional<std::int64_t> Outbox::room_for_layout(std::int64_t bytes) {
  if (layout_of_.size() >= kMostLayouts && !drop_layout()) return std::nullopt;
  return take_block(bytes);
}

/// Takes the one out that was not used for longest. False: all are in use.
bool Outbox::drop_layout() {
  Published* oldest = nullptr;
  for (Published& published : layouts_) {
    if (published.at < 0 || published.users > 0 || published.kept > 0) continue;
    if (oldest == nullptr || published.last_use < oldest->last_use) oldest = &published;
  }
  if (oldest == nullptr) return false;
  layout_of_.erase(oldest->layout.hash().lo);
  const auto word = static_cast<std::int64_t>(sizeof(std::int64_t));
  blocks_.give_back(oldest->at - parts_.bytes, oldest->words * word);
  *oldest = {};
  return true;
}

void Outbox::release(const Lease& lease) noexcept {
  held_[number_of(*lease.slot_)].released = true;
}

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
    const Held& own = held_[number];
    if (!own.released || slot.state.load(std::memory_order_acquire) != State::Done) {
      used_slots_[(first_used_ + used_ - 1) % kSlots] = number;
      continue;
    }
    --used_;
    slot.state.store(State::Free, std::memory_order_relaxed);
    if (own.at >= 0) blocks_.give_back(own.at - parts_.bytes, own.bytes);
    if (own.layout >= 0) --layouts_[static_cast<std::size_t>(own.layout)].users;
    if (own.region >= 0) --offered_[static_cast<std::size_t>(own.region)];
    free_slots_.push_back(number);
  }
}

}  // namespace strake::exchange::shared
