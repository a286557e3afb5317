/// \file  The pages of other ranks of this node, and the messages that come by them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "exchange/shared/page.hpp"
#include "memory/sharing/descriptor_socket.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "strake/copy.hpp"

namespace strake::exchange::shared {

/// A message that is here, or being packed by its sender.
class Delivery {
 public:
  Delivery(Slot& slot, const std::byte* data, std::int64_t bytes, pid_t sender) noexcept
      : slot_(&slot), data_(data), bytes_(bytes), sender_(sender) {}
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// The packed bytes, once they are there.
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  /// Waits until the bytes before `end` are packed, and tells how many are. \throws Error  they
  /// will not be: packing failed, or the sender is dead
  std::int64_t wait_until(std::int64_t end) const;
  /// Calls `take(piece)` for the pieces of the first `bytes`, each as soon as it is packed. \throws
  /// Error  as wait_until()
  template <typename Take>
  void for_each_piece(std::int64_t bytes, const Take& take) const {
    for (std::int64_t begin = 0; begin < bytes;) {
      const std::int64_t packed = wait_until(begin + 1);
      const std::int64_t end = packed < bytes ? packed : bytes;
      take(ByteRange{begin, end});
      begin = end;
    }
  }
  /// The bytes were taken: the sender may use their place again.
  void done() const noexcept { slot_->state.store(State::Done, std::memory_order_release); }

 private:
  Slot* slot_;
  const std::byte* data_;
  std::int64_t bytes_;
  pid_t sender_;  ///< 0: not known here
};

/// While it is in scope the bytes of a delivery are being taken, whether that succeeds or not.
class Taken {
 public:
  explicit Taken(const Delivery& delivery) noexcept : delivery_(delivery) {}
  ~Taken() { delivery_.done(); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  const Delivery& delivery_;
};

/// One thread at a time.
class Inbox {
 public:
  /// Of rank `self` of `ranks` in MPI_COMM_WORLD, whose pages come by `socket`.
  Inbox(const sharing::DescriptorSocket& socket, std::uint64_t job, std::int32_t self,
        std::int32_t ranks);

  /// Maps the pages that were introduced, and tells their owners.
  void take_introductions();
  /// The same if a message may come from there (negative: from anywhere) and that page is not
  /// known: not at each call, but ever more rarely.
  void expect(std::int32_t from) {
    if (from < 0 || pages_[static_cast<std::size_t>(from)].memory.data() == nullptr) look(from);
  }

  /// What `landed`, the begin of a message of kEnvelopeBytes from `from`, names; nothing where it
  /// is a message of its own.
  [[nodiscard]] std::optional<Delivery> open(const std::byte* landed, std::int32_t from);
  /// Whether they name anything.
  [[nodiscard]] bool is_envelope(const std::byte* landed, std::int32_t from) {
    return slot_of(landed, from) != nullptr;
  }
  /// A probe is about to look: the envelope is known, and its message no longer next.
  void see(const std::byte* landed, std::int32_t from);
  /// A message of an envelope's size, which was none, has come from `from`; `matched`: a probe had
  /// matched it before.
  void drop_mark(std::int32_t from, std::int32_t tag, std::uint64_t comm, bool matched = false);
  /// The bytes of the next message from there, one of an envelope's size; `matched`: it is no
  /// longer the next.
  [[nodiscard]] std::int64_t bytes_of_next(std::int32_t from, std::int32_t tag, std::uint64_t comm,
                                           bool matched);

 private:
  struct Neighbour {
    sharing::SharedMemory memory;
    pid_t process = 0;
    std::uint32_t looks = 0;  ///< how often it was looked for
  };
  [[nodiscard]] Page* page_of(std::int32_t from) noexcept;
  void look(std::int32_t from);
  Slot* slot_of(const std::byte* landed, std::int32_t from);
  /// The oldest slot from there of those that `wanted` wants.
  template <typename Wanted>
  Slot* oldest_slot(std::int32_t from, std::int32_t tag, std::uint64_t comm, State state,
                    const Wanted& wanted);

  const sharing::DescriptorSocket& socket_;
  std::uint64_t job_;
  std::int32_t self_;
  Parts parts_;                   ///< of all pages
  std::vector<Neighbour> pages_;  ///< by rank in MPI_COMM_WORLD
  std::uint32_t looks_ = 0;       ///< for pages of any rank
};

}  // namespace strake::exchange::shared
