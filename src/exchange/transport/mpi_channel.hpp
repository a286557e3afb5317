/// \file  A channel that is the MPI library: one request of its own for each message.
#pragma once

#include <mpi.h>

#include <optional>
#include <utility>

#include "exchange/transport/channel.hpp"
#include "exchange/transport/shared/header_messages.hpp"
#include "mpi/communicators.hpp"
#include "mpi/peers.hpp"
#include "mpi/wire.hpp"
#include "strake/error.hpp"

namespace strake::exchange {

/// MPI_Isend and its kin: one signature.
using StartSend = decltype(&MPI_Isend);
/// MPI_Send_init and its kin.
using InitSend = decltype(&MPI_Send_init);

/// The count and datatype by which MPI receives into a parcel.
[[nodiscard]] inline mpi::Wire wire_of(const Parcel& parcel) {
  return {parcel.memory, shared::room_of_packed(parcel.bytes)};
}
/// The count and datatype by which MPI sends a parcel. Moves the parcel's last byte to its place in
/// that datatype.
[[nodiscard]] inline mpi::Wire wire_of(const Parcel& parcel, const mpi::Envelope& to) {
  mpi::prepare_send(parcel.memory, parcel.data, parcel.bytes);
  return {parcel.memory, parcel.bytes, to.rank, to.comm};
}

/// poll() has found that the message has failed, and nobody has raised the error.
class MessageFailed : public Error {
 public:
  MessageFailed(int code, bool forgotten)
      : Error("a message has failed"), code_(code), forgotten_(forgotten) {}
  [[nodiscard]] int code() const noexcept { return code_; }
  /// True: the request may not raise it when it is completed.
  [[nodiscard]] bool forgotten() const noexcept { return forgotten_; }

 private:
  int code_;
  bool forgotten_;
};

/// Where poll() finds that a message has failed, the request stays, if that can be: the call that
/// completes it raises the error. The other functions throw MpiError, which the MPI library has
/// raised.
class MpiChannel final : public Channel {
 public:
  /// A channel for receives.
  explicit MpiChannel(const mpi::Envelope& peer) : peer_(peer) {}
  /// A channel for sends that `start` starts.
  MpiChannel(const mpi::Envelope& peer, StartSend start) : peer_(peer), start_(start) {}
  /// A channel for the receive of a message that was matched on `comm`. `message` lives until the
  /// receive is posted.
  MpiChannel(MPI_Message* message, MPI_Comm comm, mpi::CommunicatorPtr communicator)
      : peer_{MPI_ANY_SOURCE, MPI_ANY_TAG, comm},
        message_(message),
        comm_(std::move(communicator)) {}
  ~MpiChannel() override;
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;

  /// From now on one persistent request carries each message, whose parcel is always `parcel`: a
  /// send that `init` makes, or (null) a receive.
  /// \throws MpiError
  void make_persistent(const Parcel& parcel, InitSend init);

  void post(const Parcel& parcel) override;
  std::optional<Arrival> poll() override;
  void cancel() noexcept override;

  [[nodiscard]] const mpi::Envelope& peer() const noexcept { return peer_; }
  /// The status of the last message whose end poll() has told.
  [[nodiscard]] const MPI_Status& status() const noexcept { return status_; }
  /// The request, which is the caller's from now on; a persistent one is to be given back.
  [[nodiscard]] MPI_Request take_request() noexcept;
  void give_back(MPI_Request persistent) noexcept { request_ = persistent; }
  /// Drops the request, which the MPI library may have freed.
  void forget_request() noexcept { request_ = MPI_REQUEST_NULL; }

 private:
  [[nodiscard]] bool sends() const noexcept { return start_ != nullptr || init_ != nullptr; }
  void init(const Parcel& parcel);
  /// \throws MpiError  `function`, which should have made the request, returned an error, or made
  /// none
  void check_request(int code, const char* function) const;
  [[nodiscard]] bool was_cancelled() const noexcept;
  [[nodiscard]] Arrival arrival() const noexcept;
  void look_at_message();

  mpi::Envelope peer_;
  StartSend start_ = nullptr;
  InitSend init_ = nullptr;
  MPI_Message* message_ = nullptr;
  bool persistent_ = false;
  Parcel parcel_;                             ///< the posted one
  mpi::CommunicatorPtr comm_;                 ///< of the peer, where a header message may come
  std::optional<shared::Delivery> delivery_;  ///< what has come, if not in the parcel
  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Status status_{};
};

}  // namespace strake::exchange
