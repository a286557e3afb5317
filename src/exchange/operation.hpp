/// \file  One nonblocking message that Strake carries out in steps around the system's own request.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "exchange/method.hpp"
#include "exchange/staging.hpp"
#include "mpi/peers.hpp"

namespace strake::exchange {

/// MPI_Isend and its kin: one signature.
using StartSend = decltype(&MPI_Isend);
/// MPI_Send_init and its kin.
using InitSend = decltype(&MPI_Send_init);

/// Guarded by the engine's lock.
class Operation {
 public:
  enum class State : std::uint8_t {
    Copying,    ///< a send that is being packed; the system knows nothing of it yet
    Posted,     ///< in the system's hands
    Unpacking,  ///< a receive whose bytes are here, on their way to the user's buffer
    Complete,   ///< done, or (persistent) not started
  };

  /// A send that starts to pack. \throws OutOfMemory, CudaError
  Operation(const Typed& from, Method method, StartSend start_send, const mpi::Peer& peer);
  /// A receive that is posted at once. \throws OutOfMemory, MpiError
  Operation(const Typed& to, Method method, const mpi::Peer& peer);
  /// A receive of a message that was matched on `comm`. \throws as above
  Operation(const Typed& to, Method method, MPI_Message* message, MPI_Comm comm);
  /// A send (`init` given) or receive to be started any number of times, over the system's own
  /// persistent request.
  static std::shared_ptr<Operation> persistent(const Typed& typed, Method method, InitSend init,
                                               const mpi::Peer& peer);
  /// Starts a persistent one that is complete. \throws CudaError, MpiError
  void start();
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Takes the next steps that need no waiting. A fault completes the operation with an error.
  void step() noexcept;
  /// Inside its step: the system is calling the application back.
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool is_persistent() const noexcept { return persistent_; }
  [[nodiscard]] bool is_buffered() const noexcept { return buffered_; }
  [[nodiscard]] Method method() const noexcept;
  [[nodiscard]] const mpi::Peer& peer() const noexcept { return peer_; }
  /// What the completion reports, once complete.
  [[nodiscard]] const MPI_Status& status() const noexcept { return status_; }
  /// MPI_SUCCESS, or the class of what went wrong.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// A failed operation's request of the system's: completing it raises the error where it belongs.
  /// The caller takes it, and gives a persistent one back that is still there then.
  [[nodiscard]] MPI_Request take_failed_request() noexcept;
  void give_back(MPI_Request persistent) noexcept { inner_ = persistent; }
  /// Where to raise an error that the system does not raise itself (MPI_COMM_NULL: it does).
  [[nodiscard]] MPI_Comm comm_to_raise() const noexcept { return comm_to_raise_; }
  /// What an error handler of the application's threw meanwhile, to be thrown on.
  [[nodiscard]] std::exception_ptr thrown() const noexcept { return thrown_; }
  void cancel() noexcept;

  /// Told of the bytes: of a receive when the message is here, since only then they are known; of a
  /// persistent send each time that it is started. Null: the caller knows them.
  using Moved = void (*)(int mark, Method method, std::int64_t bytes) noexcept;
  Moved moved = nullptr;
  int mark = 0;  ///< whatever `moved` wants to be given back
  /// The generalised request that waits for it, if any.
  MPI_Request outer = MPI_REQUEST_NULL;
  /// The system has let go of the outer request; set without the engine's lock.
  std::atomic<bool> released = false;
  bool abandoned = false;  ///< the application has freed it
  /// The application has its outcome (persistent ones: it is inactive): the engine may drop it.
  bool settled = false;
  std::size_t place = 0;  ///< where it is in Engine::running_

 private:
  Operation();
  void init_receive();
  /// \throws MpiError  `function`, which should have made inner_, returned an error, or made none
  void check_request(int code, const char* function) const;
  void post();
  void poll_system();
  void receive();
  /// Whether the message that `status_` tells of is longer than the receive.
  [[nodiscard]] bool too_long() const noexcept;
  [[nodiscard]] bool cancelled_by_system() const noexcept;
  void finish() noexcept;
  void count(std::int64_t bytes) const noexcept;
  void fail(int code) noexcept;
  void fail_by_us(const char* what) noexcept;

  State state_;
  std::optional<Outgoing> outgoing_;
  std::optional<Incoming> incoming_;
  bool persistent_ = false;
  bool buffered_ = false;  ///< a persistent one that leaves, or is refused, when it is started
  bool busy_ = false;
  StartSend start_ = nullptr;
  mpi::Peer peer_;
  MPI_Request inner_ = MPI_REQUEST_NULL;
  MPI_Status status_;
  int error_ = MPI_SUCCESS;
  MPI_Comm comm_to_raise_ = MPI_COMM_NULL;
  bool raised_ = false;     ///< the system has raised the error, and let go of its request
  bool cancelled_ = false;  ///< before it was packed
  std::exception_ptr thrown_;
};

}  // namespace strake::exchange
