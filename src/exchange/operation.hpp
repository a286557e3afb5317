/// \file  One nonblocking message that Strake carries out in steps around the system's own request.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "exchange/staging.hpp"

namespace strake::exchange {

/// MPI_Isend and its kin: one signature.
using StartSend = decltype(&MPI_Isend);

/// The other end of a message.
struct Peer {
  int rank = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// Guarded by the engine's lock.
class Operation {
 public:
  enum class State : std::uint8_t {
    Copying,    ///< a send that is being packed; the system knows nothing of it yet
    Posted,     ///< in the system's hands
    Unpacking,  ///< a receive whose bytes are here, on their way to the user's buffer
    Complete,
  };

  /// A send that starts to pack. \throws OutOfMemory, CudaError
  Operation(const Typed& from, Method method, StartSend start, const Peer& peer);
  /// A receive that is posted at once. \throws OutOfMemory, MpiError
  Operation(const Typed& to, Method method, const Peer& peer);
  /// A receive of a matched message. \throws as above
  Operation(const Typed& to, Method method, MPI_Message* message);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Takes the next steps that need no waiting. Never throws: a fault completes the operation with
  /// an error.
  void step() noexcept;
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool is_send() const noexcept { return outgoing_.has_value(); }
  [[nodiscard]] Method method() const noexcept;
  /// What the completion reports, once complete.
  [[nodiscard]] const MPI_Status& status() const noexcept { return status_; }
  /// MPI_SUCCESS, or the class of what went wrong.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// A failed operation's request of the system's: completing it raises the error where it belongs.
  /// The caller takes it.
  [[nodiscard]] MPI_Request take_failed_request() noexcept;
  /// Where to raise an error that did not come from the system (MPI_COMM_NULL: it did, and was
  /// raised).
  [[nodiscard]] MPI_Comm comm_to_raise() const noexcept { return comm_to_raise_; }
  void cancel() noexcept;

  /// Who waits for it: a generalised request, or a persistent request that was started.
  MPI_Request outer = MPI_REQUEST_NULL;
  struct Persistent* persistent = nullptr;
  bool released =
      false;  ///< the outer request is gone; the engine may drop the operation once complete

 private:
  void post();
  void poll_system();
  void finish() noexcept;
  void fail(int code) noexcept;

  State state_;
  std::optional<Outgoing> outgoing_;
  std::optional<Incoming> incoming_;
  StartSend start_ = nullptr;
  Peer peer_;
  MPI_Request inner_ = MPI_REQUEST_NULL;
  MPI_Status status_;
  int error_ = MPI_SUCCESS;
  MPI_Comm comm_to_raise_ = MPI_COMM_NULL;
};

}  // namespace strake::exchange
