#include "exchange/shared/inbox.hpp"

#include <signal.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "exchange/backoff.hpp"
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

std::int64_t Delivery::wait_until(std::int64_t end) const {
  std::int64_t packed = slot_->packed.load(kAcquire);
  Backoff backoff;
  for (std::uint32_t turns = 1; packed < end; packed = slot_->packed.load(kAcquire), ++turns) {
    if (packed < 0) throw Error("the sender of a message by shared memory could not pack it");
    // A system call: not at each turn.
    if (turns % 4096 == 0 && sender_ > 0 && kill(sender_, 0) != 0 && errno == ESRCH)
      throw Error("the sender of a message by shared memory has died");
    backoff.pause();
  }
  return packed;
}

Inbox::Inbox(const sharing::DescriptorSocket& socket, std::uint64_t job, std::int32_t self,
             std::int32_t ranks)
    : socket_(socket),
      job_(job),
      self_(self),
      parts_(ranks),
      pages_(static_cast<std::size_t>(ranks)) {}

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
    const auto ranks = static_cast<std::int32_t>(pages_.size());
    if (told.magic != kMagic || told.version != kVersion || made.job != job_ || told.rank < 0 ||
        told.rank >= ranks || told.ranks != ranks || told.bytes < parts_.bytes) {
      log::warn(
          "the page of rank {} of {} (version {}, {} bytes) is refused: version {} of this "
          "job of {} ranks was expected",
          told.rank, told.ranks, told.version, told.bytes, kVersion, ranks);
      continue;
    }
    Neighbour& neighbour = pages_[static_cast<std::size_t>(told.rank)];
    if (neighbour.memory.data() != nullptr) continue;
    try {
      neighbour.memory = sharing::SharedMemory::map(received->descriptor.get(), told.bytes);
      neighbour.process = received->process;
      (void)neighbour.memory.populate(0, parts_.envelopes);
      auto* const readers = reinterpret_cast<Reader*>(neighbour.memory.data() + parts_.readers);
      readers[self_].store(1, std::memory_order_release);
    } catch (const Error& error) {
      log::warn("the page of rank {} can't be used: {}", told.rank, error.what());
    }
  }
}

void Inbox::look(std::int32_t from) {
  std::uint32_t& looks = from < 0 ? looks_ : pages_[static_cast<std::size_t>(from)].looks;
  // At the first, second, fourth, eighth… time, and at each 1024th.
  ++looks;
  if (std::has_single_bit(looks) || looks % 1024 == 0) take_introductions();
}

Page* Inbox::page_of(std::int32_t from) noexcept {
  if (from < 0 || from >= static_cast<std::int32_t>(pages_.size())) return nullptr;
  return reinterpret_cast<Page*>(pages_[static_cast<std::size_t>(from)].memory.data());
}

/// The slot that an envelope names, if it is one.
Slot* Inbox::slot_of(const std::byte* landed, std::int32_t from) {
  Page* const page = page_of(from);
  if (page == nullptr) return nullptr;
  Envelope envelope;
  std::memcpy(&envelope, landed, sizeof(envelope));
  if (envelope.nonce != page->header.nonce || envelope.slot >= kSlots) return nullptr;
  Slot& slot = page->slots[envelope.slot];
  const State state = slot.state.load(kAcquire);
  if (state != State::Live && state != State::Seen) return nullptr;
  return slot.generation.load(kRelaxed) == envelope.generation && slot.to.load(kRelaxed) == self_
             ? &slot
             : nullptr;
}

std::optional<Delivery> Inbox::open(const std::byte* landed, std::int32_t from) {
  Slot* const slot = slot_of(landed, from);
  if (slot == nullptr) return std::nullopt;
  Neighbour& neighbour = pages_[static_cast<std::size_t>(from)];
  const std::int64_t at = slot->at.load(kRelaxed);
  const std::int64_t bytes = slot->bytes.load(kRelaxed);
  const std::int64_t room = neighbour.memory.bytes();
  if (at < parts_.bytes || bytes <= kEnvelopeBytes || at > room || bytes > room - at)
    throw Error("a message by shared memory names bytes that are not there");
  (void)neighbour.memory.populate(at, at + bytes);
  return Delivery(*slot, neighbour.memory.data() + at, bytes, neighbour.process);
}

void Inbox::see(const std::byte* landed, std::int32_t from) {
  if (Slot* const slot = slot_of(landed, from)) change(*slot, State::Live, State::Seen);
}

template <typename Wanted>
Slot* Inbox::oldest_slot(std::int32_t from, std::int32_t tag, std::uint64_t comm, State state,
                         const Wanted& wanted) {
  Page* const page = page_of(from);
  if (page == nullptr) return nullptr;
  Slot* oldest = nullptr;
  std::uint64_t least = 0;
  const std::uint32_t used = page->slots_used.load(kAcquire);
  for (std::uint32_t i = 0; i < kSlots && i < used; ++i) {
    Slot& slot = page->slots[i];
    if (slot.state.load(kAcquire) != state) continue;
    // Another rank's may become another message meanwhile, so its state is asked for again, after
    // these; nobody else changes this one's.
    const std::uint64_t sequence = slot.sequence.load(kAcquire);
    const bool mine = slot.to.load(kAcquire) == self_ && slot.tag.load(kAcquire) == tag &&
                      slot.comm.load(kAcquire) == comm && wanted(slot);
    if (!mine || slot.state.load(kAcquire) != state) continue;
    if (oldest != nullptr && sequence > least) continue;
    oldest = &slot;
    least = sequence;
  }
  return oldest;
}

void Inbox::drop_mark(std::int32_t from, std::int32_t tag, std::uint64_t comm, bool matched) {
  const auto is_mark = [](const Slot& slot) { return slot.at.load(kAcquire) < 0; };
  const State state = matched ? State::Seen : State::Live;
  if (Slot* const mark = oldest_slot(from, tag, comm, state, is_mark))
    change(*mark, state, State::Done);
}

std::int64_t Inbox::bytes_of_next(std::int32_t from, std::int32_t tag, std::uint64_t comm,
                                  bool matched) {
  const auto is_any = [](const Slot&) { return true; };
  Slot* const next = oldest_slot(from, tag, comm, State::Live, is_any);
  if (next == nullptr) return kEnvelopeBytes;
  if (matched) change(*next, State::Live, State::Seen);
  return next->bytes.load(kRelaxed);
}

}  // namespace strake::exchange::shared
