/// \file  The statuses of a call that completes requests, or tells how far they are: they tell what
/// the call's code does not.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <limits>
#include <utility>

#include "interpose/outcomes.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "memory/scratch.hpp"
#include "mpi/quirks.hpp"

namespace strake::interpose {

/// Lends a status of ours where the caller wants none, and else the caller's own.
class StatusOr {
 public:
  explicit StatusOr(MPI_Status* status) : status_(status == MPI_STATUS_IGNORE ? &own_ : status) {}
  MPI_Status* get() { return status_; }

 private:
  MPI_Status own_{};
  MPI_Status* status_;
};

/// The caller's, or statuses of Strake's own where the caller wants none: receives are unpacked by
/// them, and they alone tell which requests a failure has left as they were.
class Statuses {
 public:
  Statuses(int count, MPI_Status* statuses)
      : count_(count > 0 ? static_cast<std::size_t>(count) : 0),
        own_(ignored(statuses) ? count_ : 0),
        statuses_(ignored(statuses) ? own_.data() : statuses) {}
  [[nodiscard]] static bool ignored(const MPI_Status* statuses) noexcept {
    return statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE;
  }
  MPI_Status* data() { return statuses_; }
  /// The code of the MPI library's call that completes all, also where the library hides it; `flag`
  /// is what the call sets.
  template <typename Call>
  int code_of(RequestList& pending, const int& flag, Call&& call) {
    if (!mpi::quirks::kHandledErrorsAreSuccess) return call();
    Scratch<Fields> before(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      before[i] = {std::exchange(statuses_[i].MPI_SOURCE, kUnset),
                   std::exchange(statuses_[i].MPI_ERROR, kUnset)};
    }
    int code = call();
    bool refused = false;  // no receive that is complete leaves its status
    for (std::size_t i = 0; i < count_; ++i) {
      MPI_Status& status = statuses_[i];
      const bool error_is_set = status.MPI_ERROR != kUnset;
      if (status.MPI_SOURCE == kUnset) {
        status.MPI_SOURCE = before[i].source;
        const Pending* const entry = pending[static_cast<int>(i)];
        if (entry != nullptr && entry->receives() && !error_is_set) refused = flag != 0;
      }
      if (!error_is_set) status.MPI_ERROR = before[i].error;
      if (error_is_set && status.MPI_ERROR != MPI_SUCCESS && code == MPI_SUCCESS) {
        code = MPI_ERR_IN_STATUS;
      }
    }
    return code == MPI_SUCCESS && refused ? MPI_ERR_REQUEST : code;
  }
  /// Drops those whose requests the call has left as they were.
  Operations& without_pending(Operations& operations, int code) const {
    if (!in_status(code)) return operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (class_of(statuses_[i].MPI_ERROR) == MPI_ERR_PENDING) operations[i] = nullptr;
    }
    return operations;
  }
  /// MPI_Request_get_status has told that the request is complete, by status `i`: a receive of
  /// Strake's is unpacked. MPICH since 4.2 tells that of a persistent request once, so it can't be
  /// asked again.
  void unpack(MPI_Request request, int i) {
    if (Pending* const pending = find_pending(request)) unpack_pending(*pending, statuses_[i]);
  }

 private:
  struct Fields {
    int source;
    int error;
  };
  static constexpr int kUnset = std::numeric_limits<int>::min();  ///< no rank and no error

  std::size_t count_;
  Scratch<MPI_Status> own_;
  MPI_Status* statuses_;
};

}  // namespace strake::interpose
