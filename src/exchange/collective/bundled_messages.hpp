/// \file  The messages of one rank that one bundle tells of: those from this rank, or those to it.
/// A pair's bundle is one of them that goes by itself from one rank to the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/collective/bundle.hpp"
#include "exchange/collective/first_fault.hpp"
#include "exchange/collective/pair_message.hpp"

namespace strake::exchange {

/// So many bytes side by side in host memory.
[[nodiscard]] Typed host_bytes(std::byte* address, std::int64_t bytes);

/// One thread at a time.
class BundledMessages {
 public:
  /// Where a send of so many bytes goes; it takes its room in the bundle, if it has any there.
  [[nodiscard]] Told place(std::int64_t bytes) noexcept;
  /// `rank`: the other end, in the communicator.
  void add(PairMessage& message, int rank) {
    of_edges_.emplace(Key{rank, message.edge()}, &message);
  }
  /// The room of the bundle. [bytes]
  [[nodiscard]] std::int64_t room() const noexcept {
    return Bundle::room_for(static_cast<std::int64_t>(of_edges_.size()));
  }

  /// \{ Sends, in this order: enters them, before they start; whether the bundle has all bytes;
  /// notes those that have failed meanwhile.
  void enter(Bundle& bundle, int own_rank, FirstFault& fault) noexcept;
  [[nodiscard]] bool entered() const noexcept;
  void note_losses() const noexcept;
  /// \}
  /// \{ Receives: takes those to this rank that a bundle tells of; no bundle will tell of the
  /// others, which have failed.
  void take(const Bundle& bundle, int own_rank, FirstFault& fault) noexcept;
  void end(FirstFault& fault) noexcept;
  /// \}

 private:
  using Key = std::pair<int, std::uint32_t>;  ///< rank, edge
  std::map<Key, PairMessage*> of_edges_;
  std::int64_t inside_ = 0;  ///< of the sends [bytes]
};

/// One thread at a time.
class PairBundle {
 public:
  PairBundle(const Members& members, std::int32_t number, MessageDirection direction, int rank)
      : members_(members), number_(number), direction_(direction), rank_(rank) {}

  BundledMessages messages;
  [[nodiscard]] bool is_of(MessageDirection direction, int rank) const noexcept {
    return direction == direction_ && rank == rank_;
  }
  /// Before it is started. \param number  as PairMessage's
  void set_number(std::int32_t number) noexcept { number_ = number; }
  /// Before its messages start. Once all were added.
  void start(std::uint32_t call, FirstFault& fault) noexcept;
  /// Takes the steps that need no waiting. True: it is done.
  /// \param leave  whether it may leave by it
  bool step(bool leave, FirstFault& fault) noexcept;
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// A bundle that MPI does not have yet.
  [[nodiscard]] bool leaving() const noexcept {
    return direction_ == MessageDirection::Send && !done_ && !begun_;
  }
  /// [bytes]
  [[nodiscard]] std::int64_t room() const noexcept { return messages.room(); }

 private:
  void make_carrier(std::int64_t bytes);

  const Members& members_;
  std::int32_t number_;
  MessageDirection direction_;
  int rank_;
  std::optional<Bundle> bundle_;
  std::optional<PairMessage> carrier_;
  std::uint32_t call_ = 0;
  bool begun_ = false;
  bool done_ = true;
};

}  // namespace strake::exchange
