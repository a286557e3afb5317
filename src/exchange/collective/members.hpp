/// \file  The ranks of a communicator whose collective calls Strake carries out pair by pair, how
/// each pair does it, and the number of the next call. All ranks agree on all of it (decision 28).
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/collective/relay_plan.hpp"
#include "exchange/collective/trial.hpp"
#include "exchange/transport/shared/cells.hpp"
#include "machine/message.hpp"
#include "mpi/communicators.hpp"
#include "mpi/neighbours.hpp"

namespace strake::exchange {

/// The cells of this process; null where it shares no memory.
[[nodiscard]] shared::Cells* cells();

/// One thread at a time.
class Members final : public mpi::Companion {
 public:
  /// The members of a communicator; null where its ranks have agreed on nothing
  /// (mpi/own_world.hpp).
  [[nodiscard]] static Members* of(MPI_Comm comm);
  Members(MPI_Comm comm, const mpi::Communicator& communicator);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(world_.size()); }
  /// This rank in the communicator.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// The number by which all ranks of the communicator know it (mpi/own_world.hpp).
  [[nodiscard]] std::int32_t number() const noexcept { return number_; }
  /// The number of `rank` in MPI_COMM_WORLD, and in mpi::own_world().
  [[nodiscard]] std::int32_t world_rank(int rank) const noexcept {
    return world_[static_cast<std::size_t>(rank)];
  }
  /// Whether cells tell of the messages between this rank and that one. Both say the same.
  [[nodiscard]] bool is_near(int rank) const noexcept {
    return near_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::uint32_t next_call() noexcept { return ++calls_; }

  /// \{ Connects this rank with others of its node. Collective over the communicator: all ranks
  /// call the same of the two, and a rank is in the list of each one in its own. Later calls cost a
  /// branch. Until then all messages are MPI's.
  void connect(MPI_Comm comm, std::span<const int> ranks);
  void connect_all(MPI_Comm comm);
  /// \}
  [[nodiscard]] bool all_connected() const noexcept { return all_connected_; }

  /// Looks for neighbours of this rank, and connects it with them, and with the agents of relays.
  /// Collective, when the communicator was made.
  void meet_neighbours(MPI_Comm comm);
  /// Null: the communicator has no topology, or was not asked for one.
  [[nodiscard]] const mpi::Neighbours* neighbours() const noexcept {
    return neighbours_ ? &*neighbours_ : nullptr;
  }
  /// The messages of a call of neighbours.
  [[nodiscard]] const mpi::Edges& edges(mpi::Matching matching);
  /// Whether messages of such a call to, or from, that rank may go in a bundle.
  [[nodiscard]] bool bundles(machine::MessageDirection direction, int rank) const noexcept {
    const auto& edges = direction == machine::MessageDirection::Send ? edges_to_ : edges_from_;
    const auto found = edges.find(rank);
    return found != edges.end() && found->second >= 2 && rank != MPI_PROC_NULL && !is_near(rank);
  }

  /// Relays, and the number that their messages have. All ranks of the communicator have them, or
  /// none.
  struct Relaying {
    std::int32_t number = 0;
    RelayPlan plan;
  };
  [[nodiscard]] const Relaying* relaying() const noexcept {
    return relaying_ ? &*relaying_ : nullptr;
  }
  /// The relays at work (relays.hpp); null before the first call that takes them.
  std::unique_ptr<mpi::Companion> relays;

  /// Which way calls of that kind take; `first`: while nothing was measured. `neighbours`: they are
  /// calls of neighbours, which may go by relays.
  [[nodiscard]] Trial& trial(std::uint32_t kind, CollectiveWay first, bool neighbours) {
    const auto known = trials_.find(kind);
    return known != trials_.end() ? known->second : begin_trial(kind, first, neighbours);
  }
  /// Calls that were made, for the next ones that are like them.
  std::vector<std::shared_ptr<mpi::Companion>> kept;

 private:
  std::int32_t number_;
  int rank_ = 0;
  std::vector<int> world_;
  std::vector<bool> near_;
  std::uint32_t calls_ = 0;
  bool all_connected_ = false;
  Trial& begin_trial(std::uint32_t kind, CollectiveWay first, bool neighbours);

  std::map<std::uint32_t, Trial> trials_;
  std::optional<mpi::Neighbours> neighbours_;
  std::map<int, int> edges_to_, edges_from_;  ///< how many messages of a call, by rank
  std::optional<Relaying> relaying_;
  std::array<std::optional<mpi::Edges>, static_cast<std::size_t>(mpi::Matching::Unknown)> edges_;
};

}  // namespace strake::exchange
