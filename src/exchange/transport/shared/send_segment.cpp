#include "exchange/transport/shared/send_segment.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "layout/encoding.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

// As many become free as are taken, so the memory in use stays what is in flight, and in a cache.
constexpr std::uint32_t kAtATime = 2;
/// Layouts that lie in the segment at a time.
constexpr std::size_t kMostLayouts = 1024;
/// Longer than this part of the packed memory none may be.
constexpr std::int64_t kLongestLayout = 4;
/// The smallest block. [bytes]
constexpr std::int64_t kUnit = 4096;

}  // namespace

SendSegment::SendSegment(peers::Directory& directory)
    : parts_(directory.ranks()),
      memory_(directory.own()),
      nonce_(directory.identity().nonce),
      units_(static_cast<std::size_t>((memory_.bytes() - parts_.bytes) / kUnit)),
      blocks_(units_, kUnit),
      lengths_(directory.ranks()) {
  if (!memory_.populate(0, parts_.bytes))
    throw OutOfMemory("no memory for descriptors of messages");
  new (memory_.data() + parts_.table) DescriptorTable;
  free_descriptors_.reserve(kDescriptors);
  layouts_.reserve(kMostLayouts);
  layout_of_.reserve(kMostLayouts);
  for (std::uint32_t i = kDescriptors; i > 0; --i) free_descriptors_.push_back(i - 1);
}

bool SendSegment::take_descriptor(std::uint32_t& number) {
  if (free_descriptors_.empty()) collect(kDescriptors);
  if (free_descriptors_.empty()) return false;
  number = free_descriptors_.back();
  free_descriptors_.pop_back();
  used_descriptors_[(first_used_ + used_++) % kDescriptors] = number;
  if (number >= table().descriptors_used.load(std::memory_order_relaxed))
    table().descriptors_used.store(number + 1, std::memory_order_release);
  return true;
}

std::optional<std::int64_t> SendSegment::take_block(std::int64_t bytes) {
  auto offset = blocks_.take(bytes);
  if (!offset) {
    collect(kDescriptors);
    offset = blocks_.take(bytes);
  }
  while (!offset && drop_layout()) offset = blocks_.take(bytes);
  if (!offset) return std::nullopt;
  const std::int64_t at = parts_.bytes + *offset;
  if (memory_.populate(at, at + bytes)) return at;
  blocks_.give_back(*offset, bytes);
  return std::nullopt;
}

void SendSegment::fill(Descriptor& descriptor, const Destination& to, std::int64_t bytes,
                       std::int64_t at, std::int64_t length) {
  descriptor.generation.store(descriptor.generation.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
  // A reader that sees a word below, and then reads the generation, sees the one above.
  constexpr auto kRelease = std::memory_order_release;
  descriptor.to.store(to.rank, kRelease);
  descriptor.tag.store(to.tag, kRelease);
  descriptor.comm.store(to.comm, kRelease);
  descriptor.bytes.store(bytes, kRelease);
  descriptor.at.store(at, kRelease);
  descriptor.length.store(length, kRelease);
  descriptor.packed.store(0, kRelease);
  descriptor.offer.store(Offer::None, kRelease);
  descriptor.changed.store(0, kRelease);
}

/// The length of the newest message there that has a descriptor and was not received yet; 0: none
/// has.
std::int64_t SendSegment::newest_length(const Destination& to) const noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const Descriptor* newest = nullptr;
  for (std::uint32_t i = 0; i < used_; ++i) {
    const Descriptor& descriptor =
        table().descriptors[used_descriptors_[(first_used_ + i) % kDescriptors]];
    const Destination there{descriptor.to.load(kRelaxed), descriptor.tag.load(kRelaxed),
                            descriptor.comm.load(kRelaxed)};
    if (there == to &&
        (newest == nullptr || descriptor.sequence.load(kRelaxed) > newest->sequence.load(kRelaxed)))
      newest = &descriptor;
  }
  return newest != nullptr ? newest->length.load(kRelaxed) : 0;
}

void SendSegment::go_live(Descriptor& descriptor) noexcept {
  // No probe finds what a cell tells of.
  const bool by_cell = Destination{-1, descriptor.tag.load(std::memory_order_relaxed)}.is_by_cell();
  descriptor.sequence.store(++sequence_, std::memory_order_release);
  descriptor.state.store(by_cell ? State::Seen : State::Live, std::memory_order_release);
}

std::optional<Lease> SendSegment::lease(const Destination& to, std::int64_t bytes) {
  collect(kAtATime);
  const std::optional<std::int64_t> at = take_block(bytes);
  if (!at) return std::nullopt;
  std::optional<Lease> lease = lease_at(to, bytes, *at);
  if (!lease) blocks_.give_back(*at - parts_.bytes, bytes);
  return lease;
}

std::optional<Lease> SendSegment::lease_at(const Destination& to, std::int64_t bytes,
                                           std::int64_t at) {
  collect(kAtATime);
  std::uint32_t number = 0;
  if (!take_descriptor(number)) return std::nullopt;
  Descriptor& descriptor = table().descriptors[number];
  held_[number] = {at, bytes, false};
  if (!to_self_.empty()) to_self_[number] = {};
  const std::int64_t length =
      to.is_by_cell() ? kLongestHeader : lengths_.next(to, [&] { return newest_length(to); });
  fill(descriptor, to, bytes, at, length);
  std::byte* const place = memory_.data() + parts_.headers + number * kHeaderPlace;
  Header header;
  header.nonce = nonce_;
  header.descriptor = number;
  header.generation = descriptor.generation;
  std::memcpy(place, &header, sizeof(header));
  return Lease(descriptor, place, length, at == kNoRoom ? nullptr : memory_.data() + at);
}

bool SendSegment::prepare(Lease& lease) {
  Held& own = held_[number_of(*lease.descriptor_)];
  if (own.at == kNoRoom) {
    const std::optional<std::int64_t> at = take_block(own.bytes);
    if (!at) return false;
    own.at = *at;
    lease.data_ = memory_.data() + *at;
    // The receiver reads it once the offer is taken back.
    lease.descriptor_->at.store(*at, std::memory_order_release);
  }
  return true;
}

bool SendSegment::add_placeholder(const Destination& to, std::int64_t bytes) {
  std::uint32_t number = 0;
  collect(kAtATime);
  if (!take_descriptor(number)) return false;
  held_[number] = {kNoRoom, 0, true};
  fill(table().descriptors[number], to, bytes, kCameByMpi, bytes);
  lengths_.avoid(to, bytes);
  go_live(table().descriptors[number]);
  placeholder_ = number;
  return true;
}

void SendSegment::drop_placeholder() noexcept {
  table().descriptors[placeholder_].state.store(State::Done, std::memory_order_release);
}

bool SendSegment::offer(const Lease& lease, const sharing::Arenas::Region& region,
                        const std::byte* address, const Layout& layout) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const std::optional<std::int64_t> number = publish(layout);
  if (!number) return false;
  Published& published = layouts_[static_cast<std::size_t>(*number)];
  ++published.users;
  Held& own = held_[number_of(*lease.descriptor_)];
  own.layout = *number;
  own.region = region.number;
  ++offered_[static_cast<std::size_t>(region.number)];
  Descriptor& descriptor = *lease.descriptor_;
  const Hash128 hash = layout.hash();
  descriptor.region.store(region.number, kRelaxed);
  descriptor.region_generation.store(region.generation, kRelaxed);
  descriptor.base.store(
      reinterpret_cast<std::intptr_t>(address) - reinterpret_cast<std::intptr_t>(region.data),
      kRelaxed);  // absolute addresses count from null
  descriptor.layout_at.store(published.at, kRelaxed);
  descriptor.layout_words.store(published.words, kRelaxed);
  descriptor.layout_lo.store(hash.lo, kRelaxed);
  descriptor.layout_hi.store(hash.hi, kRelaxed);
  descriptor.offer.store(Offer::Open, std::memory_order_release);
  return true;
}

void SendSegment::keep(const Layout& layout) {
  if (const auto number = publish(layout)) ++layouts_[static_cast<std::size_t>(*number)].kept;
}

void SendSegment::let_go(const Layout& layout) noexcept {
  const auto known = layout_of_.find(layout.hash().lo);
  if (known == layout_of_.end()) return;
  Published& published = layouts_[static_cast<std::size_t>(known->second)];
  if (published.layout == layout && published.kept > 0) --published.kept;
}

void SendSegment::offer_to_self(const Lease& lease, const std::byte* address, const Layout& layout,
                                Place place) {
  to_self_.resize(kDescriptors);
  to_self_[number_of(*lease.descriptor_)] = {layout, address, place};
  lease.descriptor_->offer.store(Offer::Open, std::memory_order_release);
}

/// The number of a layout that is in the segment, from now on at least; nothing: it finds no room.
std::optional<std::int64_t> SendSegment::publish(const Layout& layout) {
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

std::optional<std::int64_t> SendSegment::room_for_layout(std::int64_t bytes) {
  if (layout_of_.size() >= kMostLayouts && !drop_layout()) return std::nullopt;
  return take_block(bytes);
}

/// Takes the one out that was not used for longest. False: all are in use.
bool SendSegment::drop_layout() {
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

void SendSegment::release(const Lease& lease) noexcept {
  held_[number_of(*lease.descriptor_)].released = true;
}

void SendSegment::withdraw(const Lease& lease) noexcept {
  lease.descriptor_->state.store(State::Done, std::memory_order_release);
  release(lease);
}

/// Frees the descriptors and blocks that receivers are done with. Looks at `most` descriptors, in
/// turn.
void SendSegment::collect(std::uint32_t most) {
  for (std::uint32_t looked = std::min(most, used_); looked > 0; --looked) {
    const std::uint32_t number = used_descriptors_[first_used_ % kDescriptors];
    first_used_ = (first_used_ + 1) % kDescriptors;
    Descriptor& descriptor = table().descriptors[number];
    const Held& own = held_[number];
    if (!own.released || descriptor.state.load(std::memory_order_acquire) != State::Done) {
      used_descriptors_[(first_used_ + used_ - 1) % kDescriptors] = number;
      continue;
    }
    --used_;
    descriptor.state.store(State::Free, std::memory_order_relaxed);
    if (own.at != kNoRoom) blocks_.give_back(own.at - parts_.bytes, own.bytes);
    if (own.layout >= 0) --layouts_[static_cast<std::size_t>(own.layout)].users;
    if (own.region >= 0) --offered_[static_cast<std::size_t>(own.region)];
    free_descriptors_.push_back(number);
  }
}

}  // namespace strake::exchange::shared
