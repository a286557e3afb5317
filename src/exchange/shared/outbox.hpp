/// \file  The page of this rank, and the messages that it sends by it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "exchange/shared/page.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "memory/size_class.hpp"

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
  /// The bytes before `end` are there.
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
  /// `bytes` for messages. \throws OutOfMemory
  Outbox(std::int32_t rank, std::uint64_t nonce, std::int64_t bytes);

  [[nodiscard]] const Header& header() const noexcept { return page().header; }
  [[nodiscard]] int descriptor() const noexcept { return memory_.descriptor(); }

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
    int size_class = -1;  ///< of the block; -1: it has none
    std::int64_t at = -1;
    bool released = false;
  };
  [[nodiscard]] Page& page() const noexcept { return *reinterpret_cast<Page*>(memory_.data()); }
  [[nodiscard]] std::uint32_t number_of(const Slot& slot) const noexcept {
    return static_cast<std::uint32_t>(&slot - page().slots.data());
  }
  bool take_slot(std::uint32_t& number);
  std::optional<std::int64_t> take_block(int size_class);
  void free_block(int size_class, std::int64_t at) noexcept;
  void fill(Slot& slot, const Destination& to, std::int64_t bytes, std::int64_t at);
  void collect();

  sharing::SharedMemory memory_;
  std::int64_t end_;  ///< of the blocks that were made
  std::uint64_t sequence_ = 0;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> used_slots_;
  std::size_t collect_at_ = 0;  ///< that many used slots
  std::array<Own, kSlots> own_{};
  /// Blocks that wait, the last one first: by the number of their first kSmallestBlock.
  std::array<std::int32_t, kSizeClasses> first_free_;
  std::vector<std::int32_t> next_free_;
};

}  // namespace strake::exchange::shared
