/// \file  The segment of this rank, and the messages that it sends by it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "exchange/peers/directory.hpp"
#include "exchange/transport/shared/descriptors.hpp"
#include "exchange/transport/shared/destination.hpp"
#include "exchange/transport/shared/lengths.hpp"
#include "memory/sharing/arenas.hpp"
#include "memory/sharing/buddies.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange::shared {

/// A message on its way. The sender packs it, or has offered it where it lies; it sends the
/// header message, and releases it; it stays until the receiver is done.
class Lease {
 public:
  Lease(Descriptor& descriptor, std::byte* header, std::int64_t length, std::byte* data) noexcept
      : descriptor_(&descriptor), header_(header), length_(length), data_(data) {}
  /// The bytes that MPI sends: length() of them.
  [[nodiscard]] std::byte* header() const noexcept { return header_; }
  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  /// Room for the message.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// The bytes before `end` are there; kFailed: no more will come.
  void packed(std::int64_t end) const noexcept {
    descriptor_->packed.store(end, std::memory_order_release);
  }
  /// Lets the receiver look for announcements.
  void set_changed_flag() const noexcept {
    descriptor_->changed.store(1, std::memory_order_release);
  }
  /// The receiver has taken the bytes.
  [[nodiscard]] bool taken() const noexcept {
    return descriptor_->state.load(std::memory_order_acquire) == State::Done;
  }
  /// None: it was not offered.
  [[nodiscard]] Offer offer() const noexcept {
    return descriptor_->offer.load(std::memory_order_acquire);
  }
  /// Whether the receiver is taking the bytes from where they lie. It has seen a message that it
  /// claims: so a claim of one that nobody has seen is a wrong word in the segment, and no claim.
  [[nodiscard]] bool claimed() const noexcept {
    return offer() == Offer::Claimed &&
           descriptor_->state.load(std::memory_order_acquire) != State::Live;
  }
  /// Ends an offer. True: the sender has to pack the bytes; false: the receiver is taking them.
  [[nodiscard]] bool take_back() const noexcept {
    Offer found = Offer::Open;
    const auto take = [&] {
      return descriptor_->offer.compare_exchange_strong(found, Offer::Back,
                                                        std::memory_order_acq_rel);
    };
    return take() || found != Offer::Claimed || (!claimed() && take());
  }
  [[nodiscard]] std::int32_t receiver() const noexcept {
    return descriptor_->to.load(std::memory_order_relaxed);
  }

 private:
  friend class SendSegment;
  Descriptor* descriptor_;
  std::byte* header_;
  std::int64_t length_;
  std::byte* data_;
};

/// One thread at a time.
class SendSegment {
 public:
  /// Makes the descriptors in the payload of the directory's own segment. \throws OutOfMemory
  explicit SendSegment(peers::Directory& directory);

  /// A descriptor with room for a message; nothing if there is none, or no memory. ~50 ns.
  [[nodiscard]] std::optional<Lease> lease(const Destination& to, std::int64_t bytes);
  /// A descriptor for a message that is to be offered, without room: most are never packed, and
  /// they may be longer than what a rank shares.
  [[nodiscard]] std::optional<Lease> lease_unpacked(const Destination& to, std::int64_t bytes) {
    return lease_at(to, bytes, kNoRoom);
  }
  /// Gets room to pack an offered message into after all. False: there is none.
  [[nodiscard]] bool prepare(Lease& lease);
  /// A live descriptor for a message of a header message's length whose bytes MPI carries. False:
  /// there is none.
  [[nodiscard]] bool add_placeholder(const Destination& to, std::int64_t bytes);
  [[nodiscard]] Lengths& lengths() noexcept { return lengths_; }
  /// The message of the last add_placeholder() was not sent.
  void drop_placeholder() noexcept;
  /// Lets the receiver take the bytes from where they lie: `layout` from `address` on, all of it in
  /// `region`, which that rank has mapped. Before the header message is sent. False: there is no
  /// room for the layout in the segment. ~50 ns for a layout that was offered before.
  bool offer(const Lease& lease, const sharing::Arenas::Region& region, const std::byte* address,
             const Layout& layout);
  /// As offer(), for a message to this rank itself, in any memory. The layout is not put into the
  /// segment.
  void offer_to_self(const Lease& lease, const std::byte* address, const Layout& layout,
                     Place place);
  /// An offered message to this rank itself.
  struct Own {
    Layout layout;
    const std::byte* address = nullptr;
    Place place;
  };
  /// \param descriptor  its number. \throws std::out_of_range  there never was one
  [[nodiscard]] const Own& own(std::size_t descriptor) const { return to_self_.at(descriptor); }
  /// Whether a message offered from `region` is on its way, or its lease is not released.
  [[nodiscard]] bool offers_from(std::int32_t region) noexcept {
    if (offered_[static_cast<std::size_t>(region)] != 0) collect(kDescriptors);
    return offered_[static_cast<std::size_t>(region)] != 0;
  }
  /// Right before the header message is sent: from now on the message is found, behind those that
  /// went live before.
  void go_live(const Lease& lease) noexcept { go_live(*lease.descriptor_); }
  /// Memory of the segment that is taken for good; nothing: there is none. Its offset.
  [[nodiscard]] std::optional<std::int64_t> take_for_good(std::int64_t bytes) {
    return take_block(bytes);
  }
  /// Keeps a layout in the segment, if there is room, until let_go() of it.
  void keep(const Layout& layout);
  void let_go(const Layout& layout) noexcept;
  /// MPI has sent the header message, and lets go of it.
  void release(const Lease& lease) noexcept;
  /// The header message was never sent, or was taken back.
  void withdraw(const Lease& lease) noexcept;

 private:
  /// State of a descriptor that only this process has.
  struct Held {
    std::int64_t at = kNoRoom;  ///< of its block in the segment
    std::int64_t bytes = 0;     ///< asked for
    bool released = false;
    std::int64_t layout = -1;  ///< what is known of its layout, by number; negative: none
    std::int32_t region = -1;  ///< that it was offered from; negative: none
  };
  /// A layout in the segment.
  struct Published {
    Layout layout;
    std::int64_t at = -1;  ///< negative: none is
    std::int64_t words = 0;
    std::int32_t users = 0;      ///< descriptors
    std::int32_t kept = 0;       ///< how often it is to be kept
    std::uint64_t last_use = 0;  ///< a sequence number
  };
  std::optional<std::int64_t> publish(const Layout& layout);
  std::optional<std::int64_t> room_for_layout(std::int64_t bytes);
  bool drop_layout();
  [[nodiscard]] DescriptorTable& table() const noexcept {
    return *reinterpret_cast<DescriptorTable*>(memory_.data() + parts_.table);
  }
  [[nodiscard]] std::uint32_t number_of(const Descriptor& descriptor) const noexcept {
    return static_cast<std::uint32_t>(&descriptor - table().descriptors.data());
  }
  std::optional<Lease> lease_at(const Destination& to, std::int64_t bytes, std::int64_t at);
  bool take_descriptor(std::uint32_t& number);
  std::optional<std::int64_t> take_block(std::int64_t bytes);
  void go_live(Descriptor& descriptor) noexcept;
  void fill(Descriptor& descriptor, const Destination& to, std::int64_t bytes, std::int64_t at,
            std::int64_t length);
  [[nodiscard]] std::int64_t newest_length(const Destination& to) const noexcept;
  void collect(std::uint32_t most);

  Parts parts_;
  sharing::SharedMemory& memory_;
  std::uint64_t nonce_;
  std::vector<sharing::Buddies::Unit> units_;  ///< of blocks_
  sharing::Buddies blocks_;                    ///< of the memory behind parts_.bytes
  std::uint64_t sequence_ = 0;
  Lengths lengths_;
  std::uint32_t placeholder_ = 0;  ///< the descriptor of the last add_placeholder()
  std::vector<std::uint32_t> free_descriptors_;
  /// The descriptors in use, in turn: a ring.
  std::array<std::uint32_t, kDescriptors> used_descriptors_{};
  std::uint32_t first_used_ = 0;
  std::uint32_t used_ = 0;
  std::array<Held, kDescriptors> held_{};
  std::array<std::uint32_t, peers::kRegions>
      offered_{};             ///< descriptors, by what they were offered from
  std::vector<Own> to_self_;  ///< none, or one for each descriptor
  std::vector<Published> layouts_;
  std::unordered_map<std::uint64_t, std::int64_t> layout_of_;  ///< its number, by hash
};

}  // namespace strake::exchange::shared
