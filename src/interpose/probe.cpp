// Probes and statuses. Most of Strake's messages are ordinary ones of the true size, so the MPI
// library's answers are right, and a probe is only an occasion for progress. Of a header message it
// tells what that stands for.
#include "interpose/boundary.hpp"
#include "interpose/messages.hpp"
#include "interpose/passed.hpp"
#include "interpose/requests.hpp"
#include "interpose/statuses.hpp"
#include "interpose/true_size.hpp"
#include "mpi/wire.hpp"

namespace {

/// After a probe that has found a message. True: it has the size of a header message.
bool found(MPI_Status* status, MPI_Comm comm, bool matched) {
  if (strake::exchange::shared::ShmEndpoint::get() == nullptr || strake::interpose::g_disabled ||
      status == MPI_STATUS_IGNORE)
    return false;
  const std::int64_t bytes = strake::mpi::received_bytes(*status);
  if (!strake::exchange::shared::like_header(bytes)) return false;
  (void)strake::interpose::guarded(comm, [&] {
    strake::interpose::tell_true_size(*status, comm, matched);
    return MPI_SUCCESS;
  });
  return true;
}

/// After MPI_Mprobe or MPI_Improbe has matched a message.
int matched(int code, const MPI_Message* message, MPI_Comm comm, MPI_Status* status) {
  if (code != MPI_SUCCESS) return code;
  strake::interpose::remember_message(*message, comm, found(status, comm, true));
  return code;
}

}  // namespace

using namespace strake::interpose;

int calls::MPI_Iprobe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (t_depth == 0) Requests::get().progress(nullptr);
  const int code = real_mpi().MPI_Iprobe(rank, tag, comm, flag, status);
  if (code == MPI_SUCCESS && *flag != 0) found(status, comm, false);
  return code;
}

int calls::MPI_Probe(int rank, int tag, MPI_Comm comm, MPI_Status* status) {
  const int code = pass<kBlocking>(real_mpi().MPI_Probe, rank, tag, comm, status);
  if (code == MPI_SUCCESS) found(status, comm, false);
  return code;
}

int calls::MPI_Mprobe(int rank, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  StatusOr told(status);
  const int code = pass<kBlocking>(real_mpi().MPI_Mprobe, rank, tag, comm, message, told.get());
  return matched(code, message, comm, told.get());
}

int calls::MPI_Improbe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                       MPI_Status* status) {
  if (t_depth == 0) Requests::get().progress(nullptr);
  StatusOr told(status);
  const int code = real_mpi().MPI_Improbe(rank, tag, comm, flag, message, told.get());
  if (code != MPI_SUCCESS || *flag == 0) return code;
  return matched(code, message, comm, told.get());
}
