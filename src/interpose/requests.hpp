/// \file  The requests that Strake makes for messages that it carries out in steps: a generalised
/// request, or a persistent one to MPI_PROC_NULL, which stands for Strake's own persistent
/// operation (interpose/request_table.hpp), and what became of these.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <utility>
#include <vector>

#include "exchange/progress/in_flight.hpp"
#include "exchange/progress/progress.hpp"
#include "interpose/operation.hpp"
#include "memory/scratch.hpp"

namespace strake::interpose {

class Requests final : public exchange::Mover {
 public:
  /// Registers itself with the operations in flight.
  Requests();
  /// Returns the process's requests.
  static Requests& get() {
    Requests* const made = made_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make();
  }

  /// An operation, for launch() or add(). No allocation where one was recycled.
  /// \throws as the operation's constructors
  template <typename Made = MessageOperation, typename... Args>
  [[nodiscard]] std::shared_ptr<Made> make_operation(Args&&... args) {
    const std::pmr::polymorphic_allocator<Made> allocator(&memory_);
    return std::allocate_shared<Made>(allocator, std::forward<Args>(args)...);
  }

  /// Takes an operation over that was started, and gives out its request.
  /// \throws MpiError  the MPI library refused the send, which it has raised; Error  the send
  /// failed before
  MPI_Request launch(const std::shared_ptr<Operation>& operation);
  /// Takes a persistent operation over. The application knows it as `dummy`, a real persistent
  /// request to MPI_PROC_NULL.
  void add(MPI_Request dummy, std::shared_ptr<Operation> persistent);
  /// Starts a persistent operation. \throws CudaError, MpiError
  void start(Operation& persistent);

  /// Steps every operation once, and what else is in flight. Cost: O(operations in flight).
  void progress() {
    if (!progress_.idle()) step_everything();
    advance_rest();
  }
  /// Steps the sends, `mine` (or null), and a few of the others in turn, and what else is in
  /// flight: what a poll costs does not grow with the operations.
  void progress(Operation* mine) {
    if (!progress_.idle()) step_some(mine);
    advance_rest();
  }
  /// progress() for a call that asks about a request, whose operation, if it has one, comes first.
  /// What progresses may call the program, which may complete this very request: its entry is to be
  /// looked up afterwards.
  void progress_for(MPI_Request request) {
    if (!progress_.idle()) step_some(as_operation(RequestTable::get().find(request)));
    advance_rest();
  }
  /// After a call that may have waited: what nobody waits for, or another core of the process,
  /// takes a step.
  static void advance_rest() noexcept {
    if (!exchange::g_in_flight.idle()) exchange::g_in_flight.advance();
  }
  void advance() noexcept override {
    if (!progress_.idle()) step_some(nullptr);
  }
  /// Until every send is in the MPI library's hands.
  void hand_on() noexcept { progress_.hand_on(); }

  /// How far an operation is.
  struct Seen {
    bool persistent = false;
    bool complete = false;  ///< an active one, ready to be completed by the MPI library's call
    bool pending = false;   ///< an active one, not there yet
    MPI_Status status;      ///< of a complete one
    int error = MPI_SUCCESS;
  };
  [[nodiscard]] static Seen see(const Operation& operation);
  [[nodiscard]] static bool any_pending(const Operations& operations);

  /// The outcome of an operation, as far as the MPI library's call that completed the application's
  /// request does not tell it.
  struct Outcome {
    bool persistent = false;  ///< the call's status is its dummy's: `status` replaces it
    MPI_Status status;
    int error = MPI_SUCCESS;
    MPI_Request failed = MPI_REQUEST_NULL;  ///< of the MPI library's, for the caller to complete
    MPI_Comm comm = MPI_COMM_NULL;  ///< where to raise an error that the MPI library does not raise
    std::exception_ptr thrown;      ///< by the application's error handler, to be thrown on
  };
  /// The MPI library's call completed the application's request: drops our side.
  Outcome completed(Operation& operation);
  /// completed() of each operation, in their order; an empty outcome for a nullptr.
  Scratch<Outcome> completed(const Operations& operations);
  /// Takes back an outcome's failed request, once the caller has completed it: its persistent
  /// operation gets it, or it is freed if that is gone. Does nothing if it is null (Open MPI has
  /// freed a persistent request that failed itself).
  void give_back(const Operation* operation, MPI_Request failed);
  /// The application is about to free the request; the operation goes on by itself.
  void abandon(Operation& operation);
  void cancel(Operation& operation);
  /// Before MPI_Finalize: sends nobody waits for are handed on, and what is left is let go.
  void shut_down();
  /// Before the last session ends: what was made of MPI for later goes. No other thread is in MPI.
  void forget();

  /// A persistent request to MPI_PROC_NULL, by which the application knows an operation that
  /// keeps_request(). MPICH 4.0's persistent collectives hang once such a request was freed: those
  /// that are given back are given out again. \throws MpiError
  [[nodiscard]] MPI_Request persistent();
  void give_back_persistent(MPI_Request request);
  /// A generalised request of no operation, which stays incomplete. \throws MpiError
  [[nodiscard]] MPI_Request never();
  /// One that is complete, with a handle of its own. \throws MpiError
  [[nodiscard]] static MPI_Request make_complete();

 private:
  static Requests& make();
  void step_everything();
  void step_some(Operation* mine);
  void let_go(Operation& operation);
  Outcome take_outcome(Operation& operation);
  static int query(void* state, MPI_Status* status);
  static int released(void* state);
  static int cancelled(void* state, int complete);

  static inline constinit std::atomic<Requests*> made_{nullptr};
  /// Where operations lie: recycled, so that none is allocated in steady state.
  std::pmr::synchronized_pool_resource memory_;
  exchange::Progress progress_;
  std::mutex mutex_;  ///< guards what follows; never held across a call of MPI's
  std::vector<MPI_Request> persistent_;
  MPI_Request never_ = MPI_REQUEST_NULL;
};

}  // namespace strake::interpose
