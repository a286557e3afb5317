#include "interpose/sharing.hpp"

#include <atomic>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exchange/choice/forced.hpp"
#include "exchange/transport/shared/shm_endpoint.hpp"
#include "interpose/inside.hpp"
#include "interpose/reached.hpp"
#include "job/names.hpp"
#include "machine/islands.hpp"
#include "memory/sharing/arenas.hpp"
#include "memory/sharing/directories.hpp"
#include "mpi/communicators.hpp"
#include "mpi/job.hpp"
#include "mpi/nodes.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using exchange::shared::ShmEndpoint;

struct SharingState {
  std::atomic<Sharing> sharing{Sharing::Off};
  Shared at_end;  ///< once the endpoint is closed
};
SharingState& own_state() noexcept { return ProcessState::part<SharingState>(); }

Sharing try_to_begin(int rank, bool spawned) {
  const std::string_view job = settings::text(settings::Id::job);
  if (g_disabled || !settings::flag(settings::Id::share)) return Sharing::Off;
  int ranks = 0;
  mpi::real_mpi().MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // The only rank of a job may send to itself.
  if (ranks > 1 && mpi::local_ranks() == 1) return Sharing::Alone;
  const std::optional<std::string> launch = mpi::launch_id();
  if (job.empty() || spawned || !launch) return Sharing::NoJob;
  if (mpi::g_multiple) return Sharing::Threads;
  if (const std::string unreached = unreached_function(); !unreached.empty()) {
    log::info("calls of {} do not reach Strake, so rank {} shares no messages", unreached, rank);
    return Sharing::Functions;
  }
  sharing::SharedDirectory directory;
  try {
    directory = sharing::directory_of(job::hash_of(job));
  } catch (const Unsupported& error) {
    log::info("rank {} shares no messages: {}", rank, error.what());
    return Sharing::Directory;
  }
  if (mpi::communicator(MPI_COMM_WORLD) == nullptr) return Sharing::Resources;
  ShmEndpoint::open(std::move(directory), *launch, rank, ranks);
  return ShmEndpoint::get() != nullptr ? Sharing::Yes : Sharing::Resources;
}

}  // namespace

const char* name_of(Sharing sharing) noexcept {
  constexpr const char* kNames[] = {"take part",
                                    "it is turned off",
                                    "no other rank is on the node",
                                    "not the ranks of a job that strake run and a launcher name",
                                    "several threads may be in MPI at a time",
                                    "some MPI functions do not reach Strake",
                                    "no memory, or no socket, could be had",
                                    "the job's private directory could not be made"};
  static_assert(std::size(kNames) == kSharings);
  return kNames[static_cast<int>(sharing)];
}

const char* name_of(sharing::HeapUse use) noexcept {
  constexpr const char* kNames[] = {"it is not loaded, or these are no ranks of a launcher",
                                    "in use",
                                    "a sanitizer has an allocator of its own",
                                    "the program's malloc is its own",
                                    "the address space is limited (ulimit -v)",
                                    "the size of files is limited (ulimit -f)",
                                    "private memory is limited (ulimit -d)",
                                    "vm.overcommit_memory is 2",
                                    "there are no addresses for it",
                                    "the process is a child of fork()"};
  static_assert(std::size(kNames) == sharing::kHeapUses);
  return kNames[static_cast<int>(use)];
}

const char* name_of(sharing::HeapDeclined why) noexcept {
  constexpr const char* kNames[] = {"longer than 32 GiB, or the heap is full",
                                    "the kernel gave no memory"};
  static_assert(std::size(kNames) == sharing::kHeapDeclined);
  return kNames[static_cast<int>(why)];
}

SharedHeap heap() noexcept {
  SharedHeap found;
  const sharing::HeapView* const view = sharing::shared_heap();
  const auto use = view == nullptr ? sharing::HeapUse::Off : view->use.load();
  found.ranks[static_cast<std::size_t>(use)] = 1;
  if (view == nullptr) return found;
  found.blocks = view->blocks.load(std::memory_order_relaxed);
  found.bytes = view->bytes.load(std::memory_order_relaxed);
  for (std::size_t why = 0; why < found.declined.size(); ++why)
    found.declined[why] = view->declined[why].load(std::memory_order_relaxed);
  found.small_pages = view->loses_huge_pages ? 1 : 0;
  return found;
}

void begin_sharing(int rank, bool spawned) noexcept {
  const bool in_job = !spawned && !settings::text(settings::Id::job).empty();
  const bool named = in_job && !g_disabled && !mpi::g_multiple && mpi::begin_communicators();
  try {
    own_state().sharing = try_to_begin(rank, spawned);
  } catch (const std::exception& error) {
    log::info("rank {} takes no messages by shared memory: {}", rank, error.what());
    own_state().sharing = Sharing::Resources;
  }
  // The job's name promises that all ranks come here.
  if (!in_job) return;
  const exchange::Forced* const forced = exchange::forced();
  const bool library = forced != nullptr && forced->host_messages == machine::Transport::Library;
  const std::string_view collectives = settings::text(settings::Id::collectives);
  const bool relayed = collectives == "relays";
  const std::string_view reorder = settings::text(settings::Id::reorder);
  const bool may_reorder = !g_disabled && reorder != "0";
  const bool knows_nodes = mpi::learn_nodes(may_reorder ? machine::own_island(rank) : 0);
  const std::int32_t number =
      mpi::open_own_world({.off = !named || !knows_nodes || library || collectives == "0",
                           .forced = forced != nullptr || relayed || collectives == "pairs",
                           .untried = !settings::flag(settings::Id::trials),
                           .relayed = relayed,
                           .kept = g_disabled || !knows_nodes || reorder == "0",
                           .reordered = reorder == "1"});
  if (const mpi::CommunicatorPtr world = mpi::communicator(MPI_COMM_WORLD)) world->number = number;
}

void stop_sharing() noexcept {
  if (ShmEndpoint* const endpoint = ShmEndpoint::get()) endpoint->stop_sending();
}

void end_sharing() noexcept {
  own_state().at_end = shared();
  ShmEndpoint::close();
}

Sharing sharing() noexcept { return own_state().sharing; }

Shared shared() noexcept {
  const ShmEndpoint* const endpoint = ShmEndpoint::get();
  if (endpoint == nullptr) return own_state().at_end;
  return {static_cast<std::uint64_t>(endpoint->directory().ranks_reached()),
          endpoint->offers_late(), endpoint->bytes_in_ordinary_memory(), endpoint->unshareable()};
}

}  // namespace strake::interpose
