/// \file  Receives with less room than a header message may have. Those that are too short for the
/// one that comes fail in the MPI library, and nothing of it is looked at. If one has failed for
/// want of room (MPI_ERR_TRUNCATE, survived), the message may have been one by shared memory: if
/// there is a descriptor that may be its own, that is a suspect from then on
/// (exchange/transport/shared/peer_segments.hpp), and every later receive with so little room gets
/// memory of Strake's with room for a header message (Landing), so that what it names is known.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "exchange/transport/shared/header_messages.hpp"
#include "mpi/communicators.hpp"
#include "mpi/quirks.hpp"

namespace strake::interpose {

/// A receive has ended with the error `error`, as `status` says. `comm` is its communicator; null
/// where that is not known. A status whose source is MPI_UNDEFINED says nothing. Does nothing for
/// errors other than MPI_ERR_TRUNCATE.
void note_truncated(int error, const MPI_Status& status, mpi::CommunicatorPtr comm) noexcept;

/// Some receive has failed, of which nothing is known.
void note_untold() noexcept;

/// Runs `call()`, which completes several requests, nothing of which Strake looks at, and whose
/// statuses the application ignores. Receives with little room may have been too short for their
/// messages if it fails. (With statuses of Strake's own MPICH takes 2 us longer for 32 requests.)
template <typename Call>
int unwatched_several(const Call& call) {
  const int code = call();
  if (code != MPI_SUCCESS) [[unlikely]]
    note_untold();
  return code;
}
/// Whether the code of such a call says that one of its receives has failed.
inline constexpr bool kCodeTells = !mpi::quirks::kHandledErrorsAreSuccess;

/// Runs `call(status)`, which receives one message or completes one request, nothing of which
/// Strake looks at: `failed(code, status)` where it fails.
template <typename Call, typename Failed>
int unwatched(MPI_Status* status, const Call& call, const Failed& failed) {
  if (exchange::shared::ShmEndpoint::get() == nullptr) return call(status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) {
    status = &own;
  } else if (status == nullptr) {
    return call(status);  // which is refused
  }
  // Some libraries, and refused calls, leave the status as it was.
  const int before = status->MPI_SOURCE;
  status->MPI_SOURCE = MPI_UNDEFINED;
  if (mpi::quirks::kHandledErrorsAreSuccess) status->MPI_ERROR = MPI_SUCCESS;
  const int code = call(status);
  const int error =
      mpi::quirks::kHandledErrorsAreSuccess && code == MPI_SUCCESS ? status->MPI_ERROR : code;
  if (error != MPI_SUCCESS) [[unlikely]]
    failed(error, *status);
  if (status->MPI_SOURCE == MPI_UNDEFINED) status->MPI_SOURCE = before;
  return code;
}
/// As unwatched(), of one request: `call(status)` completes it, or does not.
template <typename Call>
int unwatched_request(MPI_Status* status, const Call& call) {
  return unwatched(status, call,
                   [](int error, const MPI_Status& told) { note_truncated(error, told, nullptr); });
}

/// A receive that a message was too long for.
struct Truncated {
  int source = MPI_UNDEFINED;
  int tag = 0;
  std::int64_t length = 0;    ///< [bytes] 0: not known
  mpi::CommunicatorPtr comm;  ///< null: not known
};
/// Hands over the receives that were noted since the last call.
[[nodiscard]] std::vector<Truncated> take_truncated() noexcept;
/// Whether to look at suspects now: ever more rarely since the last one was noted.
[[nodiscard]] bool is_time_for_suspects() noexcept;
/// From now on receives with little room get room for a header message.
void look_at_short_receives() noexcept;

}  // namespace strake::interpose
