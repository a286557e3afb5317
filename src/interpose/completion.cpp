// Completion: the MPI library completes every request. A request that Strake made is given to it
// only once its operation is there. A running persistent one is hidden from it until then, because
// its dummy is complete from the start.
#include <algorithm>

#include "exchange/peers/backoff.hpp"
#include "interpose/boundary.hpp"
#include "interpose/outcomes.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "interpose/short_receives.hpp"
#include "interpose/statuses.hpp"
#include "interpose/untestable.hpp"

namespace strake::interpose {
namespace {

using exchange::Backoff;
using exchange::shared::ShmEndpoint;

/// Value of a call's result before the call. MPICH since 4.3 returns MPI_SUCCESS for a call that it
/// has refused, once the application's error handler has returned, and leaves the result as it was.
constexpr int kUntouched = -1;

/// The code of a call, or the error that it must have been refused for; `result` is 0 then.
int told(int code, int& result) {
  if (result != kUntouched) return code;
  result = 0;
  return code != MPI_SUCCESS ? code : MPI_ERR_REQUEST;
}

/// Returns the code of a call that completes all requests, or MPI_ERR_REQUEST if it was refused:
/// then a request of Strake's that is not persistent is still in `requests`.
int told(int code, const Operations& operations, const MPI_Request* requests) {
  for (std::size_t i = 0; code == MPI_SUCCESS && i < operations.size(); ++i) {
    const bool ends = operations[i] != nullptr && !operations[i]->is_persistent();
    if (ends && requests[i] != MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
  }
  return code;
}

/// The requests as the MPI library may see them: without Strake's persistent ones, whose dummies
/// tell nothing (one library takes a started one to MPI_PROC_NULL for complete, another for
/// inactive).
struct Visible {
  Scratch<MPI_Request> requests;
  Scratch<int> ready;    ///< indices of persistent ones that are complete
  bool pending = false;  ///< a persistent one is not there yet

  Visible(const Operations& operations, const MPI_Request* all) : requests(operations.size()) {
    std::copy_n(all, operations.size(), requests.data());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i] == nullptr || !operations[i]->is_persistent()) continue;
      const Requests::Seen seen = Requests::get().see(*operations[i]);
      requests[i] = MPI_REQUEST_NULL;
      if (seen.complete) ready.push_back(static_cast<int>(i));
      pending = pending || seen.pending;
    }
  }
};

/// The MPI library's own requests among those of a call. MPICH's nonblocking collectives on files
/// move only in calls that are given their requests (generalised ones, with a function that polls).
class Others {
 public:
  /// `statuses`: one for each request. `all_end`: the call ends when all requests have, so that
  /// some may be completed before.
  Others(RequestList& list, MPI_Request* all, MPI_Status* statuses, bool all_end)
      : list_(list),
        operations_(*list.operations()),
        all_(all),
        statuses_(statuses),
        all_end_(all_end) {}
  /// Moves them. Where one has failed, the whole call ends as the MPI library's own would: what is
  /// complete is gone, and the rest is pending.
  int advance() {
    if (!mpi::quirks::kTestallRepeatsBadly) return MPI_SUCCESS;
    if (!found_) find();
    for (Ended& one : ended_) {
      if (one.flag != 0) continue;
      one.code = real_mpi().MPI_Test(&all_[one.place], &one.flag, &one.status);
      if (one.code == MPI_SUCCESS) continue;
      // The error is raised: to test more requests could call the error handler a second time.
      one.flag = 1;
      for (MPI_Status& status : told_of_) status.MPI_ERROR = MPI_ERR_PENDING;
      give_back();
      return MPI_ERR_IN_STATUS;
    }
    if (places_.empty()) return MPI_SUCCESS;
    int flag = kUntouched;
    int code = real_mpi().MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag,
                                      told_of_.data());
    code = told(code, flag);
    if (code != MPI_SUCCESS) give_back();
    return code;
  }
  /// Puts the statuses of those that had ended before the call did, with `code`, which it returns.
  int tell(int code) {
    for (const Ended& one : ended_) {
      if (one.flag == 0) continue;
      statuses_[one.place] = one.status;
      if (code != MPI_SUCCESS) statuses_[one.place].MPI_ERROR = one.code;
    }
    return code;
  }

 private:
  /// A request that is tested by itself, until it ends.
  struct Ended {
    std::size_t place;
    int flag = 0;
    int code = MPI_SUCCESS;
    MPI_Status status{};
  };
  void find() {
    found_ = true;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i] != nullptr || all_[i] == MPI_REQUEST_NULL) continue;
      const Untestable how = list_.untestable(i);
      if (how == Untestable::Beside) continue;
      if (how == Untestable::Again && all_end_) {
        ended_.push_back(Ended{i});
        continue;
      }
      places_.push_back(i);
      requests_.push_back(all_[i]);
    }
    // One that never ends: asked for all, the MPI library completes none, unless one has
    // failed.
    if (!places_.empty()) requests_.push_back(Requests::get().never());
    told_of_.resize(requests_.size());
  }
  void give_back() {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i] != nullptr) statuses_[i].MPI_ERROR = MPI_ERR_PENDING;
    }
    for (const Ended& one : ended_) statuses_[one.place].MPI_ERROR = MPI_ERR_PENDING;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      all_[places_[i]] = requests_[i];
      statuses_[places_[i]] = told_of_[i];
    }
    tell(MPI_ERR_IN_STATUS);
  }

  const RequestList& list_;
  const Operations& operations_;
  MPI_Request* all_;
  MPI_Status* statuses_;
  bool all_end_;
  bool found_ = false;
  Scratch<Ended, Others> ended_;
  Scratch<std::size_t, Others> places_;
  Scratch<MPI_Request, Others> requests_;
  Scratch<MPI_Status, Others> told_of_;
};

void wait_for(Operation& operation) {
  Requests& ours = Requests::get();
  Backoff backoff;
  for (ours.progress(&operation); ours.see(operation).pending; ours.progress(&operation))
    backoff.pause();
}

int wait(MPI_Request* request, MPI_Status* status) {
  Requests& ours = Requests::get();
  RequestList list(1, request);
  if (!list.empty()) {
    ours.hand_on();
    Statuses told_of(1, status);
    const int code = real_mpi().MPI_Wait(request, told_of.data());
    return finish_pending(*list.take(0), *request, *told_of.data(), code);
  }
  if (list.operations() == nullptr) {
    ours.hand_on();
    return unwatched_request(status,
                             [&](MPI_Status* at) { return real_mpi().MPI_Wait(request, at); });
  }
  Operation& operation = *(*list.operations())[0];
  wait_for(operation);
  const int code = real_mpi().MPI_Wait(request, status);
  return finish_one(operation, status, code);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (flag == nullptr) return real_mpi().MPI_Test(request, flag, status);
  Requests& ours = Requests::get();
  ours.progress_for(request != nullptr ? *request : MPI_REQUEST_NULL);
  RequestList list(1, request);
  Operation* const operation = list.operations() != nullptr ? (*list.operations())[0] : nullptr;
  if (!list.empty()) {
    Statuses told_of(1, status);
    const int code = real_mpi().MPI_Test(request, flag, told_of.data());
    if (code == MPI_SUCCESS && *flag == 0) return code;
    return finish_pending(*list.take(0), *request, *told_of.data(), code);
  }
  if (operation == nullptr) {
    return unwatched_request(
        status, [&](MPI_Status* at) { return real_mpi().MPI_Test(request, flag, at); });
  }
  *flag = 0;
  if (ours.see(*operation).pending) return MPI_SUCCESS;
  const int code = real_mpi().MPI_Test(request, flag, status);
  return *flag != 0 ? finish_one(*operation, status, code) : code;
}

/// Whether a call that completes requests of the MPI library's alone needs no statuses of Strake's.
bool says_enough(const MPI_Status* statuses) {
  return ShmEndpoint::get() == nullptr || (Statuses::ignored(statuses) && kCodeTells);
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Requests& ours = Requests::get();
  RequestList list(count, requests);
  if (list.operations() == nullptr) {
    ours.hand_on();
    if (list.empty() && says_enough(statuses))
      return unwatched_several([&] { return real_mpi().MPI_Waitall(count, requests, statuses); });
    Statuses told_of(count, statuses);
    const int code = told_of.code_of(
        list, 1, [&] { return real_mpi().MPI_Waitall(count, requests, told_of.data()); });
    return finish_all_pending(list, count, requests, told_of.data(), code);
  }
  Operations& operations = *list.operations();
  Statuses told_of(count, statuses);
  Others others(list, requests, told_of.data(), true);
  const auto is_awaited = [&](const Operation* operation) {
    return operation != nullptr && !(operation->is_persistent() && operation->offered()) &&
           ours.see(*operation).pending;
  };
  Backoff backoff;
  for (ours.progress(); std::ranges::any_of(operations, is_awaited); ours.progress()) {
    if (const int code = others.advance(); code != MPI_SUCCESS)
      return finish_all_pending(list, count, requests, told_of.data(), code);
    backoff.pause();
  }
  // The call may block for a request of the MPI library's own.
  if (std::find(operations.begin(), operations.end(), nullptr) != operations.end()) ours.hand_on();
  int code = told_of.code_of(
      list, 1, [&] { return real_mpi().MPI_Waitall(count, requests, told_of.data()); });
  code = finish_all_pending(list, count, requests, told_of.data(), code);
  // Offered persistent sends come last: their receivers may wait for receives of this rank, which
  // are done now.
  for (Operation* const operation : operations) {
    if (operation != nullptr && operation->is_persistent() && ours.see(*operation).pending)
      wait_for(*operation);
  }
  return others.tell(finish_many(told_of.without_pending(operations, code), told_of.data(),
                                 told(code, operations, requests)));
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (flag == nullptr) return real_mpi().MPI_Testall(count, requests, flag, statuses);
  Requests& ours = Requests::get();
  ours.progress();
  RequestList list(count, requests);
  Operations* const operations = list.operations();
  if (operations == nullptr && list.empty() && says_enough(statuses))
    return unwatched_several(
        [&] { return real_mpi().MPI_Testall(count, requests, flag, statuses); });
  Statuses told_of(count, statuses);
  *flag = 0;
  if (operations != nullptr && ours.any_pending(*operations)) {
    const int code = Others(list, requests, told_of.data(), false).advance();
    return code == MPI_SUCCESS ? code
                               : finish_all_pending(list, count, requests, told_of.data(), code);
  }
  int code = told_of.code_of(
      list, *flag, [&] { return real_mpi().MPI_Testall(count, requests, flag, told_of.data()); });
  if (*flag == 0 && !in_status(code)) return code;
  code = finish_all_pending(list, count, requests, told_of.data(), code);
  if (operations == nullptr) return code;
  return finish_many(told_of.without_pending(*operations, code), told_of.data(), code);
}

/// One round of Testany; `nothing`: no active request at all.
int try_any(RequestList& list, MPI_Request* requests, int* index, int* flag, MPI_Status* status,
            bool& nothing) {
  const Operations& operations = *list.operations();
  Requests::get().progress();
  nothing = false;
  Visible visible(operations, requests);
  if (!visible.ready.empty()) {
    *index = visible.ready[0];
    *flag = 1;
    const int code = real_mpi().MPI_Wait(&requests[*index], status);
    return finish_one(*operations[static_cast<std::size_t>(*index)], status, code);
  }
  const auto count = static_cast<int>(operations.size());
  *index = MPI_UNDEFINED;
  *flag = kUntouched;
  int code = real_mpi().MPI_Testany(count, visible.requests.data(), index, flag, status);
  code = told(code, *flag);
  if (*flag == 0 || *index == MPI_UNDEFINED) {
    nothing = *flag != 0 && !visible.pending;
    if (visible.pending) *flag = 0;
    return code;
  }
  const auto at = static_cast<std::size_t>(*index);
  requests[at] = visible.requests[at];
  if (Pending* const entry = list.take(*index)) {
    return finish_pending(*entry, requests[at], *status, code);
  }
  if (operations[at] != nullptr) return finish_one(*operations[at], status, code);
  if (code != MPI_SUCCESS) note_truncated(code, *status, nullptr);
  return code;
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  RequestList list(index != nullptr ? count : 0, requests);
  if (const int ended = list.next_ended(); ended >= 0) {
    *index = ended;
    return finish_any_pending(list, requests, ended, *StatusOr(status).get(), MPI_SUCCESS);
  }
  if (list.operations() == nullptr) {
    Requests::get().hand_on();
    if (list.empty())
      return unwatched_request(status, [&](MPI_Status* at) {
        return real_mpi().MPI_Waitany(count, requests, index, at);
      });
    Statuses told_of(1, status);
    *index = MPI_UNDEFINED;
    const int code = real_mpi().MPI_Waitany(count, requests, index, told_of.data());
    return finish_any_pending(list, requests, *index, *told_of.data(), code);
  }
  Statuses told_of(1, status);
  Backoff backoff;
  for (;;) {
    int flag = 0;
    bool nothing = false;
    const int code = try_any(list, requests, index, &flag, told_of.data(), nothing);
    if (nothing) return real_mpi().MPI_Waitany(count, requests, index, status);  // its empty status
    if (flag != 0 || code != MPI_SUCCESS) return code;
    backoff.pause();
  }
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  const bool complete_arguments = index != nullptr && flag != nullptr;
  RequestList list(complete_arguments ? count : 0, requests);
  if (const int ended = list.next_ended(); ended >= 0) {
    *index = ended;
    *flag = 1;
    return finish_any_pending(list, requests, ended, *StatusOr(status).get(), MPI_SUCCESS);
  }
  if (list.operations() == nullptr) {
    Requests::get().progress();
    if (list.empty())
      return unwatched_request(status, [&](MPI_Status* at) {
        return real_mpi().MPI_Testany(count, requests, index, flag, at);
      });
    Statuses told_of(1, status);
    *index = MPI_UNDEFINED;
    const int code = real_mpi().MPI_Testany(count, requests, index, flag, told_of.data());
    if (code == MPI_SUCCESS && *flag == 0) return code;
    return finish_any_pending(list, requests, *index, *told_of.data(), code);
  }
  Statuses told_of(1, status);
  bool nothing = false;
  const int code = try_any(list, requests, index, flag, told_of.data(), nothing);
  if (*flag == 0) *index = MPI_UNDEFINED;
  return code;
}

/// One round of Testsome; outcount is 0 while active requests are not there yet.
int try_some(RequestList& list, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) {
  const Operations& operations = *list.operations();
  Requests::get().progress();
  Visible visible(operations, requests);
  const auto count = static_cast<int>(operations.size());
  *outcount = kUntouched;
  int code = real_mpi().MPI_Testsome(count, visible.requests.data(), outcount, indices, statuses);
  code = told(code, *outcount);
  if (*outcount == MPI_UNDEFINED) {
    if (visible.ready.empty() && !visible.pending) return code;
    *outcount = 0;
  }
  for (int i = 0; i < *outcount; ++i) {
    const auto at = static_cast<std::size_t>(indices[i]);
    requests[at] = visible.requests[at];
  }
  code = finish_some_pending(list, requests, *outcount, indices, statuses, code);
  for (const int ready : visible.ready) {
    real_mpi().MPI_Wait(&requests[ready], MPI_STATUS_IGNORE);
    // In the order of their indices, as the libraries tell of them.
    int at = (*outcount)++;
    for (; at > 0 && indices[at - 1] > ready; --at) {
      indices[at] = indices[at - 1];
      if (statuses != MPI_STATUSES_IGNORE) statuses[at] = statuses[at - 1];
    }
    indices[at] = ready;
    if (statuses != MPI_STATUSES_IGNORE) statuses[at].MPI_ERROR = MPI_SUCCESS;
  }
  Operations completed;
  for (int i = 0; i < *outcount; ++i) {
    completed.push_back(operations[static_cast<std::size_t>(indices[i])]);
  }
  return finish_many(completed, statuses, code);
}

int waitsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  const bool complete_arguments = outcount != nullptr && indices != nullptr;
  RequestList list(complete_arguments ? count : 0, requests);
  if (const int ended = list.next_ended(); ended >= 0)
    return finish_all_ended(list, requests, ended, outcount, indices,
                            Statuses(count, statuses).data());
  if (list.operations() == nullptr) {
    Requests::get().hand_on();
    if (list.empty() && (ShmEndpoint::get() == nullptr || !complete_arguments))
      return real_mpi().MPI_Waitsome(count, requests, outcount, indices, statuses);
    Statuses told_of(count, statuses);
    *outcount = MPI_UNDEFINED;
    const int code = real_mpi().MPI_Waitsome(count, requests, outcount, indices, told_of.data());
    return finish_some_pending(list, requests, *outcount, indices, told_of.data(), code);
  }
  Statuses told_of(count, statuses);
  Backoff backoff;
  for (;;) {
    const int code = try_some(list, requests, outcount, indices, told_of.data());
    if (*outcount != 0 || code != MPI_SUCCESS) return code;
    backoff.pause();
  }
}

int testsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  const bool complete_arguments = outcount != nullptr && indices != nullptr;
  RequestList list(complete_arguments ? count : 0, requests);
  const bool ours = list.operations() != nullptr;
  const bool shares = ShmEndpoint::get() != nullptr;
  if (!complete_arguments || (!ours && list.empty() && !shares)) {
    Requests::get().progress();
    return real_mpi().MPI_Testsome(count, requests, outcount, indices, statuses);
  }
  Statuses told_of(count, statuses);
  if (const int ended = list.next_ended(); ended >= 0)
    return finish_all_ended(list, requests, ended, outcount, indices, told_of.data());
  if (ours) return try_some(list, requests, outcount, indices, told_of.data());
  Requests::get().progress();
  *outcount = MPI_UNDEFINED;
  const int code = real_mpi().MPI_Testsome(count, requests, outcount, indices, told_of.data());
  return finish_some_pending(list, requests, *outcount, indices, told_of.data(), code);
}

}  // namespace
}  // namespace strake::interpose

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/completion.hpp"
