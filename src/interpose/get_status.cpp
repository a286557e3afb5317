// MPI_Request_get_status and its forms for several requests (MPI 4.1): they tell how far requests
// are, and leave them as they are.
#include <algorithm>
#include <optional>
#include <vector>

#include "interpose/boundary.hpp"
#include "interpose/pending.hpp"
#include "interpose/requests.hpp"
#include "interpose/statuses.hpp"
#include "mpi/quirks.hpp"

namespace strake::interpose {
namespace {

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const auto pass_on = [&] { return real_mpi().MPI_Request_get_status(request, flag, status); };
  if (flag == nullptr) return pass_on();
  Requests& ours = Requests::get();
  ours.progress_for(request);
  RequestEntry* const entry = RequestTable::get().find(request);
  Operation* const operation = as_operation(entry);
  if (Pending* const pending = as_pending(entry)) {
    Statuses told_of(1, status);
    const bool told_before = pending->ended.has_value();
    const int code = ask_pending(*pending, request, *flag, *told_of.data());
    if (told_before && code != MPI_SUCCESS) return raise(MPI_COMM_WORLD, code);
    const bool complete = code == MPI_SUCCESS && *flag != 0;
    const bool fits = !complete || unpack_pending(*pending, *told_of.data());
    return fits || !mpi::quirks::kAskingRaises ? code : raise(MPI_COMM_WORLD, MPI_ERR_TRUNCATE);
  }
  const Requests::Seen seen = operation != nullptr ? ours.see(*operation) : Requests::Seen{};
  if (seen.pending) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int code = pass_on();
  if (seen.persistent && seen.complete && status != MPI_STATUS_IGNORE) {
    const int error = status->MPI_ERROR;
    *status = seen.status;
    status->MPI_ERROR = error;
  }
  if (mpi::quirks::kAskingRaises && *flag != 0 && seen.error != MPI_SUCCESS) {
    return raise(MPI_COMM_WORLD, seen.error);
  }
  return code;
}

}  // namespace
}  // namespace strake::interpose

#if STRAKE_MPI_STATUS_OF_SEVERAL
namespace strake::interpose {
namespace {

/// How far a request of Strake's is, or one of which the MPI library has told Strake that it is
/// complete, and tells nobody else. Nothing for others.
std::optional<Requests::Seen> seen_here(MPI_Request request) {
  RequestEntry* const entry = RequestTable::get().find(request);
  if (const Operation* const operation = as_operation(entry)) return Requests::see(*operation);
  const Pending* const pending = as_pending(entry);
  if (pending == nullptr || !pending->ended) return std::nullopt;
  Requests::Seen seen;
  seen.complete = true;
  return seen;
}

/// The requests of a call: those of which Strake tells, and the array without them, for the MPI
/// library.
struct Split {
  std::vector<MPI_Request> others;
  std::vector<int> complete;  ///< indices of ours
  bool pending = false;       ///< one of ours is not there yet

  Split(int count, const MPI_Request* all) : others(all, all + count) {
    Requests::get().progress();
    for (int i = 0; i < count; ++i) {
      const auto seen = seen_here(all[i]);
      if (!seen) continue;
      others[static_cast<std::size_t>(i)] = MPI_REQUEST_NULL;
      if (seen->complete) complete.push_back(i);
      pending = pending || seen->pending;
    }
  }
};

/// The MPI library's answer for `count` requests of which some are Strake's.
template <typename PassOn, typename Ours>
int split(int count, const MPI_Request* requests, bool complete_arguments, PassOn&& pass_on,
          Ours&& ours) {
  return completion([&] { return pass_on(requests); },
                    [&] {
                      const bool known =
                          requests != nullptr &&
                          std::any_of(requests, requests + std::max(count, 0),
                                      [](MPI_Request one) { return seen_here(one).has_value(); });
                      if (known && complete_arguments) return ours(Split(count, requests));
                      Requests::get().progress();
                      return pass_on(requests);
                    });
}

using mpi::quirks::AskedRequests;

/// As the MPI library takes them, which changes none.
AskedRequests asked(const MPI_Request* requests) { return const_cast<AskedRequests>(requests); }

MPI_Status* at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

int calls::MPI_Request_get_status_all(int count, AskedRequests requests, int* flag,
                                      MPI_Status statuses[]) {
  const auto pass_on = [&](const MPI_Request* all) {
    Statuses told_of(count, statuses);
    const int code = real_mpi().MPI_Request_get_status_all(count, asked(all), flag, told_of.data());
    for (int i = 0; code == MPI_SUCCESS && flag != nullptr && *flag != 0 && i < count; ++i) {
      told_of.unpack(all[i], i);
    }
    return code;
  };
  return split(count, requests, flag != nullptr, pass_on, [&](const Split& /*seen*/) {
    int all = 1;
    for (int i = 0; i < count; ++i) {
      int one = 0;
      const int code = get_status(requests[i], &one, at(statuses, i));
      if (code != MPI_SUCCESS) return code;
      all &= one;
    }
    *flag = all;
    return MPI_SUCCESS;
  });
}

int calls::MPI_Request_get_status_any(int count, AskedRequests requests, int* index, int* flag,
                                      MPI_Status* status) {
  const auto pass_on = [&](const MPI_Request* all) {
    Statuses told_of(1, status);
    const int code =
        real_mpi().MPI_Request_get_status_any(count, asked(all), index, flag, told_of.data());
    if (code == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED) {
      told_of.unpack(all[*index], 0);
    }
    return code;
  };
  return split(count, requests, index != nullptr && flag != nullptr, pass_on, [&](Split seen) {
    if (!seen.complete.empty()) {
      *index = seen.complete.front();
      const int code = get_status(requests[*index], flag, status);
      // Another thread may be about to tell the MPI library that it is complete.
      if (*flag == 0) *index = MPI_UNDEFINED;
      return code;
    }
    const int code = pass_on(seen.others.data());
    if (seen.pending && *index == MPI_UNDEFINED) *flag = 0;
    return code;
  });
}

int calls::MPI_Request_get_status_some(int count, AskedRequests requests, int* outcount,
                                       int indices[], MPI_Status statuses[]) {
  const auto pass_on = [&](const MPI_Request* all) {
    Statuses told_of(count, statuses);
    const int code = real_mpi().MPI_Request_get_status_some(count, asked(all), outcount, indices,
                                                            told_of.data());
    for (int i = 0; code == MPI_SUCCESS && *outcount != MPI_UNDEFINED && i < *outcount; ++i) {
      told_of.unpack(all[indices[i]], i);
    }
    return code;
  };
  return split(count, requests, outcount != nullptr && indices != nullptr, pass_on,
               [&](Split seen) {
                 int code = pass_on(seen.others.data());
                 if (*outcount == MPI_UNDEFINED && (seen.pending || !seen.complete.empty()))
                   *outcount = 0;
                 for (std::size_t i = 0; i < seen.complete.size() && code == MPI_SUCCESS; ++i) {
                   int flag = 0;
                   indices[*outcount] = seen.complete[i];
                   code = get_status(requests[seen.complete[i]], &flag, at(statuses, *outcount));
                   *outcount += flag;
                 }
                 return code;
               });
}
#endif

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/get_status.hpp"
