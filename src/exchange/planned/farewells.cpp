#include "exchange/planned/farewells.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include "exchange/backoff.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::exchange::planned {
namespace {

constexpr int kTag = 6;  // apart from those of planning, and below those of FarMessages
constexpr int kWords = 2;
static_assert(sizeof(Ending) == kWords * sizeof(std::uint64_t));

/// The program's MPI_Iprobe, which under `strake run` is the interposer's. Looked up, so that the
/// library needs no MPI library by name: MPICH's has two.
decltype(&MPI_Iprobe) programs_iprobe() noexcept {
  static const auto found =
      reinterpret_cast<decltype(&MPI_Iprobe)>(dlsym(RTLD_DEFAULT, "MPI_Iprobe"));
  return found != nullptr ? found : mpi::real_mpi().MPI_Iprobe;
}

}  // namespace

/// Never destroyed: static exchanges may end after this library's statics.
struct Farewells::All {
  std::mutex mutex;
  std::vector<std::unique_ptr<Farewells>> list;
};
Farewells::All& Farewells::all() {
  static auto& made = *new All;
  return made;
}

Farewells::Farewells(MPI_Comm comm, const std::vector<int>& peers) : comm_(comm) {
  for (const int rank : peers) peers_.push_back({rank, {}, MPI_REQUEST_NULL});
}

Farewells& Farewells::open(MPI_Comm comm, const std::vector<int>& peers) {
  std::unique_ptr<Farewells> made(new Farewells(comm, peers));
  const std::lock_guard lock(all().mutex);
  return *all().list.emplace_back(std::move(made));
}

void Farewells::send(const Ending& own) noexcept {
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over != 0) return;
  own_ = own;
  for (Peer& peer : peers_)
    (void)mpi::real_mpi().MPI_Isend(&own_, kWords, MPI_UINT64_T, peer.rank, kTag, comm_,
                                    &peer.sending);
}

void Farewells::look() noexcept {
  const auto probe = programs_iprobe();
  for (;;) {
    int there = 0;
    MPI_Status status;
    if (probe(MPI_ANY_SOURCE, kTag, comm_, &there, &status) != MPI_SUCCESS || there == 0) return;
    Ending came;
    if (mpi::real_mpi().MPI_Recv(&came, kWords, MPI_UINT64_T, status.MPI_SOURCE, kTag, comm_,
                                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return;
    const auto from = std::ranges::find(peers_, status.MPI_SOURCE, &Peer::rank);
    if (from != peers_.end()) from->ending = came;
  }
}

const Ending& Farewells::of(int peer) const noexcept {
  return std::ranges::find(peers_, peer, &Peer::rank)->ending;
}

bool Farewells::is_complete() noexcept {
  const mpi::RealMpi& real = mpi::real_mpi();
  if (!peers_.empty()) look();
  return std::ranges::all_of(peers_, [&](Peer& peer) {
    int sent = 1;
    if (peer.sending != MPI_REQUEST_NULL)
      (void)real.MPI_Test(&peer.sending, &sent, MPI_STATUS_IGNORE);
    return sent != 0 && !peer.ending.is_none();
  });
}

/// Local in Open MPI and in MPICH, so ranks need not free it in the same order as others. If ranks
/// have left after different rounds, messages are under way that nobody receives: their
/// communicator stays.
void Farewells::free_comm() noexcept {
  const auto as_this_one = [&](const Peer& peer) {
    return own_.kind() == Ending::Kind::Left && peer.ending.rounds_and_kind == own_.rounds_and_kind;
  };
  if (std::ranges::all_of(peers_, as_this_one)) (void)mpi::real_mpi().MPI_Comm_free(&comm_);
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
  // A program's callback, which MPI_Comm_free may call, may end another exchange.
  for (const auto& one : complete) one->free_comm();
}

void Farewells::finish_all() noexcept {
  const std::lock_guard lock(all().mutex);
  for (const auto& one : all().list)
    for (Backoff backoff; !one->is_complete();) backoff.pause();
}

}  // namespace strake::exchange::planned
