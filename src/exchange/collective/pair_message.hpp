/// \file  One message between two ranks in a collective call that is carried out pair by pair, at
/// one of its ends. It goes by itself, or a bundle tells of it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exchange/collective/bundle.hpp"
#include "exchange/collective/bundle_channel.hpp"
#include "exchange/collective/cell_channel.hpp"
#include "exchange/collective/members.hpp"
#include "exchange/message/transfer.hpp"

namespace strake::exchange {

/// How the receiver learns of a message.
enum class Told : std::uint8_t {
  Alone,         ///< it goes by itself
  ByMpi,         ///< as Alone, by MPI even where cells tell of messages
  InBundle,      ///< a bundle tells of it: of a send, its bytes lie there; of a receive, perhaps
  BesideBundle,  ///< a bundle tells of a send that MPI carries
};

/// One thread at a time.
class PairMessage {
 public:
  /// \param number  of the communicator, or of a persistent call
  /// \param rank   the other end, in the communicator
  /// \param edge   its number among this call's messages between the two in that direction
  /// \param typed  `elements` null: no bytes
  /// \throws OutOfMemory
  PairMessage(const Members& members, std::int32_t number, MessageDirection direction, int rank,
              std::uint32_t edge, Typed typed, Told told = Told::Alone);
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
    if (done_ || direction_ == MessageDirection::Receive) return false;
    if (form_ == Form::Plain) return plain_ == MPI_REQUEST_NULL;
    return transfer_ && transfer_->state() == Transfer::State::Leaving;
  }
  [[nodiscard]] bool done() const noexcept { return done_; }
  void give_up() noexcept { done_ = given_up_ = true; }
  /// From now on: as CellChannel's.
  void leave_copies() noexcept {
    if (by_cell_) by_cell_->leave_copies();
  }
  void prepare() noexcept {
    if (transfer_ && leaving()) transfer_->prepare();
  }

  /// \{ A message that a bundle tells of. A send, before it is started: adds its entry, of these
  /// ranks of the communicator. \throws Error  there is no room
  void enter(Bundle& bundle, int from, int to);
  /// Whether the bundle has all that it is to have of a send.
  [[nodiscard]] bool entered() const noexcept {
    return done_ || told_ == Told::BesideBundle || !leaving();
  }
  /// The bundle leaves: says there if the send has failed.
  void note_loss() const noexcept {
    if (given_up_ && entered_at_ != nullptr) Bundle::lose(entered_at_);
  }
  /// A receive that was started: its entry has come. \throws as step()
  void take(const BundleEntry& entry, const std::byte* inside);
  /// Whether the entry of a receive, which is not done, has come.
  [[nodiscard]] bool taken() const noexcept { return taken_; }
  /// \}

  [[nodiscard]] const Transfer* transfer() const noexcept {
    return transfer_ ? &*transfer_ : nullptr;
  }
  [[nodiscard]] MessageDirection direction() const noexcept { return direction_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint32_t edge() const noexcept { return name_.edge; }
  /// How the message went, once it is done.
  [[nodiscard]] Transport transport() const noexcept { return transport_; }

 private:
  enum class Form : std::uint8_t {
    Inside,    ///< a short send, in its cell
    Nothing,   ///< a receive of no bytes, of which a cell tells
    Plain,     ///< MPI carries the user's own bytes
    Bundled,   ///< the CPU copies between the user's layout and a bundle
    Transfer,  ///< all others
  };
  [[nodiscard]] Form form_alone() const noexcept;
  [[nodiscard]] Form form_in_bundle() const noexcept;
  [[nodiscard]] bool can_be_plain() const noexcept;
  void make_transfer();
  [[nodiscard]] Channel& channel() noexcept;
  void send_inside();
  void take_inside(const BundleEntry& entry, const std::byte* inside);
  void start_plain();
  bool step_plain();
  bool step_transfer();

  MessageDirection direction_;
  Told told_;
  bool near_;
  std::int32_t rank_;  ///< in MPI_COMM_WORLD
  shared::CellName name_;
  Typed typed_;
  std::int64_t bytes_;
  Form begins_as_;  ///< each time
  Form form_;       ///< this time
  std::int32_t tag_;
  std::byte* entered_at_ = nullptr;  ///< behind the entry of a send in a bundle
  std::byte* room_ = nullptr;        ///< of its bytes, if they lie there
  std::optional<Transfer> transfer_;
  std::optional<CellChannel> by_cell_;
  std::optional<MpiChannel> by_mpi_;
  std::optional<BundleChannel> by_bundle_;
  MPI_Request plain_ = MPI_REQUEST_NULL;
  Transport transport_ = Transport::Library;
  bool taken_ = false;
  bool done_ = true;
  bool given_up_ = false;
};

}  // namespace strake::exchange
