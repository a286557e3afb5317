/// \file  Everything in flight, and progress on it. Progress is made in every wrapped call: those
/// that poll take the steps that are possible now; those that may block first hand every send to
/// the system (docs/decisions/0004-progress.md).
#pragma once

#include <mpi.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "exchange/operation.hpp"

namespace strake::exchange {

class Engine {
 public:
  /// The process's one engine; never destroyed.
  static Engine& get() {
    Engine* const engine = made_.load(std::memory_order_acquire);
    return engine != nullptr ? *engine : make();
  }

  /// True while nothing is in flight and no persistent request of ours lives: one load.
  [[nodiscard]] bool idle() const noexcept { return live_.load(std::memory_order_acquire) == 0; }

  /// Takes the operation over and gives out its request. \throws MpiError  the system refused the
  /// send, which it has raised; Error  the send failed before
  MPI_Request launch(std::shared_ptr<Operation> operation);
  /// Takes a persistent operation over. The application knows it as `dummy`, a real persistent
  /// request to MPI_PROC_NULL.
  void add(MPI_Request dummy, std::shared_ptr<Operation> persistent);
  /// Starts the persistent operation known as `dummy`. \throws CudaError, MpiError
  void start(MPI_Request dummy);

  /// Steps every operation once. Cost: O(operations in flight).
  void progress() {
    if (!idle()) step_everything();
  }
  /// Steps the sends, `mine` (or null), and a few of the others in turn: what a poll costs does not
  /// grow with what is in flight.
  void progress(Operation* mine) {
    if (!idle()) step_some(mine);
  }
  /// After a call that may have waited: receives whose requests were freed, which nobody will wait
  /// for, take a step.
  static void look_at_abandoned() {
    if (abandoned_.load(std::memory_order_relaxed) != 0) get().step_everything();
  }
  /// Until every send is in the system's hands.
  void hand_on() {
    if (!idle()) hand_on_all();
  }

  using Operations = std::vector<Operation*>;
  /// The operation behind a request of the application's; nullptr: the request (or none, at
  /// nullptr) is not ours. To be asked for before the system completes the request, whose handle
  /// may be another thread's new request right after.
  [[nodiscard]] Operation* find(const MPI_Request* request) {
    return idle() || request == nullptr ? nullptr : find_live(*request);
  }
  /// The same for each of `count` requests; empty if none is ours.
  [[nodiscard]] Operations find(int count, const MPI_Request* requests) {
    return idle() || requests == nullptr ? Operations() : find_live(count, requests);
  }

  /// How far an operation is.
  struct Seen {
    bool persistent = false;
    bool complete = false;  ///< an active one, ready to be completed by the system's call
    bool pending = false;   ///< an active one, not there yet
    MPI_Status status;      ///< of a complete one
    int error = MPI_SUCCESS;
  };
  [[nodiscard]] Seen see(const Operation& operation);
  [[nodiscard]] bool any_pending(std::span<Operation* const> operations);

  /// What the system's call that completed the application's request does not tell.
  struct Outcome {
    bool persistent = false;  ///< the system's status is its dummy's: `status` replaces it
    MPI_Status status;
    int error = MPI_SUCCESS;
    MPI_Request failed = MPI_REQUEST_NULL;  ///< of the system's, to be completed by the caller
    MPI_Comm comm = MPI_COMM_NULL;  ///< where to raise an error that the system knows nothing of
    std::exception_ptr thrown;      ///< by the application's error handler, to be thrown on
  };
  /// The system's call completed the application's request: drops our side.
  Outcome completed(Operation& operation);
  /// Of each in their order; nothing for a nullptr.
  std::vector<Outcome> completed(std::span<Operation* const> operations);
  /// What is left of an outcome's failed request once the caller has completed it: a persistent one
  /// (Open MPI has freed it where it failed itself).
  void give_back(const Operation* operation, MPI_Request failed);
  /// The application is about to free the request; the operation goes on by itself.
  void abandon(MPI_Request request);
  void cancel(MPI_Request request);
  /// Before MPI_Finalize: sends nobody waits for are handed on, and what is left is let go.
  void shut_down();
  /// Before the last session ends: what was made of MPI for later goes. No other thread is in MPI.
  void forget();

  /// A generalised request of no operation, which stays incomplete. \throws MpiError
  [[nodiscard]] MPI_Request never();

 private:
  static Engine& make();
  void step_everything();
  void step_some(Operation* mine);
  void visit(std::size_t place);
  void hand_on_all();
  Operation* find_live(MPI_Request request);
  Operations find_live(int count, const MPI_Request* requests);
  static int query(void* state, MPI_Status* status);
  static int released(void* state);
  static int cancelled(void* state, int complete);
  bool step_sends();
  void step(Operation& operation);
  void step_all();
  void after_step(Operation& operation);
  /// For one more operation: nothing may fail once the system has its message.
  void make_room();
  void run(std::shared_ptr<Operation> operation) noexcept;
  void let_go(Operation& operation);
  void drop_if_done(Operation& operation);
  Operation* find_locked(MPI_Request request) const;
  Outcome take_outcome(Operation& operation);

  static inline constinit std::atomic<Engine*> made_{nullptr};
  /// Recursive: the system may call the application back (error handlers, generalised requests of
  /// its own) while we ask it something, and the application MPI.
  std::recursive_mutex mutex_;
  std::atomic<int> live_{0};
  static inline constinit std::atomic<int> abandoned_{0};  ///< of those that run
  std::vector<std::shared_ptr<Operation>> running_;        ///< in any order; each knows its place
  std::size_t turn_ = 0;                                   ///< whose it is in `progress(mine)`
  MPI_Request never_ = MPI_REQUEST_NULL;
  /// Those that are being packed, in the order of their starts: none leaves before another.
  std::vector<Operation*> sending_;
  /// Generalised requests. A handle that the system has let go of may be another request's.
  std::unordered_map<std::uint64_t, Operation*> by_request_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Operation>> persistent_;
};

}  // namespace strake::exchange
