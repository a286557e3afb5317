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

MPI_Request Engine::launch(std::unique_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  Operation* raw = operation.get();
  mpi::check(mpi::real_mpi().MPI_Grequest_start(query, released, cancelled, raw, &raw->outer),
             "MPI_Grequest_start");
  const MPI_Request request = raw->outer;
  operations_.push_back(std::move(operation));
  by_request_.insert_or_assign(key_of(request), raw);
  live_.fetch_add(1, std::memory_order_release);
  step_all(true);
  return request;
}

void Engine::add(MPI_Request dummy, std::unique_ptr<Persistent> persistent) {
  const std::lock_guard lock(mutex_);
  persistent_.insert_or_assign(key_of(dummy), std::move(persistent));
  live_.fetch_add(1, std::memory_order_release);
}

void Engine::start(Persistent& persistent) {
  auto operation =
      persistent.send
          ? std::make_unique<Operation>(persistent.typed, persistent.method, persistent.start,
                                        persistent.peer)
          : std::make_unique<Operation>(persistent.typed, persistent.method, persistent.peer);
  operation->persistent = &persistent;
  const std::lock_guard lock(mutex_);
  persistent.active = operation.get();
  operations_.push_back(std::move(operation));
  live_.fetch_add(1, std::memory_order_release);
  step_all(true);
}

void Engine::complete(Operation& operation) noexcept {
  if (operation.outer != MPI_REQUEST_NULL) {
    mpi::real_mpi().MPI_Grequest_complete(std::exchange(operation.outer, MPI_REQUEST_NULL));
  }
}

bool Engine::step_all(bool sends_only) noexcept {
  // Sends leave in the order of their calls, so that none overtakes another.
  bool waiting = false;
  for (const auto& operation : operations_) {
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
  const auto last =
      std::remove_if(operations_.begin(), operations_.end(), [&](const auto& operation) {
        return operation->released && operation->state() == State::Complete;
      });
  const auto dropped = static_cast<int>(operations_.end() - last);
  if (dropped == 0) return;
  // A handle that was given to another request since then is not ours to forget.
  std::erase_if(by_request_, [&](const auto& entry) {
    return entry.second->released && entry.second->state() == State::Complete;
  });
  operations_.erase(last, operations_.end());
  live_.fetch_sub(dropped, std::memory_order_release);
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

Engine::Found Engine::find(MPI_Request request) {
  Found found;
  if (request == MPI_REQUEST_NULL) return found;
  const std::lock_guard lock(mutex_);
  const Operation* operation = nullptr;
  if (const auto it = persistent_.find(key_of(request)); it != persistent_.end()) {
    found.persistent = it->second.get();
    operation = found.persistent->active;
  } else if (const auto at = by_request_.find(key_of(request)); at != by_request_.end()) {
    if (!at->second->released) operation = at->second;
  }
  found.ours = operation != nullptr || found.persistent != nullptr;
  if (operation == nullptr) return found;
  found.complete = operation->state() == State::Complete;
  found.pending = !found.complete;
  if (found.complete) {
    found.status = operation->status();
    found.error = operation->error();
  }
  return found;
}

Engine::Outcome Engine::completed(MPI_Request request) {
  Outcome outcome;
  const std::lock_guard lock(mutex_);
  Operation* operation = nullptr;
  if (const auto it = persistent_.find(key_of(request)); it != persistent_.end()) {
    Persistent& persistent = *it->second;
    operation = std::exchange(persistent.active, nullptr);
    if (operation == nullptr) return outcome;
    outcome.has_status = true;
    operation->released = true;
  } else if (const auto at = by_request_.find(key_of(request)); at != by_request_.end()) {
    operation = at->second;
    by_request_.erase(at);
  } else {
    return outcome;
  }
  outcome.ours = true;
  outcome.status = operation->status();
  outcome.error = operation->error();
  if (outcome.error != MPI_SUCCESS) {
    outcome.failed = operation->take_failed_request();
    outcome.comm = operation->comm_to_raise();
  }
  operation->released = true;
  drop_finished();
  return outcome;
}

void Engine::abandon(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  if (const auto it = persistent_.find(key_of(request)); it != persistent_.end()) {
    if (Operation* active = it->second->active) {
      active->persistent = nullptr;
      active->released = true;
    }
    persistent_.erase(it);
    live_.fetch_sub(1, std::memory_order_release);
  } else {
    by_request_.erase(key_of(request));
  }
}

void Engine::cancel(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  Operation* operation = nullptr;
  if (const auto it = persistent_.find(key_of(request)); it != persistent_.end()) {
    operation = it->second->active;
  } else if (const auto at = by_request_.find(key_of(request)); at != by_request_.end()) {
    operation = at->second;
  }
  if (operation == nullptr || operation->state() == State::Complete) return;
  operation->cancel();
  if (operation->state() == State::Complete) complete(*operation);
}

void Engine::shut_down() noexcept {
  hand_on();
  // Sends that the application freed: the system completes them, but their buffers must stay until
  // then.
  const std::lock_guard lock(mutex_);
  for (auto& operation : operations_) {
    if (operation->state() == State::Posted && operation->is_send()) (void)operation.release();
  }
  operations_.clear();
  by_request_.clear();
  persistent_.clear();
  live_.store(0, std::memory_order_release);
}

}  // namespace strake::exchange
