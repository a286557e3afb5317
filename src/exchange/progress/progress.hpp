/// \file  The messages in flight, and progress on them. Progress is made in every wrapped call:
/// calls that poll take the steps that are possible now; calls that may block first hand every send
/// to its channel, and end what another process waits for (decision 4).
/// \par Threads
/// No lock is held while a message takes a step, since a step calls MPI and the device's runtime,
/// and these may call the application. A thread claims a message for one step; the others pass it
/// by. Sends leave in the order of their starts: whoever has claimed the first of them alone may
/// take its step, and the next one's after it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace strake::exchange {

/// One message in flight, or the messages of one collective call, as its owner keeps it.
class OperationInFlight {
 public:
  virtual ~OperationInFlight() = default;
  /// Takes the next steps that need no waiting. A fault completes the message with an error.
  virtual void step() noexcept = 0;
  /// As step(), for a message that is awaited(): no send leaves by it.
  virtual void step_awaited() noexcept { step(); }
  /// Begins the copies of a send that is leaving() before its turn comes, as far as that needs no
  /// waiting. A fault shows in the next step.
  virtual void prepare() noexcept = 0;
  /// Whether this is a send that the channel does not have yet.
  [[nodiscard]] virtual bool leaving() const noexcept = 0;
  /// Whether this is a receive whose sender waits for its next step, which comes soon.
  [[nodiscard]] virtual bool awaited() const noexcept = 0;
  /// Whether the message is done. Other threads may ask.
  [[nodiscard]] virtual bool complete() const noexcept = 0;
  /// Whether nobody will ask for the message any more. Other threads may ask.
  [[nodiscard]] virtual bool unwanted() const noexcept = 0;
  /// Called once, after the step of Progress that has completed the message.
  virtual void completed() noexcept = 0;

 private:
  friend class Progress;
  const void* claimed_by_ = nullptr;  ///< a thread; guarded by Progress
  std::size_t place_ = 0;             ///< in Progress::running_
};

/// How many messages are awaited().
inline constinit std::atomic<int> g_awaited{0};

class Progress {
 public:
  /// True while nothing is in flight: one load.
  [[nodiscard]] bool idle() const noexcept { return count_.load(std::memory_order_acquire) == 0; }

  /// Room for one message more, had before MPI is asked for anything: add() can't fail.
  class Reservation {
   public:
    /// \throws std::bad_alloc
    explicit Reservation(Progress& progress);
    ~Reservation();
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    Progress& progress_;
  };
  /// Takes a message over that is leaving or posted.
  void add(const Reservation& reservation, std::shared_ptr<OperationInFlight> operation) noexcept;
  /// Claims a message, and waits for another thread's step. False: this thread is inside its step.
  [[nodiscard]] bool claim(OperationInFlight& operation) noexcept;
  /// After claim(). Drops the message if it is done and unwanted.
  void release(OperationInFlight& operation) noexcept;
  /// Drops the message if it is done and unwanted.
  void drop_if_done(OperationInFlight& operation) noexcept;

  /// Hands over sends, as far as that needs no waiting. True: some are left, and not because this
  /// thread is inside a send's step.
  bool step_sends() noexcept;
  /// Steps every message that was handed over. Cost: O(messages in flight).
  void step_all() noexcept;
  /// Steps `mine` (or none, at null) and a few of the others in turn: what a poll costs does not
  /// grow with what is in flight.
  void step_some(OperationInFlight* mine) noexcept;
  /// Until every send is handed over, and no other process waits for a step.
  void hand_on() noexcept {
    if (!idle()) hand_on_all();
  }
  /// Whether any message is as `is` says.
  [[nodiscard]] bool any(const std::function<bool(const OperationInFlight&)>& is) const;
  /// Drops everything.
  void clear() noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  template <typename Act>
  void act_claimed(Lock& lock, OperationInFlight& operation, const Act& act) noexcept;
  template <typename Step>
  void step_claimed(Lock& lock, OperationInFlight& operation, const Step& step) noexcept;
  void visit(Lock& lock, OperationInFlight& operation) noexcept;
  void drop_if_done(Lock& lock, OperationInFlight& operation) noexcept;
  void prepare_sends(Lock& lock) noexcept;
  void hand_on_all() noexcept;
  bool step_awaited() noexcept;

  mutable std::mutex mutex_;
  std::atomic<int> count_{0};
  std::vector<std::shared_ptr<OperationInFlight>> running_;  ///< in any order; each knows its place
  std::vector<OperationInFlight*> leaving_;                  ///< in the order of their starts
  std::size_t rooms_ = 0;
  std::size_t turn_ = 0;  ///< whose it is in step_some()
};

}  // namespace strake::exchange
