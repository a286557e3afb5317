/// \file  The messages of one rank in one collective call that is carried out pair by pair: to and
/// from each rank that it has something to do with. They can be started any number of times.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "exchange/collective/cell_channel.hpp"
#include "exchange/collective/members.hpp"
#include "exchange/message/transfer.hpp"

namespace strake::exchange {

/// One of them, at this end. One thread at a time.
class PairMessage {
 public:
  /// \param number  of the communicator, or of a persistent call
  /// \param rank   the other end, in the communicator
  /// \param edge   its number among this call's messages between the two in that direction
  /// \param typed  `elements` null: no bytes
  /// \throws OutOfMemory
  PairMessage(const Members& members, std::int32_t number, Direction direction, int rank,
              std::uint32_t edge, Typed typed);
  PairMessage(PairMessage&&) = delete;
  ~PairMessage();

  /// A send begins to be packed, and leaves if it needs no waiting; a receive is asked for.
  /// \throws OutOfMemory, CudaError, MpiError
  void start(std::uint32_t call);
  /// Takes the steps that need no waiting. True: it is done. What it throws ends it.
  /// \throws as start(), MessageFailed, Error
  bool step();
  /// A send that its channel does not have yet.
  [[nodiscard]] bool leaving() const noexcept {
    if (done_ || direction_ == Direction::Receive) return false;
    if (form_ == Form::Plain) return plain_ == MPI_REQUEST_NULL;
    return transfer_ && transfer_->state() == Transfer::State::Leaving;
  }
  [[nodiscard]] bool done() const noexcept { return done_; }
  void give_up() noexcept { done_ = true; }
  void prepare() noexcept {
    if (transfer_ && leaving()) transfer_->prepare();
  }
  [[nodiscard]] const Transfer* transfer() const noexcept {
    return transfer_ ? &*transfer_ : nullptr;
  }
  [[nodiscard]] Direction direction() const noexcept { return direction_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// How the message went, once it is done.
  [[nodiscard]] Transport transport() const noexcept { return transport_; }

 private:
  enum class Form : std::uint8_t {
    Inside,    ///< a short send, in its cell
    Nothing,   ///< a receive of no bytes, of which a cell tells
    Plain,     ///< MPI carries the user's own bytes
    Transfer,  ///< all others
  };
  [[nodiscard]] Channel& channel() noexcept;
  void send_inside();
  void start_plain();
  bool step_plain();

  Direction direction_;
  Form form_;
  std::int32_t rank_;  ///< in MPI_COMM_WORLD
  shared::CellName name_;
  Typed typed_;
  std::int64_t bytes_;
  std::optional<Transfer> transfer_;
  std::optional<CellChannel> by_cell_;
  std::optional<MpiChannel> by_mpi_;
  MPI_Request plain_ = MPI_REQUEST_NULL;
  Transport transport_;
  bool near_;
  bool done_ = true;
};

/// All of them. One thread at a time.
class PairMessages {
 public:
  /// \param number  as PairMessage's: by it the ranks tell their calls apart
  PairMessages(const Members& members, std::int32_t number) noexcept
      : members_(members), number_(number) {}
  /// Adds one, before they are started. Messages between two ranks in one direction are added in
  /// the order of their numbers. \throws OutOfMemory
  void add(Direction direction, int rank, std::uint32_t edge, Typed typed) {
    all_.emplace_back(members_, number_, direction, rank, edge, std::move(typed));
  }
  /// Starts them all, as call `call` of that number. A fault ends one message, and is told by
  /// error().
  void start(std::uint32_t call) noexcept;
  /// Takes the steps that need no waiting. True: all are done.
  /// \param leave  whether sends may leave by it
  bool step(bool leave = true) noexcept;
  /// Begins what sends of a device need before their turn.
  void prepare() noexcept;
  /// Whether a send was not handed over yet.
  [[nodiscard]] bool leaving() const noexcept { return leaving_; }
  [[nodiscard]] bool awaited() const noexcept;
  [[nodiscard]] bool unpacking() const noexcept;
  [[nodiscard]] bool on_device() const noexcept { return on_device_; }
  /// MPI_SUCCESS, or the class of the first fault.
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const std::list<PairMessage>& all() const noexcept { return all_; }

 private:
  template <typename Act>
  void guard(PairMessage& message, const Act& act) noexcept;

  const Members& members_;
  std::int32_t number_;
  std::list<PairMessage> all_;
  std::size_t left_ = 0;
  unsigned turns_ = 0;
  bool leaving_ = false;
  bool on_device_ = false;
  int error_ = MPI_SUCCESS;
};

}  // namespace strake::exchange
