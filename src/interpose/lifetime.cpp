// Start and end: MPI_Init, MPI_Init_thread, MPI_Finalize, sessions. The start does not touch
// a device.
#include <atomic>
#include <cstring>

#include "exchange/collective/cell_channel.hpp"
#include "interpose/boundary.hpp"
#include "interpose/counters.hpp"
#include "interpose/recorded_graph.hpp"
#include "interpose/requests.hpp"
#include "interpose/sharing.hpp"
#include "interpose/summary.hpp"
#include "interpose/times.hpp"
#include "job/first.hpp"
#include "job/report.hpp"
#include "mpi/communicators.hpp"
#include "mpi/own_world.hpp"
#include "mpi/world.hpp"
#include "settings/complaints.hpp"
#include "state/process_state.hpp"

namespace strake::interpose {
namespace {

struct Lifetime {
  bool ends_with_self = false;  ///< MPI_Finalize calls end()
  std::atomic<int> sessions{0};
};
Lifetime& lifetime() noexcept { return ProcessState::part<Lifetime>(); }

int end(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*state*/) {
  end_pending();
  Requests::get().shut_down();
  end_sharing();
  summarise();
  recorded::write();
  mpi::drop_companions();
  exchange::complete_copies();
  mpi::close_own_world();
  return MPI_SUCCESS;
}

/// Lets MPI_Finalize call end(): it begins with the delete callbacks of MPI_COMM_SELF's attributes,
/// the last one set first. The application's callbacks may still complete requests, and those of
/// planned exchanges say to waiting ranks that this one waits no longer. So the interposer's is set
/// in MPI_Init and called last. The summary waits for all ranks: it comes after that.
bool end_with_self() noexcept {
  const mpi::RealMpi& real = real_mpi();
  int key = MPI_KEYVAL_INVALID;
  return real.MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &key, nullptr) == MPI_SUCCESS &&
         real.MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS &&
         real.MPI_Comm_free_keyval(&key) == MPI_SUCCESS;
}

/// Tells `strake run` that MPI reached Strake.
void report_start() noexcept {
  job::leave_letter(settings::text(settings::Id::job), job::Letter::Started);
}

int started(int code) noexcept {
  if (code != MPI_SUCCESS) return code;
  report_start();
  int level = MPI_THREAD_SINGLE;
  real_mpi().MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) {
    set_multiple();
    job::leave_letter(settings::text(settings::Id::job), job::Letter::Threads);
  }
  lifetime().ends_with_self = end_with_self();
  const bool spawned = note_parent();
  int rank = 0;
  real_mpi().MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && !spawned) settings::report_complaints();
  int ranks = 0;
  real_mpi().MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks == 1 && !spawned && job::launched_ranks() > 1)
    job::leave_letter(settings::text(settings::Id::job), job::Letter::Alone);
  begin_sharing(rank, spawned);
  trying::start();
  if (!spawned) recorded::start();
  if ((summary_wanted() || recorded::is_on()) && !spawned) times::start();
  return code;
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

int calls::MPI_Init(int* argc, char*** argv) { return started(real_mpi().MPI_Init(argc, argv)); }

int calls::MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return started(real_mpi().MPI_Init_thread(argc, argv, required, provided));
}

#if STRAKE_MPI_SESSIONS
namespace {
/// Whether several threads may use the session at once. True if the MPI library does not say.
bool is_multiple(MPI_Session session) noexcept {
  using GetInfo = decltype(&::MPI_Session_get_info);
  static const auto get_info =
      reinterpret_cast<GetInfo>(strake::mpi::find_real("MPI_Session_get_info"));
  const strake::mpi::RealMpi& real = real_mpi();
  MPI_Info info = MPI_INFO_NULL;
  if (get_info == nullptr || get_info(session, &info) != MPI_SUCCESS) return true;
  char level[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  real.MPI_Info_get(info, "thread_level", MPI_MAX_INFO_VAL, level, &found);
  real.MPI_Info_free(&info);
  return found == 0 || std::strcmp(level, "MPI_THREAD_MULTIPLE") == 0;
}
}  // namespace

int calls::MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  const int code = real_mpi().MPI_Session_init(info, handler, session);
  if (code != MPI_SUCCESS) return code;
  ++lifetime().sessions;
  report_start();
  if (is_multiple(*session)) {
    set_multiple();
    stop_sharing();
  }
  return code;
}

int calls::MPI_Session_finalize(MPI_Session* session) {
  Requests& ours = Requests::get();
  ours.hand_on();
  if (lifetime().sessions == 1 && !strake::mpi::in_world()) ours.forget();
  const int code = real_mpi().MPI_Session_finalize(session);
  if (code == MPI_SUCCESS) --lifetime().sessions;
  return code;
}
#endif

int calls::MPI_Finalize() {
  const bool ends_with_self = lifetime().ends_with_self;
  if (!ends_with_self) end_pending();
  ends_with_self ? Requests::get().hand_on() : Requests::get().shut_down();
  if (!ends_with_self) end_sharing();
  report_start();  // MPI_Init may have been called past Strake
  if (!ends_with_self) {
    summarise();
    recorded::write();
  }
  const int code = real_mpi().MPI_Finalize();
  strake::mpi::leave_world();
  return code;
}
