#include "exchange/collective/members.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "exchange/peers/directory.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"

namespace strake::exchange {
namespace {

struct OwnCells {
  std::unique_ptr<shared::Cells> cells;
};

}  // namespace

shared::Cells* cells() {
  auto& own = ProcessState::part<OwnCells>().cells;
  shared::ShmEndpoint* const endpoint = shared::ShmEndpoint::get();
  if (own == nullptr && endpoint != nullptr) own = std::make_unique<shared::Cells>(*endpoint);
  return endpoint != nullptr ? own.get() : nullptr;
}

Members* Members::of(MPI_Comm comm) {
  const mpi::CommunicatorPtr& known = mpi::communicator(comm);
  if (known == nullptr || known->number == 0) return nullptr;
  if (known->companion == nullptr) known->companion = std::make_unique<Members>(comm, *known);
  return static_cast<Members*>(known->companion.get());
}

Members::Members(MPI_Comm comm, const mpi::Communicator& communicator)
    : number_(communicator.number),
      world_(communicator.world),
      near_(communicator.world.size(), false) {
  mpi::check(mpi::real_mpi().MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
}

void Members::meet_neighbours(MPI_Comm comm) {
  neighbours_ = mpi::neighbours_of(comm);
  if (!neighbours_) return;
  for (const int rank : neighbours_->destinations) ++edges_to_[rank];
  for (const int rank : neighbours_->sources) ++edges_from_[rank];
  std::optional<RelayPlan> plan = learn_relays(comm, rank_, size(), *neighbours_);
  const std::vector<int> here = plan ? plan->partners_here() : std::vector<int>();
  std::set<int> all(neighbours_->sources.begin(), neighbours_->sources.end());
  all.insert(neighbours_->destinations.begin(), neighbours_->destinations.end());
  all.insert(here.begin(), here.end());
  all.erase(MPI_PROC_NULL);
  connect(comm, std::vector<int>(all.begin(), all.end()));
  if (!plan) return;
  const bool connected =
      std::ranges::all_of(here, [&](int rank) { return rank == rank_ || is_near(rank); });
  const std::int32_t number = mpi::agree_on_number(comm, connected);
  if (number != 0) relaying_.emplace(number, *std::move(plan));
}

Trial& Members::begin_trial(std::uint32_t kind, CollectiveWay first, bool neighbours) {
  const mpi::Wishes& wishes = mpi::common_wishes();
  const bool relayed = neighbours && relaying_;
  const CollectiveWay forced =
      relayed && wishes.relayed ? CollectiveWay::Relayed : CollectiveWay::Pairs;
  const CollectiveWay way = wishes.forced ? forced : first;
  return trials_.try_emplace(kind, way, !wishes.forced && !wishes.untried, relayed).first->second;
}

const mpi::Edges& Members::edges(mpi::Matching matching) {
  auto& known = edges_[static_cast<std::size_t>(matching)];
  if (!known) known = mpi::edges_of(*neighbours_, matching);
  return *known;
}

void Members::connect_all(MPI_Comm comm) {
  if (all_connected_) return;
  std::vector<int> all(world_.size());
  std::iota(all.begin(), all.end(), 0);
  connect(comm, all);
  all_connected_ = true;
}

void Members::connect(MPI_Comm comm, std::span<const int> ranks) {
  const mpi::RealMpi& real = mpi::real_mpi();
  shared::Cells* const ours = cells();
  peers::Directory* const directory =
      ours != nullptr ? &shared::ShmEndpoint::get()->directory() : nullptr;
  // Announcements find full queues now and then.
  constexpr int kMostTurns = 8;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    int missing = 0;
    for (const int rank : ranks) {
      const int other = world_rank(rank);
      if (directory == nullptr || other == directory->rank()) continue;
      const bool reached = directory->reaches(other);
      if (!(reached && directory->knows(other)) && directory->may_answer(other)) missing = 1;
    }
    int some_missing = 0;
    mpi::check(real.MPI_Allreduce(&missing, &some_missing, 1, MPI_INT, MPI_MAX, comm),
               "MPI_Allreduce");
    if (directory != nullptr) directory->take_announcements();
    mpi::check(real.MPI_Barrier(comm), "MPI_Barrier");
    if (some_missing == 0) break;
  }
  if (ours != nullptr)
    for (const int rank : ranks) ours->open(world_rank(rank));
  mpi::check(real.MPI_Barrier(comm), "MPI_Barrier");
  if (ours != nullptr)
    for (const int rank : ranks) ours->settle(world_rank(rank));
  mpi::check(real.MPI_Barrier(comm), "MPI_Barrier");
  if (ours != nullptr)
    for (const int rank : ranks)
      near_[static_cast<std::size_t>(rank)] = ours->connects(world_rank(rank));
  kept.clear();  // messages of these may go otherwise now
}

}  // namespace strake::exchange
