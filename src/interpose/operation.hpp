/// \file  Operations: messages and collective calls that Strake carries out in steps. The
/// application holds a request of Strake's for each: a generalised one, or a persistent one to
/// MPI_PROC_NULL (interpose/requests.hpp).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "exchange/message/transfer.hpp"
#include "exchange/progress/progress.hpp"
#include "exchange/transport/mpi_channel.hpp"
#include "interpose/counters.hpp"
#include "interpose/receive.hpp"
#include "interpose/request_table.hpp"
#include "memory/scratch.hpp"
#include "mpi/peers.hpp"

namespace strake::interpose {

/// Returns MPI's empty status: any source, any tag, no bytes, MPI_SUCCESS.
[[nodiscard]] MPI_Status empty_status();

/// One thread at a time uses an operation: the one whose call makes it, then the one that has
/// claimed it (exchange::Progress), and once it is complete the one that completes its request.
class Operation : public exchange::OperationInFlight, public RequestEntry {
 public:
  Operation() : RequestEntry(Kind::Operation), status_(empty_status()) {}
  ~Operation() override;

  /// Begins; a persistent one any number of times. \throws OutOfMemory, CudaError, MpiError
  virtual void start() = 0;
  virtual void cancel() noexcept = 0;
  /// Whether its first steps need no waiting: a send from host memory.
  [[nodiscard]] virtual bool can_leave_at_once() const noexcept = 0;
  [[nodiscard]] virtual bool on_device() const noexcept = 0;
  /// A send that may end only when its receiver has taken it.
  [[nodiscard]] virtual bool offered() const noexcept = 0;
  [[nodiscard]] virtual bool unpacking() const noexcept = 0;
  /// A persistent one that leaves, or is refused, when it is started.
  [[nodiscard]] virtual bool is_buffered() const noexcept { return false; }
  /// Whether its persistent request is Strake's once the application has freed it.
  [[nodiscard]] virtual bool keeps_request() const noexcept { return false; }
  /// Whether a fault at the launch is the error of the call that launches it; else it is that of
  /// the call that completes it.
  [[nodiscard]] virtual bool fails_in_launch() const noexcept { return true; }
  /// \{ A failed operation's request of the MPI library's: completing it raises the error where it
  /// belongs. The caller takes it, and gives a persistent one back that is still there then.
  [[nodiscard]] virtual MPI_Request take_failed_request() noexcept { return MPI_REQUEST_NULL; }
  virtual void give_back(MPI_Request /*persistent*/) noexcept {}
  /// \}

  [[nodiscard]] bool complete() const noexcept override {
    return complete_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool unwanted() const noexcept override {
    return settled || (abandoned && released);
  }
  void completed() noexcept override;
  [[nodiscard]] bool is_persistent() const noexcept { return persistent_; }
  /// The completion reports it, once the operation is complete.
  [[nodiscard]] const MPI_Status& status() const noexcept { return status_; }
  /// MPI_SUCCESS, or the class of what went wrong.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// Where to raise an error that the MPI library does not raise itself (MPI_COMM_NULL: it does).
  [[nodiscard]] MPI_Comm comm_to_raise() const noexcept { return comm_to_raise_; }
  /// An exception that an error handler of the application's threw meanwhile, to be thrown on.
  [[nodiscard]] std::exception_ptr thrown() const noexcept { return thrown_; }

  /// The generalised request that waits for it, if any.
  MPI_Request outer = MPI_REQUEST_NULL;
  /// A persistent one, which the table of requests keeps.
  std::shared_ptr<Operation> kept;
  std::atomic<bool> abandoned =
      false;  ///< the application has freed it: it is counted in operation
  /// The application has its outcome (persistent ones: it is inactive).
  std::atomic<bool> settled = false;

 protected:
  void mark_persistent() noexcept;
  /// Clears the outcome of the last run.
  void reset() noexcept;
  /// Marks the operation as running.
  void begin() noexcept;
  void end() noexcept { complete_.store(true, std::memory_order_release); }
  /// Ends the operation with the error `code`.
  void fail(int code) noexcept;

  MPI_Status status_;
  int error_ = MPI_SUCCESS;
  MPI_Comm comm_to_raise_ = MPI_COMM_NULL;
  std::exception_ptr thrown_;

 private:
  bool persistent_ = false;
  std::atomic<bool> complete_ = false;
};

/// A message.
class MessageOperation final : public Operation {
 public:
  /// Makes a send that `start_send` starts, a receive, or a message for make_persistent().
  /// \throws OutOfMemory
  MessageOperation(Function function, exchange::Reason reason, const exchange::Typed& typed,
                   machine::Transport transport, machine::MessageDirection direction,
                   const mpi::Envelope& peer, exchange::StartSend start_send = nullptr);
  /// Makes a send by memory that its receiver shares. \throws std::bad_alloc
  MessageOperation(Function function, exchange::Reason reason, const exchange::Typed& typed,
                   const exchange::shared::Lease& lease, const mpi::Envelope& peer,
                   exchange::StartSend start_send);
  /// Makes the receive of a message that a probe has matched. \throws OutOfMemory
  MessageOperation(Function function, exchange::Reason reason, const exchange::Typed& typed,
                   machine::Transport transport, MPI_Message* message, const Receive& receive);
  ~MessageOperation() override;

  /// Makes the operation persistent: each start uses one persistent request of the MPI library's,
  /// of a send that `init` makes, or (null) of a receive.
  /// \throws MpiError
  void make_persistent(exchange::InitSend init);
  /// Makes a send persistent: each start goes by memory that the receiver shares if there is room
  /// for the message, else by the send's own transport.
  void make_persistent(const exchange::shared::Destination& to) noexcept;
  /// Lets trials choose at each start whether such a send goes by `left`, a persistent request of
  /// the MPI library's, instead. \param by_rule  the choice of the rules: Library or Pack
  void may_be_left(MPI_Request left, exchange::Choice by_rule) noexcept;
  /// A send starts to be packed; a receive is posted; a buffered send leaves at once.
  void start() override;
  void cancel() noexcept override;
  [[nodiscard]] bool can_leave_at_once() const noexcept override {
    return !on_device() && (leaving() || is_left_);
  }
  [[nodiscard]] bool on_device() const noexcept override { return transfer_.on_device(); }

  void step() noexcept override;
  void prepare() noexcept override { transfer_.prepare(); }
  [[nodiscard]] bool leaving() const noexcept override {
    return transfer_.state() == exchange::Transfer::State::Leaving;
  }
  [[nodiscard]] bool awaited() const noexcept override { return transfer_.awaited(); }
  [[nodiscard]] bool offered() const noexcept override { return transfer_.offered(); }
  [[nodiscard]] bool unpacking() const noexcept override {
    return transfer_.state() == exchange::Transfer::State::Arriving;
  }
  [[nodiscard]] bool is_buffered() const noexcept override { return buffered_; }
  [[nodiscard]] machine::Transport transport() const noexcept {
    return is_left_ ? machine::Transport::Library : transfer_.transport();
  }
  [[nodiscard]] MPI_Request take_failed_request() noexcept override;
  void give_back(MPI_Request persistent) noexcept override { channel_.give_back(persistent); }

 private:
  void count() const noexcept;
  [[nodiscard]] exchange::Choice choose();
  void step_left();
  void fail_by_us(const char* what) noexcept;

  Function function_;
  exchange::Reason reason_;
  exchange::Transfer transfer_;
  exchange::MpiChannel channel_;
  bool buffered_ = false;
  /// \{ Members for may_be_left(): the request, the choice of the rules, and that of the trials,
  /// which holds while mpi::g_type_generation is `settled_at_`.
  MPI_Request left_ = MPI_REQUEST_NULL;
  bool is_left_ = false;                                ///< left_ carries the running message
  exchange::Reason why_left_ = exchange::Reason::None;  ///< of the running message, if it is left
  exchange::Choice by_rule_;
  exchange::Choice settled_;
  std::uint64_t settled_at_ = 0;
  /// \}
  bool raised_ = false;  ///< the MPI library has raised the error, and let go of its request
};

/// The operation of an entry; null for none, and for one of another kind.
[[nodiscard]] inline Operation* as_operation(RequestEntry* entry) noexcept {
  const bool is = entry != nullptr && entry->kind == RequestEntry::Kind::Operation;
  return is ? static_cast<Operation*>(entry) : nullptr;
}
/// The operations of a call's requests, in their order; null for those that are none of Strake's.
using Operations = Scratch<Operation*>;

}  // namespace strake::interpose
