// Probes and statuses. What Strake sends and receives are ordinary messages of the true size, so
// the system's own answers are right; probing is only an occasion for progress.
#include <mutex>
#include <new>
#include <unordered_map>

#include "exchange/engine.hpp"
#include "interpose/boundary.hpp"
#include "interpose/messages.hpp"

namespace strake::interpose {
namespace {

struct Messages {
  std::mutex mutex;
  std::unordered_map<MPI_Message, MPI_Comm> comms;
};

Messages& messages() {
  static auto& made = *new Messages;
  return made;
}

/// After a matched probe.
int matched(int code, const MPI_Message* message, MPI_Comm comm) {
  if (code == MPI_SUCCESS && t_depth == 0 && *message != MPI_MESSAGE_NULL &&
      *message != MPI_MESSAGE_NO_PROC) {
    try {
      const std::lock_guard lock(messages().mutex);
      messages().comms.insert_or_assign(*message, comm);
    } catch (const std::bad_alloc&) {
      // Its errors are then raised on MPI_COMM_WORLD.
    }
  }
  return code;
}

}  // namespace

MPI_Comm forget_message(const MPI_Message* message) {
  if (message == nullptr) return MPI_COMM_WORLD;
  const std::lock_guard lock(messages().mutex);
  const auto known = messages().comms.extract(*message);
  return known ? known.mapped() : MPI_COMM_WORLD;
}

}  // namespace strake::interpose

using namespace strake::interpose;
using strake::exchange::Engine;

STRAKE_MPI int MPI_Probe(int rank, int tag, MPI_Comm comm, MPI_Status* status) {
  if (t_depth == 0) Engine::get().hand_on();
  return next().MPI_Probe(rank, tag, comm, status);
}

STRAKE_MPI int MPI_Iprobe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (t_depth == 0) Engine::get().progress(nullptr);
  return next().MPI_Iprobe(rank, tag, comm, flag, status);
}

STRAKE_MPI int MPI_Mprobe(int rank, int tag, MPI_Comm comm, MPI_Message* message,
                          MPI_Status* status) {
  if (t_depth == 0) Engine::get().hand_on();
  return matched(next().MPI_Mprobe(rank, tag, comm, message, status), message, comm);
}

STRAKE_MPI int MPI_Improbe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                           MPI_Status* status) {
  if (t_depth == 0) Engine::get().progress(nullptr);
  const int code = next().MPI_Improbe(rank, tag, comm, flag, message, status);
  return code == MPI_SUCCESS && *flag != 0 ? matched(code, message, comm) : code;
}

STRAKE_MPI int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  return next().MPI_Get_count(status, type, count);
}

STRAKE_MPI int MPI_Get_elements(const MPI_Status* status, MPI_Datatype type, int* count) {
  return next().MPI_Get_elements(status, type, count);
}

STRAKE_MPI int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return next().MPI_Get_elements_x(status, type, count);
}

#if STRAKE_MPI_LARGE_COUNTS
STRAKE_MPI int MPI_Get_count_c(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return next().MPI_Get_count_c(status, type, count);
}

STRAKE_MPI int MPI_Get_elements_c(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return next().MPI_Get_elements_c(status, type, count);
}
#endif
