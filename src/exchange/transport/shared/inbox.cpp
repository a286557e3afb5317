#include "exchange/transport/shared/inbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>

#include "copy/plan_impl.hpp"
#include "exchange/peers/backoff.hpp"
#include "memory/per_thread.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;

/// Changes a state that nobody has changed since.
void change(Slot& slot, State from, State to) noexcept {
  slot.state.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

}  // namespace

bool Delivery::copy_to(const Layout& layout, std::byte* address) const {
  if (!direct() || from_device() || layout.size_bytes() != bytes_) return false;
  source_->layout->plan_to(layout)->run(address, source_->base);
  return true;
}

std::optional<Pull> Delivery::pull_to(const Layout& layout, Place place) const {
  if (!from_device() || place != source_->place || layout.size_bytes() != bytes_)
    return std::nullopt;
  return Pull{source_->layout->device_copy_to(layout, place), source_->base};
}

Delivery::Piece Delivery::next_piece(std::int64_t begin, std::int64_t bytes) const {
  if (!direct()) {
    const std::int64_t packed = wait_until(begin + 1);
    return {std::min(packed, bytes), data_};
  }
  auto& bounce = PerThread<std::array<std::byte, kPiece>>::get();
  const std::int64_t end = std::min(begin + kPiece, bytes);
  std::byte* const packed = bounce.data() - begin;
  source_->layout->packing().run(packed, source_->base, {begin, end});
  return {end, packed};
}

std::int64_t Delivery::wait_until(std::int64_t end) const {
  std::int64_t packed = slot_->packed.load(kAcquire);
  Backoff backoff;
  for (std::uint32_t turns = 1; packed < end; packed = slot_->packed.load(kAcquire), ++turns) {
    if (packed < 0) throw Error("the sender of a message by shared memory could not pack it");
    // System calls: not at each turn.
    if (turns % 4096 == 0 && inbox_->is_gone(from_) && slot_->packed.load(kAcquire) < end)
      throw Error("the sender of a message by shared memory has died");
    backoff.pause();
  }
  return packed;
}

Inbox::Inbox(peers::Directory& directory, std::size_t layouts)
    : directory_(directory),
      self_(directory.rank()),
      parts_(directory.ranks()),
      layouts_(layouts) {}

Page* Inbox::page_of(std::int32_t from) const noexcept {
  if (from < 0 || from >= directory_.ranks()) return nullptr;
  std::byte* const segment = directory_.segment_of(from).data();
  return segment == nullptr ? nullptr : reinterpret_cast<Page*>(segment + parts_.page);
}

/// The slot that an envelope names, if it is one.
Slot* Inbox::slot_of(const std::byte* landed, std::int32_t from) {
  Page* const page = page_of(from);
  if (page == nullptr) return nullptr;
  Envelope envelope;
  std::memcpy(&envelope, landed, sizeof(envelope));
  const auto* const owner =
      reinterpret_cast<const peers::Identity*>(directory_.segment_of(from).data());
  if (envelope.nonce != owner->nonce || envelope.slot >= kSlots) return nullptr;
  Slot& slot = page->slots[envelope.slot];
  const State state = slot.state.load(kAcquire);
  if (state != State::Live && state != State::Seen) return nullptr;
  return slot.generation.load(kRelaxed) == envelope.generation && slot.to.load(kRelaxed) == self_
             ? &slot
             : nullptr;
}

Source Inbox::source_of(const Slot& slot, std::int32_t from) {
  const std::int32_t number = slot.region.load(kRelaxed);
  const std::uint32_t generation = slot.region_generation.load(kRelaxed);
  const auto region = directory_.find(from, number, generation);
  if (!region) throw InvalidArgument(fmt::format("region {}.{} is not known", number, generation));
  const std::int64_t at = slot.layout_at.load(kRelaxed);
  const std::int64_t words = slot.layout_words.load(kRelaxed);
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::int64_t));
  const sharing::SharedMemory& segment = directory_.segment_of(from);
  const std::int64_t room = segment.bytes();
  if (at < parts_.bytes || at % kWord != 0 || at > room || words < 1 || words > (room - at) / kWord)
    throw InvalidArgument("its layout is not in the page");
  const auto* const first = reinterpret_cast<const std::int64_t*>(segment.data() + at);
  const Hash128 hash = {slot.layout_lo.load(kRelaxed), slot.layout_hi.load(kRelaxed)};
  Source source{
      layouts_.find(hash, std::span(first, static_cast<std::size_t>(words))), nullptr, {}};
  const std::int64_t base = slot.base.load(kRelaxed);
  const Layout& layout = source.layout->layout();
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (__builtin_add_overflow(base, layout.bounds().begin, &begin) ||
      __builtin_add_overflow(base, layout.bounds().end, &end) || begin < 0 || end > region->bytes)
    throw InvalidArgument(fmt::format("a layout of {} bytes at {} is not in an allocation of {}",
                                      layout.size_bytes(), base, region->bytes));
  source.base =
      reinterpret_cast<const std::byte*>(reinterpret_cast<std::intptr_t>(region->data) + base);
  source.place = region->place;
  return source;
}

/// Other ranks can write to the page, so what they might have written is not asked for an address.
Source Inbox::own_source(const Slot& slot) {
  const auto number = static_cast<std::size_t>(&slot - page_of(self_)->slots.data());
  const Outbox::Own& own = own_->own(number);
  return {layouts_.find(own.layout), own.address, own.place};
}

/// Where the message lies, if its sender offers that. What it offers this rank has told it that it
/// can read: so if it can't, the message is lost, as the sender would wait for it.
std::optional<Source> Inbox::claim(Slot& slot, std::int32_t from, std::int64_t bytes) {
  Offer found = Offer::Open;
  if (!slot.offer.compare_exchange_strong(found, Offer::Claimed, std::memory_order_acq_rel)) {
    if (found != Offer::Claimed) return std::nullopt;
    slot.state.store(State::Done, std::memory_order_release);
    throw Error(fmt::format("an offer of rank {} is claimed, but not by its receiver", from));
  }
  try {
    Source source = from == self_ ? own_source(slot) : source_of(slot, from);
    if (source.layout->layout().size_bytes() != bytes)
      throw InvalidArgument(fmt::format("a layout of {} bytes for a message of {}",
                                        source.layout->layout().size_bytes(), bytes));
    return source;
  } catch (const std::exception& error) {
    slot.state.store(State::Done, std::memory_order_release);
    throw Error(
        fmt::format("a message of rank {} can't be read where it lies: {}", from, error.what()));
  }
}

std::optional<Delivery> Inbox::open(const std::byte* landed, std::int32_t from) {
  Slot* const slot = slot_of(landed, from);
  if (slot == nullptr) return std::nullopt;
  if (slot->news.load(kAcquire) != 0) directory_.take_announcements();
  sharing::SharedMemory& segment = directory_.segment_of(from);
  const std::int64_t at = slot->at.load(kRelaxed);
  const std::int64_t bytes = slot->bytes.load(kRelaxed);
  const std::int64_t room = segment.bytes();
  if (at < parts_.bytes || bytes <= kLongestEnvelope || at > room || bytes > room - at)
    throw Error("a message by shared memory names bytes that are not there");
  change(*slot, State::Live, State::Seen);  // it is no longer what a probe finds
  note_matched(*slot, from);
  std::optional<Source> source = claim(*slot, from, bytes);
  if (!suspects_.empty()) overtake(*slot, from);
  if (!source) (void)segment.populate(at, at + bytes);
  return Delivery(*slot, segment.data() + at, bytes, *this, from, std::move(source));
}

void Inbox::see(const std::byte* landed, std::int32_t from) {
  Slot* const slot = slot_of(landed, from);
  if (slot == nullptr) return;
  change(*slot, State::Live, State::Seen);
  note_matched(*slot, from);
}

template <typename Wanted, typename Visit>
void Inbox::for_each_slot(const Destination& from, State state, const Wanted& wanted,
                          const Visit& visit) const {
  Page* const page = page_of(from.rank);
  if (page == nullptr) return;
  const std::uint32_t used = page->slots_used.load(kAcquire);
  for (std::uint32_t i = 0; i < kSlots && i < used; ++i) {
    Slot& slot = page->slots[i];
    // A slot of another rank may become another message meanwhile, one of this rank, too: what was
    // read is of one message if state and generation are the same after it.
    const std::uint32_t generation = slot.generation.load(kAcquire);
    if (slot.state.load(kAcquire) != state) continue;
    const std::uint64_t sequence = slot.sequence.load(kAcquire);
    const bool mine = slot.to.load(kAcquire) == self_ && slot.tag.load(kAcquire) == from.tag &&
                      slot.comm.load(kAcquire) == from.comm && wanted(slot);
    if (mine && slot.state.load(kAcquire) == state && slot.generation.load(kAcquire) == generation)
      visit(slot, sequence);
  }
}

template <typename Wanted>
Slot* Inbox::oldest_slot(const Destination& from, State state, const Wanted& wanted) const {
  Slot* oldest = nullptr;
  std::uint64_t least = 0;
  for_each_slot(from, state, wanted, [&](Slot& slot, std::uint64_t sequence) {
    if (oldest != nullptr && sequence > least) return;
    oldest = &slot;
    least = sequence;
  });
  return oldest;
}

void Inbox::drop_mark(const Destination& from, std::int64_t length, bool matched) {
  const State state = matched ? State::Seen : State::Live;
  const auto is_mark = [length](const Slot& slot) {
    return slot.at.load(kAcquire) < 0 && slot.length.load(kAcquire) == length;
  };
  const auto is_likely = [&](const Slot& slot) { return is_mark(slot) && !is_suspect(slot); };
  Slot* mark = oldest_slot(from, state, is_likely);
  if (mark == nullptr) mark = oldest_slot(from, state, is_mark);
  if (mark != nullptr) change(*mark, state, State::Done);
}

/// The slot of the message that a probe has found. Mostly it is the oldest one that is no suspect.
/// But a suspect may still come, and what receives with little room have got nobody has looked at.
/// Then the length tells, since envelopes that follow each other differ in length.
Slot* Inbox::next_slot(const Destination& from, std::int64_t length) const {
  const auto may_come = [this](const Slot& slot) {
    const Suspect* const suspect = find_suspect(slot);
    return suspect == nullptr || !suspect->overtaken;
  };
  const auto is_likely = [this](const Slot& slot) { return !is_suspect(slot); };
  Slot* const likely = oldest_slot(from, State::Live, is_likely);
  if (likely != nullptr && likely->length.load(kAcquire) == length) return likely;
  std::vector<std::pair<std::uint64_t, Slot*>> all;
  for_each_slot(from, State::Live, may_come,
                [&](Slot& slot, std::uint64_t sequence) { all.emplace_back(sequence, &slot); });
  std::ranges::sort(all);
  const auto expected =
      std::ranges::find(all, likely, &std::pair<std::uint64_t, Slot*>::second) - all.begin();
  Slot* nearest = nullptr;
  std::ptrdiff_t least = std::ssize(all) + 1;
  for (std::ptrdiff_t i = 0; i < std::ssize(all); ++i) {
    Slot* const slot = all[static_cast<std::size_t>(i)].second;
    const std::ptrdiff_t distance = std::abs(i - expected);
    if (slot->length.load(kAcquire) != length || distance >= least) continue;
    nearest = slot;
    least = distance;
  }
  return nearest;
}

std::int64_t Inbox::bytes_of_next(const Destination& from, std::int64_t length, bool matched) {
  suspect_overtaken(from);
  Slot* const next = next_slot(from, length);
  if (next == nullptr) return length;
  std::erase_if(suspects_, [next](const Suspect& suspect) { return suspect.slot == next; });
  // The slot is no proof for others (note_matched): another one may have that length as well.
  if (matched) change(*next, State::Live, State::Seen);
  return next->bytes.load(kRelaxed);
}

const Inbox::Suspect* Inbox::find_suspect(const Slot& slot) const noexcept {
  const auto found = std::ranges::find_if(
      suspects_, [&](const Suspect& suspect) { return suspect.slot == &slot && is_live(suspect); });
  return found != suspects_.end() ? &*found : nullptr;
}

bool Inbox::suspect(const Destination& from, std::int64_t length) {
  const auto is_likely = [&](const Slot& slot) {
    return !is_suspect(slot) && (length == 0 || slot.length.load(kAcquire) == length);
  };
  Slot* const slot = oldest_slot(from, State::Live, is_likely);
  if (slot == nullptr) return false;
  suspects_.push_back({from.rank, slot, slot->generation.load(kRelaxed)});
  return true;
}

/// A receive has got the message of a slot: that is certain, as its envelope has come.
void Inbox::note_matched(const Slot& slot, std::int32_t from) noexcept {
  const Destination of{from, slot.tag.load(kRelaxed), slot.comm.load(kRelaxed)};
  const std::uint64_t sequence = slot.sequence.load(kRelaxed);
  const std::uint64_t* const last = matched_.find(of);
  if (last == nullptr || *last < sequence) matched_.set(of, sequence);
}

/// Receives that nobody has looked at, as their requests were freed, have got the messages before
/// the last one from there that was matched.
void Inbox::suspect_overtaken(const Destination& from) {
  const std::uint64_t* const last = matched_.find(from);
  if (last == nullptr) return;
  const auto any = [](const Slot&) { return true; };
  for_each_slot(from, State::Live, any, [&](Slot& slot, std::uint64_t sequence) {
    if (sequence >= *last) return;
    std::erase_if(suspects_, [&slot](const Suspect& suspect) { return suspect.slot == &slot; });
    suspects_.push_back({from.rank, &slot, slot.generation.load(kRelaxed), true});
    g_unsettled.store(true, std::memory_order_relaxed);
  });
}

/// The message of `by` was matched, and so was each message that was sent before it with the same
/// tag and communicator.
void Inbox::overtake(const Slot& by, std::int32_t from) noexcept {
  for (Suspect& suspect : suspects_) {
    const Slot& slot = *suspect.slot;
    if (suspect.from != from || slot.tag.load(kRelaxed) != by.tag.load(kRelaxed) ||
        slot.comm.load(kRelaxed) != by.comm.load(kRelaxed) ||
        slot.sequence.load(kRelaxed) >= by.sequence.load(kRelaxed))
      continue;
    suspect.overtaken = true;
    g_unsettled.store(true, std::memory_order_relaxed);
  }
}

template <typename Visit>
void Inbox::for_each_live(const Visit& visit) const {
  for (std::int32_t from = 0; from < directory_.ranks(); ++from) {
    const Page* const page = page_of(from);
    if (page == nullptr) continue;
    const std::uint32_t used = page->slots_used.load(kAcquire);
    for (std::uint32_t i = 0; i < kSlots && i < used; ++i) {
      const Slot& slot = page->slots[i];
      if (slot.state.load(kAcquire) == State::Live && slot.to.load(kRelaxed) == self_)
        visit(from, slot);
    }
  }
}

std::vector<Inbox::Sender> Inbox::senders(std::int32_t tag) const {
  std::vector<Sender> found;
  for_each_live([&](std::int32_t from, const Slot& slot) {
    const Sender sender{from, slot.comm.load(kRelaxed)};
    if (slot.tag.load(kRelaxed) == tag && std::ranges::find(found, sender) == found.end())
      found.push_back(sender);
  });
  return found;
}

bool Inbox::has_live() const {
  bool found = false;
  for_each_live([&](std::int32_t, const Slot&) { found = true; });
  return found;
}

}  // namespace strake::exchange::shared
