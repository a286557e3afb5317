/// \file  One receive, from the call that asks for it until its bytes are taken.
///
/// A header message may come to a receive in place of the bytes themselves
/// (exchange/transport/shared/header_messages.hpp). A Receive holds all that decides whether one
/// may, and what one has told. Each blocking call makes one; a request's is a part of its entry
/// (interpose/pending.hpp). It is used in this order:
///   1. The call asks for a message of source() on comm(). A probe may have matched the message
///      already (interpose/messages.hpp).
///   2. expect() finds whether a header message may come, and on which communicator.
///   3. place() tells where the bytes come, unless a transfer of the caller's takes them.
///   4. look() reads what has come, once the MPI library says that the message is there.
///   5. settle() takes the bytes to their place; or the caller's transfer does, and the caller
///      says so by taken(), if somebody may ask again.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "exchange/transport/shared/header_messages.hpp"
#include "interpose/landing.hpp"
#include "mpi/communicators.hpp"

namespace strake::interpose {

using exchange::shared::Met;

class Receive {
 public:
  /// `source`: a rank, MPI_ANY_SOURCE or MPI_PROC_NULL.
  explicit Receive(MPI_Comm comm = MPI_COMM_NULL, int source = MPI_PROC_NULL) noexcept
      : comm_(comm), source_(source) {}
  /// A probe on `comm` has matched the message. `known` is the communicator, which may be freed
  /// before the message is received; null: nothing is known. `header`: the message is of a header
  /// message's size.
  Receive(MPI_Comm comm, const mpi::CommunicatorPtr& known, bool header) noexcept
      : comm_(comm), source_(MPI_ANY_SOURCE) {
    expect_from(known);
    met_ = expects_ ? Met::Matched : Met::No;
    matched_header_ = expects_ && header;
  }
  /// \{ Copies a receive that was not posted yet.
  Receive(const Receive& asked) noexcept { *this = asked; }
  Receive& operator=(const Receive& asked) noexcept {
    if (this == &asked) return *this;
    begin(asked.comm_, asked.source_);
    expect_from(asked.communicator());
    met_ = asked.met_;
    matched_header_ = asked.matched_header_;
    return *this;
  }
  /// \}
  /// After end(): begins a new receive.
  void begin(MPI_Comm comm, int source) noexcept {
    comm_ = comm;
    source_ = source;
  }
  /// The receive has ended, or was never posted.
  void end() noexcept {
    landing_.reset();
    restart();
    matched_header_ = false;
    expects_ = false;
  }
  /// A persistent receive has ended: the next start is for another message.
  void restart() noexcept {
    met_ = Met::No;
    looked_ = Looked::No;
  }

  /// The communicator on which errors are raised.
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] int source() const noexcept { return source_; }
  [[nodiscard]] Met met() const noexcept { return met_; }
  /// A probe has matched the message, and found it to be of a header message's size.
  [[nodiscard]] bool matched_header() const noexcept { return matched_header_; }

  /// The communicator on which a header message may come to the receive with that room; null: none
  /// comes. [bytes; negative: not known]
  [[nodiscard]] const mpi::CommunicatorPtr& communicator_with(std::int64_t room) const {
    if (expects_) return known_;
    if (source_ == MPI_PROC_NULL) return mpi::kNoCommunicator;
    return exchange::shared::communicator_of_receive(room, source_, comm_);
  }
  /// Whether the receive with that room, if a header message may come to it, is to be placed in
  /// memory of Strake's with room for one. [bytes; negative: not known]
  [[nodiscard]] bool gives_room(std::int64_t room) const noexcept {
    if (room < 0 || room >= exchange::shared::kLongestHeader) return false;
    return met_ == Met::Matched ? matched_header_ : exchange::shared::gives_room_for_headers();
  }
  /// Finds communicator_with() that room, before the receive is posted with it. False: no header
  /// message comes.
  bool expect(std::int64_t room) {
    expect_from(communicator_with(room));
    return expects_;
  }
  /// expect() where the caller has found communicator_with() the room.
  void expect_from(const mpi::CommunicatorPtr& known) noexcept {
    expects_ = known != nullptr;
    if (known_ != known && expects_) known_ = known;
  }
  /// The communicator on which a header message may come; null: none comes.
  [[nodiscard]] const mpi::CommunicatorPtr& communicator() const noexcept {
    return expects_ ? known_ : mpi::kNoCommunicator;
  }

  /// The bytes come to Landing(where...).
  template <typename... Where>
  [[gnu::always_inline]] void place(Where&&... where) {
    landing_.emplace(std::forward<Where>(where)...);
  }
  /// Returns null where the bytes come to a transfer, or their place was not told yet.
  [[nodiscard]] const Landing* landing() const noexcept { return landing_ ? &*landing_ : nullptr; }

  /// The message has come, as `status` tells: looks for a header message in its first bytes, which
  /// `read()` returns. From then on `status` tells of what the header message stands for.
  /// \throws Error
  template <typename Read>
  [[nodiscard]] std::optional<Delivery> look(MPI_Status& status, const Read& read) {
    looked_ = Looked::NotTaken;
    bytes_ = -1;
    auto delivery = exchange::shared::look(status, communicator(), met_, read);
    bytes_ = delivery ? delivery->bytes() : -1;
    return delivery;
  }
  /// Takes what look() has found (nothing: the message itself) to its place, if that was told.
  /// False: it is longer than the receive. \throws Error
  [[nodiscard]] bool settle(const std::optional<Delivery>& delivery, const MPI_Status& status);
  /// The bytes were taken. `fits`, which is returned: they were not longer than the receive.
  bool taken(bool fits) noexcept {
    looked_ = fits ? Looked::Taken : Looked::TooLong;
    return fits;
  }
  [[nodiscard]] bool looked() const noexcept { return looked_ != Looked::No; }
  /// look() was called, and the bytes could not be taken.
  [[nodiscard]] bool failed() const noexcept { return looked_ == Looked::NotTaken; }
  /// Makes another status of a message that look() has seen tell of what the header message stands
  /// for. False: it was longer than the receive.
  [[nodiscard]] bool tell_again(MPI_Status& status) const noexcept {
    if (bytes_ >= 0) exchange::shared::set_bytes(status, bytes_);
    return looked_ != Looked::TooLong;
  }

  /// Whether a header message may come, or has come, that look() has not seen.
  [[nodiscard]] bool may_hold_header() const noexcept { return expects_ && !looked(); }
  /// A probe has found what has come to be no header message, and has dropped its descriptor.
  void note_dropped() noexcept { met_ = Met::Dropped; }
  /// The MPI library says that the receive, which had that room [bytes; negative: not known], has
  /// failed with `error`, as `status` says: note_truncated(), unless the room was enough for a
  /// header message, or a probe has told what the message is.
  void note_failed(int error, const MPI_Status& status, std::int64_t room) const noexcept;

 private:
  enum class Looked : std::uint8_t { No, NotTaken, Taken, TooLong };

  MPI_Comm comm_ = MPI_COMM_NULL;
  /// Unless expects_, the communicator of an earlier receive: the next one's is often the same, and
  /// counting its users takes 10 ns.
  mpi::CommunicatorPtr known_;
  std::optional<Landing> landing_;
  std::int64_t bytes_ = -1;  ///< of what the header message stands for; negative: there was none
  int source_ = MPI_PROC_NULL;
  Met met_ = Met::No;
  bool matched_header_ = false;
  bool expects_ = false;
  Looked looked_ = Looked::No;
};

}  // namespace strake::interpose
