#include "exchange/engine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "exchange/backoff.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"
#include "mpi/world.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

std::uint64_t key_of(MPI_Request request) noexcept {
  std::uint64_t key = 0;
  std::memcpy(&key, &request, sizeof request);
  return key;
}

using State = Operation::State;

/// MPICH raises the error of a failed request where it is merely asked about: on MPI_COMM_SELF
/// where that was given a handler, if only its own (5.0), else on MPI_COMM_WORLD. The call that
/// completes the application's request raises it properly; until then it must not be fatal. (Not
/// with MPI_THREAD_MULTIPLE, where other threads would see it: an operation then completes the
/// request instead of asking about it.)
class QuietWorld {
 public:
  QuietWorld() noexcept {
    if (!mpi::quirks::kAskingRaises || mpi::g_multiple || !mpi::in_world()) return;
    for (int i = 0; i < 2; ++i) {
      real_.MPI_Comm_get_errhandler(kComms[i], &handlers_[i]);
      if (is_set(i)) real_.MPI_Comm_set_errhandler(kComms[i], MPI_ERRORS_RETURN);
    }
  }
  ~QuietWorld() {
    if (handlers_[0] == MPI_ERRHANDLER_NULL) return;
    for (int i = 0; i < 2; ++i) {
      if (is_set(i)) real_.MPI_Comm_set_errhandler(kComms[i], handlers_[i]);
      real_.MPI_Errhandler_free(&handlers_[i]);
    }
  }
  QuietWorld(const QuietWorld&) = delete;
  QuietWorld& operator=(const QuietWorld&) = delete;

 private:
  /// MPI_ERRORS_ARE_FATAL is what MPI_COMM_SELF has while it was given none.
  [[nodiscard]] bool is_set(int i) const noexcept {
    return kComms[i] == MPI_COMM_WORLD || handlers_[i] != MPI_ERRORS_ARE_FATAL;
  }
  const mpi::RealMpi& real_ = mpi::real_mpi();
  const MPI_Comm kComms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler handlers_[2] = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

}  // namespace

Engine& Engine::make() {
  static Engine& engine = *new Engine;
  made_.store(&engine, std::memory_order_release);
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

MPI_Request Engine::never() {
  const std::lock_guard lock(mutex_);
  if (never_ == MPI_REQUEST_NULL) {
    constexpr auto kQuery = [](void*, MPI_Status*) { return MPI_SUCCESS; };
    constexpr auto kFree = [](void*) { return MPI_SUCCESS; };
    mpi::check(mpi::real_mpi().MPI_Grequest_start(kQuery, kFree, cancelled, nullptr, &never_),
               "MPI_Grequest_start");
  }
  return never_;
}

void Engine::make_room() {
  running_.reserve(std::bit_ceil(running_.size() + 1));
  sending_.reserve(std::bit_ceil(sending_.size() + 1));
}

void Engine::run(std::shared_ptr<Operation> operation) noexcept {
  operation->place = running_.size();
  if (operation->state() == State::Copying) sending_.push_back(operation.get());
  running_.push_back(std::move(operation));
  live_.fetch_add(1, std::memory_order_release);
}

MPI_Request Engine::launch(std::shared_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  make_room();
  Operation& launched = *operation;
  mpi::check(
      mpi::real_mpi().MPI_Grequest_start(query, released, cancelled, &launched, &launched.outer),
      "MPI_Grequest_start");
  MPI_Request request = launched.outer;
  by_request_.insert_or_assign(key_of(request), &launched);
  run(operation);
  step_sends();
  if (launched.state() == State::Complete && launched.error() != MPI_SUCCESS) {
    const Outcome outcome = take_outcome(launched);
    mpi::real_mpi().MPI_Wait(&request, MPI_STATUS_IGNORE);
    drop_if_done(launched);
    if (outcome.thrown) std::rethrow_exception(outcome.thrown);
    if (outcome.comm != MPI_COMM_NULL) throw Error("the send failed");  // nobody has raised it
    throw MpiError("the send was refused", outcome.error);
  }
  return request;
}

void Engine::add(MPI_Request dummy, std::shared_ptr<Operation> persistent) {
  const std::lock_guard lock(mutex_);
  persistent_.insert_or_assign(key_of(dummy), std::move(persistent));
  live_.fetch_add(1, std::memory_order_release);
}

void Engine::start(MPI_Request dummy) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Operation> persistent = persistent_.at(key_of(dummy));
  make_room();
  persistent->start();
  run(persistent);
  step_sends();
}

void Engine::after_step(Operation& operation) {
  if (operation.state() != State::Complete) return;
  if (operation.outer != MPI_REQUEST_NULL) {
    mpi::real_mpi().MPI_Grequest_complete(operation.outer);
  }
  drop_if_done(operation);
}

/// True: some are still being packed.
bool Engine::step_sends() {
  while (!sending_.empty()) {
    Operation& first = *sending_.front();
    if (first.busy()) return false;  // we are called from its step
    first.step();
    if (first.state() == State::Copying) return true;
    sending_.erase(sending_.begin());
    after_step(first);
  }
  return false;
}

void Engine::step(Operation& operation) {
  const State state = operation.state();
  if (state == State::Copying || state == State::Complete || operation.busy()) return;
  operation.step();
  after_step(operation);
}

void Engine::visit(std::size_t place) {
  const std::shared_ptr<Operation> operation = running_[place];
  if (operation->state() == State::Complete) {
    drop_if_done(*operation);  // abandoned, and released since then
  } else {
    step(*operation);
  }
}

void Engine::step_all() {
  const QuietWorld quiet;
  for (std::size_t i = 0; i < running_.size();) {
    const Operation* const visited = running_[i].get();
    visit(i);
    if (i < running_.size() && running_[i].get() == visited) ++i;
  }
}

void Engine::step_everything() {
  const std::lock_guard lock(mutex_);
  step_sends();
  step_all();
}

void Engine::step_some(Operation* mine) {
  // What has come for the others may be unpacked meanwhile; to look costs some 30 ns each.
  constexpr std::size_t kOthers = 8;
  const std::lock_guard lock(mutex_);
  step_sends();
  if (running_.size() <= kOthers) return step_all();
  const QuietWorld quiet;
  if (mine != nullptr) step(*mine);
  for (std::size_t i = 0; i < kOthers && !running_.empty(); ++i) visit(++turn_ % running_.size());
}

void Engine::drop_if_done(Operation& operation) {
  const bool done = operation.state() == State::Complete &&
                    (operation.settled || (operation.abandoned && operation.released));
  if (!done || operation.place >= running_.size() ||
      running_[operation.place].get() != &operation) {
    return;
  }
  const auto known = by_request_.find(key_of(operation.outer));
  if (known != by_request_.end() && known->second == &operation) by_request_.erase(known);
  const std::size_t place = operation.place;
  const std::shared_ptr<Operation> dropped = std::move(running_[place]);
  if (place + 1 < running_.size()) {
    running_[place] = std::move(running_.back());
    running_[place]->place = place;
  }
  running_.pop_back();
  if (dropped->abandoned) abandoned_.fetch_sub(1, std::memory_order_relaxed);
  live_.fetch_sub(1, std::memory_order_release);
}

void Engine::hand_on_all() {
  Backoff backoff;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!step_sends()) return;
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

Operation* Engine::find_live(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  return find_locked(request);
}

Engine::Operations Engine::find_live(int count, const MPI_Request* requests) {
  Operations operations;
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
  if (seen.complete) {
    seen.status = operation.status();
    seen.error = operation.error();
  }
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
  outcome.persistent = operation.is_persistent();
  outcome.status = operation.status();
  outcome.error = operation.error();
  if (outcome.error != MPI_SUCCESS) {
    outcome.failed = operation.take_failed_request();
    outcome.comm = operation.comm_to_raise();
    outcome.thrown = operation.thrown();
  }
  operation.settled = true;
  return outcome;
}

Engine::Outcome Engine::completed(Operation& operation) {
  const std::lock_guard lock(mutex_);
  const Outcome outcome = take_outcome(operation);
  drop_if_done(operation);
  return outcome;
}

std::vector<Engine::Outcome> Engine::completed(std::span<Operation* const> operations) {
  std::vector<Outcome> outcomes(operations.size());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i] == nullptr) continue;
    outcomes[i] = take_outcome(*operations[i]);
    drop_if_done(*operations[i]);
  }
  return outcomes;
}

void Engine::give_back(const Operation* operation, MPI_Request failed) {
  if (failed == MPI_REQUEST_NULL) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [dummy, persistent] : persistent_) {
    if (persistent.get() == operation) return persistent->give_back(failed);
  }
  mpi::real_mpi().MPI_Request_free(&failed);
}

void Engine::let_go(Operation& operation) {
  operation.abandoned = true;
  abandoned_.fetch_add(1, std::memory_order_relaxed);
}

void Engine::abandon(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  if (const auto it = persistent_.find(key_of(request)); it != persistent_.end()) {
    const std::shared_ptr<Operation> operation = std::move(it->second);
    persistent_.erase(it);
    live_.fetch_sub(1, std::memory_order_release);
    if (operation->settled) return;  // it does not run
    operation->settled = true;
    let_go(*operation);
    drop_if_done(*operation);
  } else if (const auto at = by_request_.find(key_of(request)); at != by_request_.end()) {
    let_go(*at->second);
    by_request_.erase(at);
  }
}

void Engine::cancel(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  Operation* operation = find_locked(request);
  if (operation == nullptr || operation->state() == State::Complete) return;
  operation->cancel();
}

void Engine::shut_down() {
  hand_on();
  // What has come is unpacked, and what a device is writing must be written before its buffers go.
  for (Backoff backoff;; backoff.pause()) {
    const std::lock_guard lock(mutex_);
    step_all();
    const bool unpacking = std::any_of(running_.begin(), running_.end(), [](const auto& operation) {
      return operation->state() == State::Unpacking;
    });
    if (!unpacking) break;
  }
  const std::lock_guard lock(mutex_);
  running_.clear();  // messages that the application let go are the system's to complete
  sending_.clear();
  by_request_.clear();
  persistent_.clear();
  live_.store(0, std::memory_order_release);
  abandoned_.store(0, std::memory_order_relaxed);
  forget();
}

void Engine::forget() {
  mpi::free_wire_types();
  if (never_ != MPI_REQUEST_NULL) {
    mpi::real_mpi().MPI_Grequest_complete(never_);
    mpi::real_mpi().MPI_Request_free(&never_);
  }
}

}  // namespace strake::exchange
