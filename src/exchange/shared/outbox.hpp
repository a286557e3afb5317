/// \file  The page of this rank, and the messages that it sends by it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "exchange/shared/page.hpp"
#include "memory/sharing/buddies.hpp"
#include "memory/sharing/shared_memory.hpp"

namespace strake::exchange::shared {

/// Where a message goes.
struct Destination {
  std::int32_t rank = -1;  ///< in MPI_COMM_WORLD
  std::int32_t tag = 0;
  std::uint64_t comm = 0;  ///< the communicator's name
};

/// A message on its way. The sender packs it, sends its envelope, and releases it; it stays until
/// the receiver is done.
class Lease {
 public:
  Lease(Slot& slot, std::byte* envelope, std::byte* data) noexcept
      : slot_(&slot), envelope_(envelope), data_(data) {}
  /// What MPI sends: kEnvelopeBytes.
  [[nodiscard]] std::byte* envelope() const noexcept { return envelope_; }
  /// Room for the message.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// The bytes before `end` are there; kFailed: no more will come.
  void packed(std::int64_t end) const noexcept {
    slot_->packed.store(end, std::memory_order_release);
  }

 private:
  friend class Outbox;
  Slot* slot_;
  std::byte* envelope_;
  std::byte* data_;
};

/// One thread at a time.
class Outbox {
 public:
  /// Of rank `rank` of `ranks` in MPI_COMM_WORLD; `bytes` for messages. \throws OutOfMemory
  Outbox(std::int32_t rank, std::int32_t ranks, std::uint64_t nonce, std::int64_t bytes);

  [[nodiscard]] const Header& header() const noexcept { return page().header; }
  [[nodiscard]] int descriptor() const noexcept { return memory_.descriptor(); }

  /// Whether that rank has mapped the page, and will find what it is sent.
  [[nodiscard]] bool is_read_by(std::int32_t rank) const noexcept {
    const auto* const readers = reinterpret_cast<const Reader*>(memory_.data() + parts_.readers);
    return readers[rank].load(std::memory_order_acquire) != 0;
  }

  /// A live slot with room for a message; nothing if there is none, or no memory. ~50 ns.
  [[nodiscard]] std::optional<Lease> lease(const Destination& to, std::int64_t bytes);
  /// A live slot for a message of an envelope's size whose bytes MPI carries. False: there is none.
  [[nodiscard]] bool mark(const Destination& to);
  /// MPI has sent the envelope, and lets go of it.
  void release(const Lease& lease) noexcept;
  /// The envelope was never sent, or was taken back.
  void withdraw(const Lease& lease) noexcept;

 private:
  /// What only this process knows of a slot.
  struct Own {
    std::int64_t at = -1;    ///< of its block in the page; negative: it has none
    std::int64_t bytes = 0;  ///< asked for
    bool released = false;
  };
  [[nodiscard]] Page& page() const noexcept { return *reinterpret_cast<Page*>(memory_.data()); }
  [[nodiscard]] std::uint32_t number_of(const Slot& slot) const noexcept {
    return static_cast<std::uint32_t>(&slot - page().slots.data());
  }
  bool take_slot(std::uint32_t& number);
  std::optional<std::int64_t> take_block(std::int64_t bytes);
  void fill(Slot& slot, const Destination& to, std::int64_t bytes, std::int64_t at);
  void collect(std::uint32_t most);

  Parts parts_;
  sharing::SharedMemory memory_;
  sharing::Buddies blocks_;  ///< of the memory behind parts_.bytes
  std::uint64_t sequence_ = 0;
  std::vector<std::uint32_t> free_slots_;
  /// Those in use, in turn: a ring.
  std::array<std::uint32_t, kSlots> used_slots_{};
  std::uint32_t first_used_ = 0;
  std::uint32_t used_ = 0;
  std::array<Own, kSlots> own_{};
};

}  // namespace strake::exchange::shared
