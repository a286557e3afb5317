/// \file  Known communicators. Each has a name that all of its ranks give it without asking each
/// other, and a list of its ranks' numbers in MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/companion.hpp"
#include "mpi/world.hpp"

namespace strake::mpi {

struct Communicator {
  Communicator(std::uint64_t its_name, std::vector<int> ranks)
      : name(its_name), world(std::move(ranks)) {}
  std::uint64_t name = 0;  ///< two have the same by a chance of 2^-64
  std::vector<int> world;  ///< its ranks in MPI_COMM_WORLD; negative: a rank of another job
  /// The number by which all of its ranks know it (mpi/own_world.hpp); 0: it has none.
  mutable std::int32_t number = 0;
  /// The object that a higher layer attaches to the communicator.
  mutable std::unique_ptr<Companion> companion;

  /// Negative if there is no such rank, or it is of another job.
  [[nodiscard]] int world_rank(int rank) const noexcept {
    const bool there = rank >= 0 && rank < static_cast<int>(world.size());
    const int found = there ? world[static_cast<std::size_t>(rank)] : MPI_UNDEFINED;
    return found >= 0 ? found : -1;
  }
};

using CommunicatorPtr = std::shared_ptr<const Communicator>;

/// After MPI_Init, before the functions below: names MPI_COMM_WORLD. False if that can't be done.
[[nodiscard]] bool begin_communicators() noexcept;
/// All ranks of `parent` that are in `made` have made it, by calls in the same order. Cost: O(ranks
/// of it). Does nothing before begin_communicators(). Where `parent` has a number, so has `made`
/// from then on: then the call is collective over `made`, and costs one allreduce.
void name_communicator(MPI_Comm parent, MPI_Comm made) noexcept;
/// Functions that return a reference return this one where there is no communicator.
inline const CommunicatorPtr kNoCommunicator;
/// The ranks of `comm` in this rank's MPI_COMM_WORLD; negative: a rank of another job. Local.
/// \throws MpiError
[[nodiscard]] std::vector<int> world_ranks(MPI_Comm comm);
/// As above, for the ranks of a group, which is freed.
[[nodiscard]] std::vector<int> world_ranks_of_group(MPI_Group group);
/// The last communicator that was asked for while one thread at a time may be in MPI, and what
/// communicator() needs to tell whether it still holds.
struct LastCommunicator {
  MPI_Comm comm = MPI_COMM_NULL;
  std::uint64_t changes = 0;  ///< as g_communicator_changes was
  CommunicatorPtr found;
};
/// Never destroyed: other threads may outlive main.
inline constinit union KeptLastCommunicator {
  LastCommunicator last{};
  ~KeptLastCommunicator() {}
} g_last_communicator;
/// Raised whenever a communicator becomes known, or a known one is freed.
inline constinit std::atomic<std::uint64_t> g_communicator_changes{1};
/// The general case of communicator().
[[nodiscard]] const CommunicatorPtr& look_up_communicator(MPI_Comm comm) noexcept;
/// One that has a name; null for others, whose making Strake has not seen or can't name: asks the
/// MPI library nothing, so `comm` may be no communicator at all. ~1 ns for the one that was asked
/// for last, ~5 with MPI_THREAD_MULTIPLE. The reference is valid until anybody asks again.
[[nodiscard]] inline const CommunicatorPtr& communicator(MPI_Comm comm) noexcept {
  const LastCommunicator& last = g_last_communicator.last;
  const bool same = last.comm == comm && !g_multiple.load(std::memory_order_relaxed) &&
                    last.changes == g_communicator_changes.load(std::memory_order_acquire);
  return same ? last.found : look_up_communicator(comm);
}
/// Destroys the companions of all communicators, before MPI ends.
void drop_companions() noexcept;
/// The one with that name; null where none is known, or it was freed. Cost: O(communicators).
[[nodiscard]] CommunicatorPtr communicator_named(std::uint64_t name);

}  // namespace strake::mpi
