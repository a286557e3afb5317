#include "mpi/communicators.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "state/process_state.hpp"

namespace strake::mpi {
namespace {

int g_key = MPI_KEYVAL_INVALID;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15U + (hash << 12) + (hash >> 4);
  hash *= 0xBF58476D1CE4E5B9U;
  return hash ^ (hash >> 31);
}

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, CommunicatorPtr> known;  ///< by handle
  /// How often communicators of the same ranks were made from one parent, by a hash of both.
  std::map<std::uint64_t, std::uint64_t> times_made;
};
Registry& registry() { return ProcessState::part<Registry>(); }

/// The communicator is about to be freed: its handle may be given to another one.
int forget(MPI_Comm comm, int /*key*/, void* /*value*/, void* /*state*/) {
  const std::lock_guard lock(registry().mutex);
  registry().known.erase(key_of(comm));
  g_communicator_changes.fetch_add(1, std::memory_order_release);
  return MPI_SUCCESS;
}

CommunicatorPtr known(MPI_Comm comm) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().known.find(key_of(comm));
  return found != registry().known.end() ? found->second : nullptr;
}

/// \throws std::bad_alloc
CommunicatorPtr remember(MPI_Comm comm, std::uint64_t name, std::vector<int> world) {
  auto made = std::make_shared<const Communicator>(name, std::move(world));
  // The attribute tells when it is freed.
  if (real_mpi().MPI_Comm_set_attr(comm, g_key, nullptr) != MPI_SUCCESS) return nullptr;
  const std::lock_guard lock(registry().mutex);
  registry().known.insert_or_assign(key_of(comm), made);
  g_communicator_changes.fetch_add(1, std::memory_order_release);  // it may be kept as unknown
  return made;
}

bool is_intra(MPI_Comm comm) noexcept {
  int inter = 1;
  return comm != MPI_COMM_NULL && real_mpi().MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS &&
         inter == 0;
}

}  // namespace

std::vector<int> world_ranks_of_group(MPI_Group group) {
  const RealMpi& real = real_mpi();
  int size = 0;
  check(real.MPI_Group_size(group, &size), "MPI_Group_size");
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> in_world(ranks.size());
  MPI_Group world = MPI_GROUP_NULL;
  check(real.MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check(real.MPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data()),
        "MPI_Group_translate_ranks");
  real.MPI_Group_free(&group);
  real.MPI_Group_free(&world);
  for (int& rank : in_world)
    if (rank == MPI_UNDEFINED) rank = -1;
  return in_world;
}

std::vector<int> world_ranks(MPI_Comm comm) {
  MPI_Group own = MPI_GROUP_NULL;
  check(real_mpi().MPI_Comm_group(comm, &own), "MPI_Comm_group");
  return world_ranks_of_group(own);
}

bool begin_communicators() noexcept {
  if (real_mpi().MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &g_key, nullptr) !=
      MPI_SUCCESS) {
    g_key = MPI_KEYVAL_INVALID;
    return false;
  }
  try {
    return remember(MPI_COMM_WORLD, 1, world_ranks(MPI_COMM_WORLD)) != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

void name_communicator(MPI_Comm parent, MPI_Comm made) noexcept {
  if (made == MPI_COMM_NULL) return;
  const CommunicatorPtr from = communicator(parent);
  if (from == nullptr || !is_intra(made)) return;
  CommunicatorPtr named;
  try {
    std::vector<int> world = world_ranks(made);
    std::uint64_t name = from->name;
    for (const int rank : world) name = mix(name, static_cast<std::uint64_t>(rank));
    std::uint64_t times = 0;
    {
      const std::lock_guard lock(registry().mutex);
      times = ++registry().times_made[name];
    }
    named = remember(made, mix(name, times), std::move(world));
  } catch (const std::exception&) {
    // `made` stays without a name.
  }
  if (from->number == 0) return;
  const std::int32_t number = agree_on_number(made, named != nullptr);
  if (named != nullptr) named->number = number;
}

const CommunicatorPtr& look_up_communicator(MPI_Comm comm) noexcept {
  static thread_local LastCommunicator of_thread;
  if (g_key == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL) return kNoCommunicator;
  LastCommunicator& last = g_multiple ? of_thread : g_last_communicator.last;
  const std::uint64_t changes = g_communicator_changes.load(std::memory_order_acquire);
  if (last.comm != comm || last.changes != changes) last = {comm, changes, known(comm)};
  return last.found;
}

void drop_companions() noexcept {
  // Companions free datatypes, and so may call the program: not while the registry is locked.
  std::vector<std::unique_ptr<Companion>> dropped;
  const std::lock_guard lock(registry().mutex);
  for (const auto& [handle, known] : registry().known)
    dropped.push_back(std::move(known->companion));
}

CommunicatorPtr communicator_named(std::uint64_t name) {
  const std::lock_guard lock(registry().mutex);
  for (const auto& [handle, known] : registry().known) {
    if (known->name == name) return known;
  }
  return nullptr;
}

}  // namespace strake::mpi
