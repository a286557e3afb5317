#include "exchange/shared/inbox.hpp"

#include <cstring>

#include "exchange/backoff.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {

std::int64_t Delivery::wait_until(std::int64_t end) const noexcept {
  std::int64_t packed = slot_->packed.load(std::memory_order_acquire);
  for (Backoff backoff; packed < end; packed = slot_->packed.load(std::memory_order_acquire))
    backoff.pause();
  return packed;
}

Inbox::Inbox(const sharing::DescriptorSocket& socket, std::uint64_t job, std::int32_t self,
             std::int32_t ranks)
    : socket_(socket), job_(job), self_(self), neighbours_(static_cast<std::size_t>(ranks)) {}

void Inbox::take_introductions() {
  while (const auto received = socket_.receive()) {
    Introduction made;
    if (received->message.size() != sizeof(made)) {
      log::warn("an introduction of {} bytes, where {} were expected, is refused",
                received->message.size(), sizeof(made));
      continue;
    }
    std::memcpy(&made, received->message.data(), sizeof(made));
    const Header& told = made.header;
    if (told.magic != kMagic || told.version != kVersion || made.job != job_ || told.rank < 0 ||
        told.rank >= static_cast<std::int32_t>(neighbours_.size()) || told.bytes < kBytesAt) {
      log::warn("the page of rank {} (version {}, {} bytes) is refused: version {} of this job was "
                "expected",
                told.rank, told.version, told.bytes, kVersion);
      continue;
    }
    Neighbour& neighbour = neighbours_[static_cast<std::size_t>(told.rank)];
    if (neighbour.memory.data() != nullptr) continue;
    try {
      neighbour.memory = sharing::SharedMemory::map(received->descriptor.get(), told.bytes);
      (void)neighbour.memory.populate(0, sizeof(Page));
      neighbour.populated = kBytesAt;
    } catch (const Error& error) {
      log::warn("the page of rank {} can't be used: {}", told.rank, error.what());
    }
  }
}

Page* Inbox::page_of(std::int32_t from) {
  if (from < 0 || from >= static_cast<std::int32_t>(neighbours_.size())) return nullptr;
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(from)];
  // A page is introduced before its first envelope leaves.
  if (neighbour.memory.data() == nullptr) take_introductions();
  return reinterpret_cast<Page*>(neighbour.memory.data());
}

/// The slot that an envelope names, if it is one.
Slot* Inbox::slot_of(const std::byte* landed, std::int32_t from) {
  Page* const page = page_of(from);
  if (page == nullptr) return nullptr;
  Envelope envelope;
  std::memcpy(&envelope, landed, sizeof(envelope));
  if (envelope.nonce != page->header.nonce || envelope.slot >= kSlots) return nullptr;
  Slot& slot = page->slots[envelope.slot];
  const State state = slot.state.load(std::memory_order_acquire);
  if (state != State::Live && state != State::Seen) return nullptr;
  return slot.generation == envelope.generation && slot.to == self_ ? &slot : nullptr;
}

std::optional<Delivery> Inbox::open(const std::byte* landed, std::int32_t from) {
  Slot* const slot = slot_of(landed, from);
  if (slot == nullptr) return std::nullopt;
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(from)];
  const std::int64_t at = slot->at;
  const std::int64_t bytes = slot->bytes;
  const std::int64_t room = neighbour.memory.bytes();
  if (at < kBytesAt || bytes <= kEnvelopeBytes || at > room || bytes > room - at) {
    throw Error("a message by shared memory names bytes that are not there");
  }
  if (neighbour.populated < at + bytes) {
    (void)neighbour.memory.populate(neighbour.populated, at + bytes);
    neighbour.populated = at + bytes;
  }
  return Delivery(*slot, neighbour.memory.data() + at, bytes);
}

void Inbox::see(const std::byte* landed, std::int32_t from) {
  if (Slot* const slot = slot_of(landed, from))
    slot->state.store(State::Seen, std::memory_order_release);
}

template <typename Wanted>
Slot* Inbox::oldest_slot(std::int32_t from, std::int32_t tag, std::uint64_t comm,
                         const Wanted& wanted) {
  Page* const page = page_of(from);
  if (page == nullptr) return nullptr;
  Slot* oldest = nullptr;
  const std::uint32_t used = page->slots_used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < kSlots && i < used; ++i) {
    Slot& slot = page->slots[i];
    const State state = slot.state.load(std::memory_order_acquire);
    if (state != State::Live && state != State::Seen) continue;
    if (slot.to != self_ || slot.tag != tag || slot.comm != comm || !wanted(slot, state)) continue;
    if (oldest == nullptr || slot.sequence < oldest->sequence) oldest = &slot;
  }
  return oldest;
}

void Inbox::drop_mark(std::int32_t from, std::int32_t tag, std::uint64_t comm) {
  const auto is_mark = [](const Slot& slot, State) { return slot.at < 0; };
  if (Slot* const mark = oldest_slot(from, tag, comm, is_mark))
    mark->state.store(State::Done, std::memory_order_release);
}

std::int64_t Inbox::bytes_of_next(std::int32_t from, std::int32_t tag, std::uint64_t comm,
                                  bool matched) {
  const auto is_live = [](const Slot&, State state) { return state == State::Live; };
  Slot* const next = oldest_slot(from, tag, comm, is_live);
  if (next == nullptr) return kEnvelopeBytes;
  if (matched) next->state.store(State::Seen, std::memory_order_release);
  return next->bytes;
}

}  // namespace strake::exchange::shared
