#include "exchange/engine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exchange/backoff.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"

namespace strake::exchange {
namespace {

std::uint64_t key_of(MPI_Request request) noexcept {
  std::uint64_t key = 0;
  std::memcpy(&key, &request, sizeof request);
  return key;
}

using State = Operation::State;

/// MPICH raises the error of a failed request where it is merely asked about, and there on
/// MPI_COMM_WORLD (4.0) or MPI_COMM_SELF (5.0). The call that completes the application's request
/// raises it properly; until then it must not be fatal.
class QuietWorld {
#ifdef OPEN_MPI
 public:
  QuietWorld() {}  // asking raises nothing
#else
 public:
  QuietWorld() noexcept {
    for (int i = 0; i < 2; ++i) {
      real_.MPI_Comm_get_errhandler(kComms[i], &handlers_[i]);
      real_.MPI_Comm_set_errhandler(kComms[i], MPI_ERRORS_RETURN);
    }
  }
  ~QuietWorld() {
    for (int i = 0; i < 2; ++i) {
      real_.MPI_Comm_set_errhandler(kComms[i], handlers_[i]);
      real_.MPI_Errhandler_free(&handlers_[i]);
    }
  }
  QuietWorld(const QuietWorld&) = delete;
  QuietWorld& operator=(const QuietWorld&) = delete;

 private:
  const mpi::RealMpi& real_ = mpi::real_mpi();
  static constexpr MPI_Comm kComms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler handlers_[2] = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
#endif
};

}  // namespace

Engine& Engine::get() {
  static Engine& engine = *new Engine;
  return engine;
}

// The callbacks of generalised requests. The system calls `query` and `released` from the call that
// completes the request, or, once the application has freed it, from MPI_Grequest_complete under
// our own lock: so neither locks.
int Engine::query(void* state, MPI_Status* status) {
  *status = static_cast<Operation*>(state)->status();
  // The error is raised by the wrapper, on the communicator of the message.
  status->MPI_ERROR = MPI_SUCCESS;
  return MPI_SUCCESS;
}

int Engine::released(void* state) {
  static_cast<Operation*>(state)->released = true;
  return MPI_SUCCESS;
}

int Engine::cancelled(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

MPI_Request Engine::launch(std::shared_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  Operation* raw = operation.get();
  mpi::check(mpi::real_mpi().MPI_Grequest_start(query, released, cancelled, raw, &raw->outer),
             "MPI_Grequest_start");
  const MPI_Request request = raw->outer;
  by_request_.insert_or_assign(key_of(request), raw);
  running_.push_back(std::move(operation));
  live_.fetch_add(1, std::memory_order_release);
  step_all(true);
  return request;
}

void Engine::add(MPI_Request dummy, std::shared_ptr<Operation> persistent) {
  const std::lock_guard lock(mutex_);
  persistent_.insert_or_assign(key_of(dummy), std::move(persistent));
  live_.fetch_add(1, std::memory_order_release);
}

void Engine::start(MPI_Request dummy) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Operation>& persistent = persistent_.at(key_of(dummy));
  persistent->start();
  running_.push_back(persistent);
  live_.fetch_add(1, std::memory_order_release);
  step_all(true);
}

void Engine::complete(Operation& operation) noexcept {
  if (operation.outer != MPI_REQUEST_NULL) {
    mpi::real_mpi().MPI_Grequest_complete(operation.outer);
  }
}

bool Engine::step_all(bool sends_only) noexcept {
  const QuietWorld quiet;
  // Sends leave in the order of their calls, so that none overtakes another.
  bool waiting = false;
  for (const auto& operation : running_) {
    const State before = operation->state();
    if (before == State::Complete || (sends_only && before != State::Copying)) continue;
    if (before == State::Copying && waiting) continue;
    operation->step();
    waiting = waiting || operation->state() == State::Copying;
    if (operation->state() == State::Complete) complete(*operation);
  }
  return waiting;
}

void Engine::progress() noexcept {
  if (idle()) return;
  const std::lock_guard lock(mutex_);
  step_all(false);
  drop_finished();
}

void Engine::drop_finished() {
  const auto dropped = std::erase_if(running_, [&](const auto& operation) {
    const bool finished = operation->state() == State::Complete &&
                          (operation->settled || (operation->abandoned && operation->released));
    if (!finished) return false;
    const auto known = by_request_.find(key_of(operation->outer));
    if (known != by_request_.end() && known->second == operation.get()) by_request_.erase(known);
    return true;
  });
  live_.fetch_sub(static_cast<int>(dropped), std::memory_order_release);
}

void Engine::hand_on() noexcept {
  if (idle()) return;
  Backoff backoff;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!step_all(true)) return;
    }
    backoff.pause();
  }
}

Operation* Engine::find_locked(MPI_Request request) const {
  if (request == MPI_REQUEST_NULL) return nullptr;
  if (const auto it = persistent_.find(key_of(request)); it != persistent_.end())
    return it->second.get();
  const auto it = by_request_.find(key_of(request));
  return it != by_request_.end() && !it->second->released ? it->second : nullptr;
}

Operation* Engine::find(const MPI_Request* request) {
  if (idle() || request == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  return find_locked(*request);
}

Engine::Operations Engine::find(int count, const MPI_Request* requests) {
  Operations operations;
  if (idle() || requests == nullptr) return operations;
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i) {
    Operation* operation = find_locked(requests[i]);
    if (operation == nullptr) continue;
    operations.resize(static_cast<std::size_t>(count));
    operations[static_cast<std::size_t>(i)] = operation;
  }
  return operations;
}

Engine::Seen Engine::see(const Operation& operation) {
  Seen seen;
  const std::lock_guard lock(mutex_);
  seen.persistent = operation.is_persistent();
  if (operation.settled) return seen;
  seen.complete = operation.state() == State::Complete;
  seen.pending = !seen.complete;
  if (seen.complete) seen.status = operation.status();
  return seen;
}

bool Engine::any_pending(std::span<Operation* const> operations) {
  const std::lock_guard lock(mutex_);
  return std::any_of(operations.begin(), operations.end(), [](const Operation* operation) {
    return operation != nullptr && operation->state() != State::Complete;
  });
}

Engine::Outcome Engine::take_outcome(Operation& operation) {
  Outcome outcome;
  if (operation.settled) return outcome;  // an inactive persistent one
  outcome.has_status = operation.is_persistent();
  outcome.status = operation.status();
  outcome.error = operation.error();
  if (outcome.error != MPI_SUCCESS) {
    outcome.failed = operation.take_failed_request();
    outcome.comm = operation.comm_to_raise();
  }
  operation.settled = true;
  return outcome;
}

Engine::Outcome Engine::completed(Operation& operation) {
  const std::lock_guard lock(mutex_);
  const Outcome outcome = take_outcome(operation);
  drop_finished();
  return outcome;
}

std::vector<Engine::Outcome> Engine::completed(std::span<Operation* const> operations) {
  std::vector<Outcome> outcomes(operations.size());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i] != nullptr) outcomes[i] = take_outcome(*operations[i]);
  }
  drop_finished();
  return outcomes;
}

void Engine::abandon(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  if (const auto it = persistent_.find(key_of(request)); it != persistent_.end()) {
    it->second->settled = true;
    persistent_.erase(it);
    live_.fetch_sub(1, std::memory_order_release);
  } else if (const auto at = by_request_.find(key_of(request)); at != by_request_.end()) {
    at->second->abandoned = true;
    by_request_.erase(at);
  }
}

void Engine::cancel(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  Operation* operation = find_locked(request);
  if (operation == nullptr || operation->state() == State::Complete) return;
  operation->cancel();
}

void Engine::shut_down() noexcept {
  hand_on();
  // What a device is writing must be written before its buffers go.
  for (Backoff backoff;; backoff.pause()) {
    const std::lock_guard lock(mutex_);
    const bool unpacking = std::any_of(running_.begin(), running_.end(), [](const auto& operation) {
      return operation->state() == State::Unpacking;
    });
    if (!unpacking) break;
    step_all(false);
  }
  const std::lock_guard lock(mutex_);
  // Messages that the application let go: the system completes them, and their buffers must stay
  // until then.
  for (auto& operation : running_) {
    if (operation->state() == State::Posted) (void)new std::shared_ptr<Operation>(operation);
  }
  running_.clear();
  by_request_.clear();
  persistent_.clear();
  live_.store(0, std::memory_order_release);
}

}  // namespace strake::exchange
