#include "exchange/transport/shared/peer_segments.hpp"

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
void change(Descriptor& descriptor, State from, State to) noexcept {
  descriptor.state.compare_exchange_strong(from, to, std::memory_order_acq_rel);
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
  std::int64_t packed = descriptor_->packed.load(kAcquire);
  Backoff backoff;
  for (std::uint32_t turns = 1; packed < end;
       packed = descriptor_->packed.load(kAcquire), ++turns) {
    if (packed < 0) throw Error("the sender of a message by shared memory could not pack it");
    // System calls: not at each turn.
    if (turns % 4096 == 0 && peer_segments_->is_gone(from_) &&
        descriptor_->packed.load(kAcquire) < end)
      throw Error("the sender of a message by shared memory has died");
    backoff.pause();
  }
  return packed;
}

PeerSegments::PeerSegments(peers::Directory& directory, std::size_t layouts)
    : directory_(directory),
      self_(directory.rank()),
      parts_(directory.ranks()),
      layouts_(layouts) {}

DescriptorTable* PeerSegments::table_of(std::int32_t from) const noexcept {
  if (from < 0 || from >= directory_.ranks()) return nullptr;
  std::byte* const segment = directory_.segment_of(from).data();
  return segment == nullptr ? nullptr : reinterpret_cast<DescriptorTable*>(segment + parts_.table);
}

/// The descriptor that a header message names, if it is one.
Descriptor* PeerSegments::descriptor_of(const std::byte* landed, std::int32_t from) {
  DescriptorTable* const table = table_of(from);
  if (table == nullptr) return nullptr;
  Header header;
  std::memcpy(&header, landed, sizeof(header));
  const auto* const owner =
      reinterpret_cast<const peers::Identity*>(directory_.segment_of(from).data());
  if (header.nonce != owner->nonce || header.descriptor >= kDescriptors) return nullptr;
  Descriptor& descriptor = table->descriptors[header.descriptor];
  const State state = descriptor.state.load(kAcquire);
  if (state != State::Live && state != State::Seen) return nullptr;
  return descriptor.generation.load(kRelaxed) == header.generation &&
                 descriptor.to.load(kRelaxed) == self_
             ? &descriptor
             : nullptr;
}

Source PeerSegments::source_of(const Descriptor& descriptor, std::int32_t from) {
  const std::int32_t number = descriptor.region.load(kRelaxed);
  const std::uint32_t generation = descriptor.region_generation.load(kRelaxed);
  const auto region = directory_.find(from, number, generation);
  if (!region) throw InvalidArgument(fmt::format("region {}.{} is not known", number, generation));
  const std::int64_t at = descriptor.layout_at.load(kRelaxed);
  const std::int64_t words = descriptor.layout_words.load(kRelaxed);
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::int64_t));
  const sharing::SharedMemory& segment = directory_.segment_of(from);
  const std::int64_t room = segment.bytes();
  if (at < parts_.bytes || at % kWord != 0 || at > room || words < 1 || words > (room - at) / kWord)
    throw InvalidArgument("its layout is not in the segment");
  const auto* const first = reinterpret_cast<const std::int64_t*>(segment.data() + at);
  const Hash128 hash = {descriptor.layout_lo.load(kRelaxed), descriptor.layout_hi.load(kRelaxed)};
  Source source{
      layouts_.find(hash, std::span(first, static_cast<std::size_t>(words))), nullptr, {}};
  const std::int64_t base = descriptor.base.load(kRelaxed);
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

/// Other ranks can write to the segment, so what they might have written is not asked for an
/// address.
Source PeerSegments::own_source(const Descriptor& descriptor) {
  const auto number = static_cast<std::size_t>(&descriptor - table_of(self_)->descriptors.data());
  const SendSegment::Own& own = own_->own(number);
  return {layouts_.find(own.layout), own.address, own.place};
}

/// Where the message lies, if its sender offers that. What it offers this rank has told it that it
/// can read: so if it can't, the message is lost, as the sender would wait for it.
std::optional<Source> PeerSegments::claim(Descriptor& descriptor, std::int32_t from,
                                          std::int64_t bytes) {
  Offer found = Offer::Open;
  if (!descriptor.offer.compare_exchange_strong(found, Offer::Claimed, std::memory_order_acq_rel)) {
    if (found != Offer::Claimed) return std::nullopt;
    descriptor.state.store(State::Done, std::memory_order_release);
    throw Error(fmt::format("an offer of rank {} is claimed, but not by its receiver", from));
  }
  try {
    Source source = from == self_ ? own_source(descriptor) : source_of(descriptor, from);
    if (source.layout->layout().size_bytes() != bytes)
      throw InvalidArgument(fmt::format("a layout of {} bytes for a message of {}",
                                        source.layout->layout().size_bytes(), bytes));
    return source;
  } catch (const std::exception& error) {
    descriptor.state.store(State::Done, std::memory_order_release);
    throw Error(
        fmt::format("a message of rank {} can't be read where it lies: {}", from, error.what()));
  }
}

namespace {

constexpr const char* kNoBytes = "a message by shared memory names bytes that are not there";

}  // namespace

std::optional<Delivery> PeerSegments::open(const std::byte* landed, std::int32_t from) {
  Descriptor* const descriptor = descriptor_of(landed, from);
  if (descriptor == nullptr) return std::nullopt;
  if (descriptor->changed.load(kAcquire) != 0) directory_.take_announcements();
  sharing::SharedMemory& segment = directory_.segment_of(from);
  const std::int64_t bytes = descriptor->bytes.load(kRelaxed);
  // Only cells tell of messages that are as short as header messages.
  const bool by_cell = Destination{from, descriptor->tag.load(kRelaxed)}.is_by_cell();
  const std::int64_t least = by_cell ? 1 : kLongestHeader + 1;
  if (bytes < least) throw Error(kNoBytes);
  change(*descriptor, State::Live, State::Seen);  // it is no longer what a probe finds
  note_matched(*descriptor, from);
  std::optional<Source> source = claim(*descriptor, from, bytes);
  if (!suspects_.empty()) overtake(*descriptor, from);
  if (source) return Delivery(*descriptor, nullptr, bytes, *this, from, std::move(source));
  // The sender packs it, and has said where before it took an offer back.
  const std::int64_t at = descriptor->at.load(kAcquire);
  if (at < parts_.bytes || at > segment.bytes() || bytes > segment.bytes() - at) {
    descriptor->state.store(State::Done, std::memory_order_release);
    throw Error(kNoBytes);
  }
  (void)segment.populate(at, at + bytes);
  return Delivery(*descriptor, segment.data() + at, bytes, *this, from, std::nullopt);
}

void PeerSegments::see(const std::byte* landed, std::int32_t from) {
  Descriptor* const descriptor = descriptor_of(landed, from);
  if (descriptor == nullptr) return;
  change(*descriptor, State::Live, State::Seen);
  note_matched(*descriptor, from);
}

template <typename Wanted, typename Visit>
void PeerSegments::for_each_descriptor(const Destination& from, State state, const Wanted& wanted,
                                       const Visit& visit) const {
  DescriptorTable* const table = table_of(from.rank);
  if (table == nullptr) return;
  const std::uint32_t used = table->descriptors_used.load(kAcquire);
  for (std::uint32_t i = 0; i < kDescriptors && i < used; ++i) {
    Descriptor& descriptor = table->descriptors[i];
    // A descriptor of another rank may become another message meanwhile, one of this rank, too:
    // what was read is of one message if state and generation are the same after it.
    const std::uint32_t generation = descriptor.generation.load(kAcquire);
    if (descriptor.state.load(kAcquire) != state) continue;
    const std::uint64_t sequence = descriptor.sequence.load(kAcquire);
    const bool mine = descriptor.to.load(kAcquire) == self_ &&
                      descriptor.tag.load(kAcquire) == from.tag &&
                      descriptor.comm.load(kAcquire) == from.comm && wanted(descriptor);
    if (mine && descriptor.state.load(kAcquire) == state &&
        descriptor.generation.load(kAcquire) == generation)
      visit(descriptor, sequence);
  }
}

template <typename Wanted>
Descriptor* PeerSegments::oldest_descriptor(const Destination& from, State state,
                                            const Wanted& wanted) const {
  Descriptor* oldest = nullptr;
  std::uint64_t least = 0;
  for_each_descriptor(from, state, wanted, [&](Descriptor& descriptor, std::uint64_t sequence) {
    if (oldest != nullptr && sequence > least) return;
    oldest = &descriptor;
    least = sequence;
  });
  return oldest;
}

void PeerSegments::end_placeholder(const Destination& from, std::int64_t length, bool matched) {
  const State state = matched ? State::Seen : State::Live;
  const auto is_placeholder = [length](const Descriptor& descriptor) {
    return descriptor.at.load(kAcquire) == kCameByMpi && descriptor.length.load(kAcquire) == length;
  };
  const auto is_likely = [&](const Descriptor& descriptor) {
    return is_placeholder(descriptor) && !is_suspect(descriptor);
  };
  Descriptor* placeholder = oldest_descriptor(from, state, is_likely);
  if (placeholder == nullptr) placeholder = oldest_descriptor(from, state, is_placeholder);
  if (placeholder != nullptr) change(*placeholder, state, State::Done);
}

/// The descriptor of the message that a probe has found. Mostly it is the oldest one that is no
/// suspect. But a suspect may still come, and what receives with little room have got nobody has
/// looked at. Then the length tells, since header messages that follow each other differ in length.
Descriptor* PeerSegments::next_descriptor(const Destination& from, std::int64_t length) const {
  const auto may_come = [this](const Descriptor& descriptor) {
    const Suspect* const suspect = find_suspect(descriptor);
    return suspect == nullptr || !suspect->overtaken;
  };
  const auto is_likely = [this](const Descriptor& descriptor) { return !is_suspect(descriptor); };
  Descriptor* const likely = oldest_descriptor(from, State::Live, is_likely);
  if (likely != nullptr && likely->length.load(kAcquire) == length) return likely;
  std::vector<std::pair<std::uint64_t, Descriptor*>> all;
  for_each_descriptor(from, State::Live, may_come,
                      [&](Descriptor& descriptor, std::uint64_t sequence) {
                        all.emplace_back(sequence, &descriptor);
                      });
  std::ranges::sort(all);
  const auto expected =
      std::ranges::find(all, likely, &std::pair<std::uint64_t, Descriptor*>::second) - all.begin();
  Descriptor* nearest = nullptr;
  std::ptrdiff_t least = std::ssize(all) + 1;
  for (std::ptrdiff_t i = 0; i < std::ssize(all); ++i) {
    Descriptor* const descriptor = all[static_cast<std::size_t>(i)].second;
    const std::ptrdiff_t distance = std::abs(i - expected);
    if (descriptor->length.load(kAcquire) != length || distance >= least) continue;
    nearest = descriptor;
    least = distance;
  }
  return nearest;
}

std::int64_t PeerSegments::bytes_of_next(const Destination& from, std::int64_t length,
                                         bool matched) {
  suspect_overtaken(from);
  Descriptor* const next = next_descriptor(from, length);
  if (next == nullptr) return length;
  std::erase_if(suspects_, [next](const Suspect& suspect) { return suspect.descriptor == next; });
  // The descriptor is no proof for others (note_matched): another one may have that length as well.
  if (matched) change(*next, State::Live, State::Seen);
  return next->bytes.load(kRelaxed);
}

const PeerSegments::Suspect* PeerSegments::find_suspect(
    const Descriptor& descriptor) const noexcept {
  const auto found = std::ranges::find_if(suspects_, [&](const Suspect& suspect) {
    return suspect.descriptor == &descriptor && is_live(suspect);
  });
  return found != suspects_.end() ? &*found : nullptr;
}

bool PeerSegments::suspect(const Destination& from, std::int64_t length) {
  const auto is_likely = [&](const Descriptor& descriptor) {
    return !is_suspect(descriptor) && (length == 0 || descriptor.length.load(kAcquire) == length);
  };
  Descriptor* const descriptor = oldest_descriptor(from, State::Live, is_likely);
  if (descriptor == nullptr) return false;
  suspects_.push_back({from.rank, descriptor, descriptor->generation.load(kRelaxed)});
  return true;
}

/// A receive has got the message of a descriptor: that is certain, as its header message has come.
void PeerSegments::note_matched(const Descriptor& descriptor, std::int32_t from) noexcept {
  const Destination of{from, descriptor.tag.load(kRelaxed), descriptor.comm.load(kRelaxed)};
  const std::uint64_t sequence = descriptor.sequence.load(kRelaxed);
  const std::uint64_t* const last = matched_.find(of);
  if (last == nullptr || *last < sequence) matched_.set(of, sequence);
}

/// Receives that nobody has looked at, as their requests were freed, have got the messages before
/// the last one from there that was matched.
void PeerSegments::suspect_overtaken(const Destination& from) {
  const std::uint64_t* const last = matched_.find(from);
  if (last == nullptr) return;
  const auto any = [](const Descriptor&) { return true; };
  for_each_descriptor(from, State::Live, any, [&](Descriptor& descriptor, std::uint64_t sequence) {
    if (sequence >= *last) return;
    std::erase_if(suspects_, [&descriptor](const Suspect& suspect) {
      return suspect.descriptor == &descriptor;
    });
    suspects_.push_back({from.rank, &descriptor, descriptor.generation.load(kRelaxed), true});
    g_unsettled.store(true, std::memory_order_relaxed);
  });
}

/// The message of `by` was matched, and so was each message that was sent before it with the same
/// tag and communicator.
void PeerSegments::overtake(const Descriptor& by, std::int32_t from) noexcept {
  for (Suspect& suspect : suspects_) {
    const Descriptor& descriptor = *suspect.descriptor;
    if (suspect.from != from || descriptor.tag.load(kRelaxed) != by.tag.load(kRelaxed) ||
        descriptor.comm.load(kRelaxed) != by.comm.load(kRelaxed) ||
        descriptor.sequence.load(kRelaxed) >= by.sequence.load(kRelaxed))
      continue;
    suspect.overtaken = true;
    g_unsettled.store(true, std::memory_order_relaxed);
  }
}

template <typename Visit>
void PeerSegments::for_each_live(const Visit& visit) const {
  for (std::int32_t from = 0; from < directory_.ranks(); ++from) {
    const DescriptorTable* const table = table_of(from);
    if (table == nullptr) continue;
    const std::uint32_t used = table->descriptors_used.load(kAcquire);
    for (std::uint32_t i = 0; i < kDescriptors && i < used; ++i) {
      const Descriptor& descriptor = table->descriptors[i];
      if (descriptor.state.load(kAcquire) == State::Live && descriptor.to.load(kRelaxed) == self_)
        visit(from, descriptor);
    }
  }
}

std::vector<PeerSegments::Sender> PeerSegments::senders(std::int32_t tag) const {
  std::vector<Sender> found;
  for_each_live([&](std::int32_t from, const Descriptor& descriptor) {
    const Sender sender{from, descriptor.comm.load(kRelaxed)};
    if (descriptor.tag.load(kRelaxed) == tag && std::ranges::find(found, sender) == found.end())
      found.push_back(sender);
  });
  return found;
}

bool PeerSegments::has_live() const {
  bool found = false;
  for_each_live([&](std::int32_t, const Descriptor&) { found = true; });
  return found;
}

}  // namespace strake::exchange::shared
