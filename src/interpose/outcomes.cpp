#include "interpose/outcomes.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include "interpose/errors.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"

namespace strake::interpose {

using mpi::real_mpi;

namespace {

/// Replaces a dummy's status by that of the message; MPI_ERROR is the caller's business.
void put_status(const Requests::Outcome& outcome, MPI_Status* status) {
  if (!outcome.persistent || status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = outcome.status;
  status->MPI_ERROR = error;
}

/// Failed requests of the MPI library's, to be completed in its scope. Persistent ones are given
/// back after that, also where an error handler has thrown.
class Failed {
 public:
  Failed() = default;
  ~Failed() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (owners_[i] != nullptr) Requests::get().give_back(owners_[i], requests_[i]);
    }
  }
  Failed(const Failed&) = delete;
  Failed& operator=(const Failed&) = delete;
  void add(const Operation* operation, const Requests::Outcome& outcome) {
    owners_.push_back(outcome.persistent ? operation : nullptr);
    requests_.push_back(outcome.failed);
  }
  [[nodiscard]] std::vector<MPI_Request>& requests() { return requests_; }

 private:
  std::vector<const Operation*> owners_;  ///< of persistent ones
  std::vector<MPI_Request> requests_;
};

/// Raises what went wrong with one of ours where it belongs, and returns the code.
int settle(const Operation& operation, const Requests::Outcome& outcome) {
  if (outcome.failed != MPI_REQUEST_NULL) {
    MPI_Status status;
    status.MPI_ERROR = MPI_SUCCESS;
    int code = MPI_SUCCESS;
    {
      Failed failed;
      failed.add(&operation, outcome);
      code = real_mpi().MPI_Wait(failed.requests().data(), &status);
    }
    // MPI_Wait raises nothing for a receive that had more room than its message was to have, nor
    // for a persistent request that MPICH since 4.2 has made inactive by then, whose status is
    // empty.
    const bool silent = outcome.comm != MPI_COMM_NULL && status.MPI_ERROR == MPI_SUCCESS;
    if (code != MPI_SUCCESS) return code;
    if (!silent) return outcome.error;
  }
  return outcome.comm == MPI_COMM_NULL ? outcome.error : raise(outcome.comm, outcome.error);
}

}  // namespace

int finish_one(Operation& operation, MPI_Status* status, int code) {
  if (refused(code)) return code;
  const Requests::Outcome outcome = Requests::get().completed(operation);
  put_status(outcome, status);
  if (outcome.thrown) std::rethrow_exception(outcome.thrown);
  return outcome.error != MPI_SUCCESS ? settle(operation, outcome) : code;
}

int finish_many(const Operations& operations, MPI_Status* statuses, int code) {
  if (refused(code)) return code;
  const bool wanted = statuses != MPI_STATUSES_IGNORE;
  Scratch<Requests::Outcome> outcomes = Requests::get().completed(operations);
  bool failed = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (wanted) put_status(outcomes[i], &statuses[i]);
    failed = failed || outcomes[i].error != MPI_SUCCESS;
  }
  if (!failed) return code;
  for (const Requests::Outcome& outcome : outcomes) {
    if (outcome.thrown) std::rethrow_exception(outcome.thrown);
  }
  Failed inner;
  const Requests::Outcome* first = nullptr;  // of those to be raised by us
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Requests::Outcome& outcome = outcomes[i];
    if (wanted && (code == MPI_SUCCESS || outcome.error != MPI_SUCCESS)) {
      statuses[i].MPI_ERROR = outcome.error;
    }
    if (first == nullptr && outcome.comm != MPI_COMM_NULL) first = &outcome;
    MPI_Request request = outcome.failed;
    if (request == MPI_REQUEST_NULL) continue;
    // A call that has raised the errors of the MPI library's own requests raises no other. But
    // MPICH's persistent requests start again only once they are completed.
    const bool starts_again = outcome.persistent && !mpi::quirks::kFailedPersistentIsFreed;
    if (code != MPI_SUCCESS && !starts_again) {
      real_mpi().MPI_Request_free(&request);
    } else {
      inner.add(operations[i], outcome);
    }
  }
  std::vector<MPI_Request>& requests = inner.requests();
  if (requests.empty() && code != MPI_SUCCESS) return code;
  MPI_Comm comm = first != nullptr ? first->comm : MPI_COMM_NULL;
  if (!requests.empty()) {
    MPI_Status nothing{};
    nothing.MPI_ERROR = MPI_SUCCESS;
    std::vector<MPI_Status> raised(requests.size(), nothing);
    const int count = static_cast<int>(requests.size());
    int all = 0;  // they are there; MPICH's Waitall would end with the first
    const int result = real_mpi().MPI_Testall(count, requests.data(), &all, raised.data());
    if (result != MPI_SUCCESS) return result;
    if (mpi::quirks::kSeveralErrorsAreOne) {
      const auto has_failed = [](const MPI_Status& status) {
        return status.MPI_ERROR != MPI_SUCCESS;
      };
      if (std::any_of(raised.begin(), raised.end(), has_failed)) return MPI_ERR_IN_STATUS;
      // MPICH 4 has forgotten the error by then; it raises those of several on MPI_COMM_WORLD.
      comm = MPI_COMM_WORLD;
    }
  }
  if (comm == MPI_COMM_NULL) return MPI_ERR_IN_STATUS;
  if (mpi::quirks::kSeveralErrorsAreOne) return raise(comm, MPI_ERR_IN_STATUS);
  raise(comm, first->error);
  return MPI_ERR_IN_STATUS;
}

}  // namespace strake::interpose
