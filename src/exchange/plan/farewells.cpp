#include "exchange/plan/farewells.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "exchange/progress/in_flight.hpp"
#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"

namespace strake::exchange::planned {
namespace {

constexpr int kTag = peers::kFarewellTag;
/// A farewell: a tag of its receiver's, which names the exchange; then an Ending.
constexpr int kWords = 3;

}  // namespace

struct Farewells::All final : Mover {
  All() { g_in_flight.add(*this); }
  void advance() noexcept override { advance_all(); }
  std::mutex receiving;  ///< held by the one thread that receives; the others go on
  std::mutex mutex;      ///< of the list, and of what its members have received
  std::vector<std::unique_ptr<Farewells>> list;
};
Farewells::All& Farewells::all() { return ProcessState::part<All>(); }

Farewells::Farewells(std::shared_ptr<peers::Group> group, int tag, const std::vector<Far>& peers)
    : group_(std::move(group)), tag_(tag) {
  for (const Far& far : peers) peers_.push_back({far, {}, MPI_REQUEST_NULL, {}});
}

Farewells& Farewells::open(std::shared_ptr<peers::Group> group, int tag,
                           const std::vector<Far>& peers) {
  std::unique_ptr<Farewells> made(new Farewells(std::move(group), tag, peers));
  const std::lock_guard lock(all().mutex);
  return *all().list.emplace_back(std::move(made));
}

void Farewells::cancel() noexcept {
  group_->give_back(tag_);
  const std::lock_guard lock(all().mutex);
  std::erase_if(all().list, [&](const auto& one) { return one.get() == this; });
}

void Farewells::forget(int peer) noexcept {
  const std::lock_guard lock(all().mutex);
  std::erase_if(peers_, [peer](const Peer& one) { return one.far.rank == peer; });
}

void Farewells::send(const Ending& own) noexcept {
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over != 0) return;
  own_ = own;
  for (Peer& peer : peers_) {
    peer.message = {static_cast<std::uint64_t>(peer.far.their_tag), own.rounds_and_kind, own.cause};
    (void)mpi::real_mpi().MPI_Isend(peer.message.data(), kWords, MPI_UINT64_T, peer.far.rank, kTag,
                                    group_->comm(), &peer.sending);
  }
}

void Farewells::look(const peers::Group& group) noexcept {
  const std::unique_lock receives(all().receiving, std::try_to_lock);
  if (!receives.owns_lock()) return;
  const mpi::RealMpi& real = mpi::real_mpi();
  for (;;) {
    int there = 0;
    MPI_Status status;
    if (real.MPI_Iprobe(MPI_ANY_SOURCE, kTag, group.comm(), &there, &status) != MPI_SUCCESS ||
        there == 0)
      return;
    std::array<std::uint64_t, kWords> came{};
    if (real.MPI_Recv(came.data(), kWords, MPI_UINT64_T, status.MPI_SOURCE, kTag, group.comm(),
                      MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return;
    const std::lock_guard lock(all().mutex);
    for (const auto& one : all().list) {
      if (one->group_.get() != &group || one->tag_ != static_cast<int>(came[0])) continue;
      const auto from = std::ranges::find_if(
          one->peers_, [&](const Peer& peer) { return peer.far.rank == status.MPI_SOURCE; });
      if (from == one->peers_.end()) continue;
      from->ending.rounds_and_kind = came[1];
      from->ending.cause = came[2];
    }
  }
}

Ending Farewells::of(int peer) const noexcept {
  const std::lock_guard lock(all().mutex);
  const auto found =
      std::ranges::find_if(peers_, [&](const Peer& one) { return one.far.rank == peer; });
  return found->ending;
}

bool Farewells::is_complete() noexcept {
  return std::ranges::all_of(peers_, [&](Peer& peer) {
    int sent = 1;
    if (peer.sending != MPI_REQUEST_NULL)
      (void)mpi::real_mpi().MPI_Test(&peer.sending, &sent, MPI_STATUS_IGNORE);
    return sent != 0 && !peer.ending.is_none();
  });
}

/// If ranks have left after different rounds, messages are under way that nobody receives.
void Farewells::give_tag_back() noexcept {
  const bool alike =
      own_.kind() == Ending::Kind::Left && std::ranges::all_of(peers_, [&](const Peer& peer) {
        return peer.ending.rounds_and_kind == own_.rounds_and_kind;
      });
  if (!alike) return group_->abandon_tags();
  group_->give_back(tag_);
}

void Farewells::let_go() noexcept {
  {
    const std::lock_guard lock(all().mutex);
    let_go_ = true;
  }
  advance_all();
}

void Farewells::advance_all() noexcept {
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  std::set<std::shared_ptr<peers::Group>> groups;
  {
    const std::lock_guard lock(all().mutex);
    for (const auto& one : all().list)
      if (one->let_go_) groups.insert(one->group_);
  }
  if (over == 0)
    for (const auto& group : groups) look(*group);
  std::vector<std::unique_ptr<Farewells>> complete;
  {
    const std::lock_guard lock(all().mutex);
    const auto first = std::partition(all().list.begin(), all().list.end(), [&](const auto& one) {
      return !one->let_go_ || (over == 0 && !one->is_complete());
    });
    complete.assign(std::move_iterator(first), std::move_iterator(all().list.end()));
    all().list.erase(first, all().list.end());
  }
  if (over != 0) return;
  for (const auto& one : complete) one->give_tag_back();
  // A program's callback, which the end of a group's communicator may call, may end another
  // exchange: no lock is held.
}

void Farewells::finish_all() noexcept {
  std::set<std::shared_ptr<peers::Group>> groups;
  {
    const std::lock_guard lock(all().mutex);
    for (const auto& one : all().list) groups.insert(one->group_);
  }
  const auto are_complete = [] {
    const std::lock_guard lock(all().mutex);
    return std::ranges::all_of(all().list, [](const auto& one) { return one->is_complete(); });
  };
  for (Backoff backoff; !are_complete(); backoff.pause()) {
    for (const auto& group : groups) look(*group);
    g_in_flight.advance();
  }
}

}  // namespace strake::exchange::planned
