#include "interpose/requests.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "exchange/peers/backoff.hpp"
#include "exchange/transport/launch_batcher.hpp"
#include "interpose/quiet_world.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "mpi/wire.hpp"
#include "mpi/world.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using exchange::Backoff;
using exchange::OperationInFlight;
using exchange::Progress;

}  // namespace

Requests::Requests() { exchange::g_in_flight.add(*this); }

Requests& Requests::make() {
  Requests& made = ProcessState::part<Requests>();
  made_.store(&made, std::memory_order_release);
  return made;
}

// The callbacks of generalised requests. The MPI library calls `query` and `released` from the call
// that completes the request, or, once the application has freed it, from MPI_Grequest_complete.
int Requests::query(void* state, MPI_Status* status) {
  *status = static_cast<Operation*>(state)->status();
  // The error is raised by the wrapper, on the communicator of the message.
  status->MPI_ERROR = MPI_SUCCESS;
  return MPI_SUCCESS;
}

int Requests::released(void* state) {
  static_cast<Operation*>(state)->released = true;
  return MPI_SUCCESS;
}

int Requests::cancelled(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

MPI_Request Requests::never() {
  {
    const std::lock_guard lock(mutex_);
    if (never_ != MPI_REQUEST_NULL) return never_;
  }
  constexpr auto kQuery = [](void*, MPI_Status*) { return MPI_SUCCESS; };
  constexpr auto kFree = [](void*) { return MPI_SUCCESS; };
  MPI_Request made = MPI_REQUEST_NULL;
  mpi::check(mpi::real_mpi().MPI_Grequest_start(kQuery, kFree, cancelled, nullptr, &made),
             "MPI_Grequest_start");
  const std::lock_guard lock(mutex_);
  if (never_ == MPI_REQUEST_NULL) never_ = made;  // another thread's, made meanwhile, is left alone
  return never_;
}

MPI_Request Requests::persistent() {
  {
    const std::lock_guard lock(mutex_);
    if (!persistent_.empty()) {
      const MPI_Request given = persistent_.back();
      persistent_.pop_back();
      return given;
    }
  }
  MPI_Request made = MPI_REQUEST_NULL;
  mpi::check(
      mpi::real_mpi().MPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &made),
      "MPI_Recv_init");
  return made;
}

void Requests::give_back_persistent(MPI_Request request) {
  mpi::real_mpi().MPI_Wait(&request, MPI_STATUS_IGNORE);  // inactive, if it was not
  const std::lock_guard lock(mutex_);
  persistent_.push_back(request);
}

MPI_Request Requests::make_complete() {
  constexpr auto kQuery = [](void*, MPI_Status* status) {
    *status = empty_status();
    return MPI_SUCCESS;
  };
  constexpr auto kFree = [](void*) { return MPI_SUCCESS; };
  MPI_Request made = MPI_REQUEST_NULL;
  mpi::check(mpi::real_mpi().MPI_Grequest_start(kQuery, kFree, cancelled, nullptr, &made),
             "MPI_Grequest_start");
  mpi::check(mpi::real_mpi().MPI_Grequest_complete(made), "MPI_Grequest_complete");
  return made;
}

MPI_Request Requests::launch(const std::shared_ptr<Operation>& operation) {
  const Progress::Reservation reservation(progress_);
  Operation& launched = *operation;
  mpi::check(
      mpi::real_mpi().MPI_Grequest_start(query, released, cancelled, &launched, &launched.outer),
      "MPI_Grequest_start");
  MPI_Request request = launched.outer;
  RequestTable::get().enter(request, launched);
  const bool leaves = launched.leaving();  // once it is added, another thread may step it
  progress_.add(reservation, operation);
  if (leaves && exchange::LaunchBatcher::get().shall_ask()) progress_.step_sends();
  if (launched.complete() && launched.error() != MPI_SUCCESS && launched.fails_in_launch()) {
    const Outcome outcome = take_outcome(launched);
    mpi::real_mpi().MPI_Wait(&request, MPI_STATUS_IGNORE);
    progress_.drop_if_done(launched);
    if (MPI_Request failed = outcome.failed; failed != MPI_REQUEST_NULL)
      mpi::real_mpi().MPI_Request_free(&failed);
    if (outcome.thrown) std::rethrow_exception(outcome.thrown);
    if (outcome.comm != MPI_COMM_NULL) throw Error("the send failed");  // nobody has raised it
    throw MpiError("the send was refused", outcome.error);
  }
  return request;
}

void Requests::add(MPI_Request dummy, std::shared_ptr<Operation> persistent) {
  Operation& added = *persistent;
  added.kept = std::move(persistent);
  RequestTable::get().enter(dummy, added);
}

void Requests::start(Operation& started) {
  const std::shared_ptr<Operation> persistent = started.kept;
  if (persistent->keeps_request() || !persistent->on_device())
    hand_on();  // what was started before leaves before
  const Progress::Reservation reservation(progress_);
  // Another thread may not have left the step yet that completed it last.
  const bool claimed = progress_.claim(*persistent);
  try {
    persistent->start();
  } catch (...) {
    if (claimed) progress_.release(*persistent);
    throw;
  }
  if (persistent->can_leave_at_once()) {
    persistent->step();
    if (!persistent->leaving()) persistent->step();
  }
  const bool leaves = persistent->leaving();
  if (!persistent->complete()) progress_.add(reservation, persistent);
  if (claimed) progress_.release(*persistent);
  if (leaves && exchange::LaunchBatcher::get().shall_ask()) progress_.step_sends();
}

void Requests::step_everything() {
  progress_.step_sends();
  const QuietWorld quiet;
  progress_.step_all();
}

void Requests::step_some(Operation* mine) {
  progress_.step_sends();
  const QuietWorld quiet;
  progress_.step_some(mine);
}

Requests::Seen Requests::see(const Operation& operation) {
  Seen seen;
  seen.persistent = operation.is_persistent();
  if (operation.settled) return seen;
  seen.complete = operation.complete();
  seen.pending = !seen.complete;
  if (seen.complete) {
    seen.status = operation.status();
    seen.error = operation.error();
  }
  return seen;
}

bool Requests::any_pending(const Operations& operations) {
  return std::any_of(operations.begin(), operations.end(), [](const Operation* operation) {
    return operation != nullptr && !operation->complete();
  });
}

Requests::Outcome Requests::take_outcome(Operation& operation) {
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
  if (!outcome.persistent) RequestTable::get().remove(operation);  // before it may be dropped
  operation.settled = true;
  return outcome;
}

Requests::Outcome Requests::completed(Operation& operation) {
  // Claimed: once it is settled, another thread's progress may drop it.
  const bool claimed = progress_.claim(operation);
  Outcome outcome = take_outcome(operation);
  if (claimed) progress_.release(operation);
  return outcome;
}

Scratch<Requests::Outcome> Requests::completed(const Operations& operations) {
  Scratch<Outcome> outcomes(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i] != nullptr) outcomes[i] = completed(*operations[i]);
  }
  return outcomes;
}

void Requests::give_back(const Operation* operation, MPI_Request failed) {
  if (failed == MPI_REQUEST_NULL) return;
  RequestTable::get().for_each([&](RequestEntry& entry) {
    Operation* const entered = as_operation(&entry);
    if (entered != operation || entered == nullptr || entered->kept == nullptr) return;
    entered->give_back(std::exchange(failed, MPI_REQUEST_NULL));
  });
  if (failed != MPI_REQUEST_NULL) mpi::real_mpi().MPI_Request_free(&failed);
}

void Requests::let_go(Operation& operation) {
  exchange::g_in_flight.begin();
  operation.abandoned = true;
}

void Requests::abandon(Operation& operation) {
  RequestTable::get().remove(operation);
  const std::shared_ptr<Operation> persistent = std::move(operation.kept);
  if (persistent == nullptr) return let_go(operation);
  if (persistent->settled) return;  // it does not run
  let_go(*persistent);
  persistent->settled = true;
  progress_.drop_if_done(*persistent);
}

void Requests::cancel(Operation& operation) {
  if (!progress_.claim(operation)) return;
  if (!operation.complete()) operation.cancel();
  progress_.release(operation);
}

void Requests::shut_down() {
  hand_on();
  // Messages that have come are unpacked first: a device must be done with its buffers before they
  // go.
  for (Backoff backoff;; backoff.pause()) {
    step_everything();
    const auto unpacking = [](const OperationInFlight& operation) {
      return static_cast<const Operation&>(operation).unpacking();
    };
    if (!progress_.any(unpacking)) break;
  }
  progress_.clear();  // messages that the application let go are the MPI library's to complete
  std::vector<std::shared_ptr<Operation>> persistent;  // these end when the table is not locked
  RequestTable::get().for_each([&](RequestEntry& entry) {
    if (Operation* const operation = as_operation(&entry))
      persistent.push_back(std::move(operation->kept));
  });
  persistent.clear();
  forget();
}

void Requests::forget() {
  mpi::free_wire_types();
  for (MPI_Request& request : persistent_) mpi::real_mpi().MPI_Request_free(&request);
  persistent_.clear();
  const MPI_Request never = std::exchange(never_, MPI_REQUEST_NULL);
  if (never == MPI_REQUEST_NULL) return;
  MPI_Request request = never;
  mpi::real_mpi().MPI_Grequest_complete(request);
  mpi::real_mpi().MPI_Request_free(&request);
}

}  // namespace strake::interpose
