/// \file  The page of this rank, and the messages that it sends by it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "exchange/peers/directory.hpp"
#include "exchange/transport/shared/destination.hpp"
#include "exchange/transport/shared/lengths.hpp"
#include "exchange/transport/shared/page.hpp"
#include "memory/sharing/arenas.hpp"
#include "memory/sharing/buddies.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange::shared {

/// A message on its way. The sender packs it, or has offered it where it lies; it sends the
/// envelope, and releases it; it stays until the receiver is done.
class Lease {
 public:
  Lease(Slot& slot, std::byte* envelope, std::int64_t length, std::byte* data) noexcept
      : slot_(&slot), envelope_(envelope), length_(length), data_(data) {}
  /// The bytes that MPI sends: length() of them.
  [[nodiscard]] std::byte* envelope() const noexcept { return envelope_; }
  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  /// Room for the message.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// The bytes before `end` are there; kFailed: no more will come.
  void packed(std::int64_t end) const noexcept {
    slot_->packed.store(end, std::memory_order_release);
  }
  /// Lets the receiver look for announcements.
  void tell_news() const noexcept { slot_->news.store(1, std::memory_order_release); }
  /// The receiver has taken the bytes.
  [[nodiscard]] bool taken() const noexcept {
    return slot_->state.load(std::memory_order_acquire) == State::Done;
  }
  /// None: it was not offered.
  [[nodiscard]] Offer offer() const noexcept {
    return slot_->offer.load(std::memory_order_acquire);
  }
  /// Whether the receiver is taking the bytes from where they lie. It has seen a message that it
  /// claims: so a claim of one that nobody has seen is a wrong word in the page, and no claim.
  [[nodiscard]] bool claimed() const noexcept {
    return offer() == Offer::Claimed && slot_->state.load(std::memory_order_acquire) != State::Live;
  }
  /// Ends an offer. True: the sender has to pack the bytes; false: the receiver is taking them.
  [[nodiscard]] bool take_back() const noexcept {
    Offer found = Offer::Open;
    const auto take = [&] {
      return slot_->offer.compare_exchange_strong(found, Offer::Back, std::memory_order_acq_rel);
    };
    return take() || found != Offer::Claimed || (!claimed() && take());
  }
  [[nodiscard]] std::int32_t receiver() const noexcept {
    return slot_->to.load(std::memory_order_relaxed);
  }

 private:
  friend class Outbox;
  Slot* slot_;
  std::byte* envelope_;
  std::int64_t length_;
  std::byte* data_;
};

/// One thread at a time.
class Outbox {
 public:
  /// Makes the slots in the payload of the directory's own segment. \throws OutOfMemory
  explicit Outbox(peers::Directory& directory);

  /// A slot with room for a message; nothing if there is none, or no memory. ~50 ns.
  [[nodiscard]] std::optional<Lease> lease(const Destination& to, std::int64_t bytes) {
    return lease(to, bytes, true);
  }
  /// The same of a message that is to be offered: memory for its packed bytes comes by prepare().
  [[nodiscard]] std::optional<Lease> lease_unpacked(const Destination& to, std::int64_t bytes) {
    return lease(to, bytes, false);
  }
  /// Before it is packed after all. False: there is no memory.
  [[nodiscard]] bool prepare(const Lease& lease);
  /// A live slot for a message of an envelope's length whose bytes MPI carries. False: there is
  /// none.
  [[nodiscard]] bool mark(const Destination& to, std::int64_t bytes);
  [[nodiscard]] Lengths& lengths() noexcept { return lengths_; }
  /// The message of the last mark() was not sent.
  void unmark() noexcept;
  /// Lets the receiver take the bytes from where they lie: `layout` from `address` on, all of it in
  /// `region`, which that rank has mapped. Before the envelope is sent. False: there is no
  /// room for the layout in the page. ~50 ns for a layout that was offered before.
  bool offer(const Lease& lease, const sharing::Arenas::Region& region, const std::byte* address,
             const Layout& layout);
  /// The same of a message to this rank itself, in any memory. It takes nothing in the page.
  void offer_to_self(const Lease& lease, const std::byte* address, const Layout& layout,
                     Place place);
  /// A message to this rank itself, which lies there.
  struct Own {
    Layout layout;
    const std::byte* address = nullptr;
    Place place;
  };
  /// \param slot  its number. \throws std::out_of_range  there never was one
  [[nodiscard]] const Own& own(std::size_t slot) const { return to_self_.at(slot); }
  /// Whether a message that lies there is on its way, or was not long ago.
  [[nodiscard]] bool offers_from(std::int32_t region) noexcept {
    if (offered_[static_cast<std::size_t>(region)] != 0) collect(kSlots);
    return offered_[static_cast<std::size_t>(region)] != 0;
  }
  /// Right before the envelope is sent: from now on the message is found, behind those that went
  /// live before.
  void go_live(const Lease& lease) noexcept { go_live(*lease.slot_); }
  /// Keeps a layout in the page, if there is room, until let_go() of it.
  void keep(const Layout& layout);
  void let_go(const Layout& layout) noexcept;
  /// MPI has sent the envelope, and lets go of it.
  void release(const Lease& lease) noexcept;
  /// The envelope was never sent, or was taken back.
  void withdraw(const Lease& lease) noexcept;

 private:
  /// What only this process knows of a slot.
  struct Held {
    std::int64_t at = -1;    ///< of its block in the page; negative: it has none
    std::int64_t bytes = 0;  ///< asked for
    bool released = false;
    std::int64_t layout = -1;  ///< what is known of its layout, by number; negative: none
    std::int32_t region = -1;  ///< that it was offered from; negative: none
  };
  /// A layout in the page.
  struct Published {
    Layout layout;
    std::int64_t at = -1;  ///< negative: none is
    std::int64_t words = 0;
    std::int32_t users = 0;      ///< slots
    std::int32_t kept = 0;       ///< how often it is to be kept
    std::uint64_t last_use = 0;  ///< a sequence number
  };
  std::optional<std::int64_t> publish(const Layout& layout);
  std::optional<std::int64_t> room_for_layout(std::int64_t bytes);
  bool drop_layout();
  [[nodiscard]] Page& page() const noexcept {
    return *reinterpret_cast<Page*>(memory_.data() + parts_.page);
  }
  [[nodiscard]] std::uint32_t number_of(const Slot& slot) const noexcept {
    return static_cast<std::uint32_t>(&slot - page().slots.data());
  }
  std::optional<Lease> lease(const Destination& to, std::int64_t bytes, bool populated);
  bool take_slot(std::uint32_t& number);
  std::optional<std::int64_t> take_block(std::int64_t bytes, bool populated = true);
  void go_live(Slot& slot) noexcept;
  void fill(Slot& slot, const Destination& to, std::int64_t bytes, std::int64_t at,
            std::int64_t length);
  [[nodiscard]] std::int64_t newest_length(const Destination& to) const noexcept;
  void collect(std::uint32_t most);

  Parts parts_;
  sharing::SharedMemory& memory_;
  std::uint64_t nonce_;
  sharing::Buddies blocks_;  ///< of the memory behind parts_.bytes
  std::uint64_t sequence_ = 0;
  Lengths lengths_;
  std::uint32_t marked_ = 0;  ///< the slot of the last mark()
  std::vector<std::uint32_t> free_slots_;
  /// Those in use, in turn: a ring.
  std::array<std::uint32_t, kSlots> used_slots_{};
  std::uint32_t first_used_ = 0;
  std::uint32_t used_ = 0;
  std::array<Held, kSlots> held_{};
  std::array<std::uint32_t, peers::kRegions> offered_{};  ///< slots, by what they were offered from
  std::vector<Own> to_self_;                              ///< none, or one for each slot
  std::vector<Published> layouts_;
  std::unordered_map<std::uint64_t, std::int64_t> layout_of_;  ///< its number, by hash
};

}  // namespace strake::exchange::shared
