#include "interpose/sharing.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <iterator>
#include <optional>
#include <string>

#include "exchange/shared/post_office.hpp"
#include "interpose/boundary.hpp"
#include "mpi/communicators.hpp"
#include "mpi/job.hpp"
#include "settings/log.hpp"

namespace strake::interpose {
namespace {

using exchange::shared::PostOffice;

std::atomic<Sharing> g_sharing{Sharing::Off};
std::atomic<int> g_shared_with{0};

constexpr const char* kMustReach[] = {
    "MPI_Recv",
    "MPI_Irecv",
    "MPI_Recv_init",
    "MPI_Mrecv",
    "MPI_Imrecv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Isendrecv",
    "MPI_Isendrecv_replace",
    "MPI_Recv_c",
    "MPI_Irecv_c",
    "MPI_Recv_init_c",
    "MPI_Mrecv_c",
    "MPI_Imrecv_c",
    "MPI_Sendrecv_c",
    "MPI_Sendrecv_replace_c",
    "MPI_Isendrecv_c",
    "MPI_Isendrecv_replace_c",
    "MPI_Probe",
    "MPI_Iprobe",
    "MPI_Mprobe",
    "MPI_Improbe",
    "MPI_Start",
    "MPI_Startall",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Waitsome",
    "MPI_Test",
    "MPI_Testall",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Request_get_status",
    "MPI_Request_get_status_all",
    "MPI_Request_get_status_any",
    "MPI_Request_get_status_some",
    "MPI_Request_free",
    "MPI_Cancel",
};

/// The begin of the object that an address is in.
const void* object_of(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

Sharing try_to_begin(int rank, bool spawned) {
  const std::string_view job = settings::text(settings::Id::job);
  if (g_disabled || !settings::flag(settings::Id::share)) return Sharing::Off;
  const std::optional<std::string> launch = mpi::launch_id();
  if (job.empty() || spawned || !launch) return Sharing::NoJob;
  if (mpi::g_multiple) return Sharing::Threads;
  if (const char* const unreached = unreached_function()) {
    log::info("calls of {} do not reach Strake, so rank {} takes no messages by shared memory",
              unreached, rank);
    return Sharing::Functions;
  }
  if (!mpi::begin_communicators()) return Sharing::Resources;
  int ranks = 0;
  real_mpi().MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PostOffice::open(fmt::format("{} {}", job, *launch), rank, ranks);
  return PostOffice::get() != nullptr ? Sharing::Yes : Sharing::Resources;
}

}  // namespace

const char* name_of(Sharing sharing) noexcept {
  constexpr const char* kNames[] = {"take part",
                                    "it is turned off",
                                    "not the ranks of a job that strake run and a launcher name",
                                    "several threads may be in MPI at a time",
                                    "some MPI functions do not reach Strake",
                                    "no memory, or no socket, could be had"};
  static_assert(std::size(kNames) == kSharings);
  return kNames[static_cast<int>(sharing)];
}

const char* unreached_function() noexcept {
  static const char here = 0;
  const void* const own = object_of(&here);
  for (const char* const name : kMustReach) {
    if (mpi::find_real(name) == nullptr) continue;
    const void* const first = dlsym(RTLD_DEFAULT, name);
    if (first == nullptr || object_of(first) != own) return name;
  }
  return nullptr;
}

void begin_sharing(int rank, bool spawned) noexcept {
  try {
    g_sharing = try_to_begin(rank, spawned);
  } catch (const std::exception& error) {
    log::info("rank {} takes no messages by shared memory: {}", rank, error.what());
    g_sharing = Sharing::Resources;
  }
}

void stop_sharing() noexcept {
  if (PostOffice* const office = PostOffice::get()) office->stop_sending();
}

void end_sharing() noexcept {
  g_shared_with = ranks_shared_with();
  PostOffice::close();
}

Sharing sharing() noexcept { return g_sharing; }

int ranks_shared_with() noexcept {
  const PostOffice* const office = PostOffice::get();
  return office != nullptr ? office->ranks_reached() : g_shared_with.load();
}

}  // namespace strake::interpose
