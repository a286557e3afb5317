// How a rank takes part in a planned exchange no longer, and how its peers learn of it.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "exchange/plan/impl.hpp"
#include "exchange/transport/launch_batcher.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// How long a rank that takes part no longer waits for its devices.
constexpr std::chrono::seconds kDevicePatience{2};

/// The exchanges of the process.
struct Living {
  std::mutex mutex;
  std::vector<Exchange::Impl*> all;
  bool end_at_finalize = false;
};
Living& living() { return ProcessState::part<Living>(); }

int at_finalize(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*state*/) {
  Exchange::Impl::end_all();
  return MPI_SUCCESS;
}

/// MPI_Finalize begins with the delete callbacks of MPI_COMM_SELF's attributes.
bool call_at_finalize() noexcept {
  const mpi::RealMpi& real = mpi::real_mpi();
  int key = MPI_KEYVAL_INVALID;
  return real.MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr) ==
             MPI_SUCCESS &&
         real.MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS &&
         real.MPI_Comm_free_keyval(&key) == MPI_SUCCESS;
}

}  // namespace

/// MPI_Finalize ends the exchanges that are alive then.
void Exchange::Impl::end_at_finalize() {
  const std::lock_guard lock(living().mutex);
  if (!std::exchange(living().end_at_finalize, true) && !call_at_finalize())
    log::warn("other ranks are not told if an exchange is alive in MPI_Finalize");
}

void Exchange::Impl::join() {
  const std::lock_guard lock(living().mutex);
  living().all.push_back(this);
}

void Exchange::Impl::part_again() noexcept {
  const std::lock_guard lock(living().mutex);
  std::erase(living().all, this);
}

Exchange::Impl::~Impl() {
  if (running_) {
    try {
      wait();
    } catch (const std::exception& error) {
      log::warn("an exchange is destroyed that can't end: {}", error.what());
    } catch (...) {
      // Thrown by the program, as it combines values.
    }
  }
  if (running_) fail();
  puts_.reset();  // waits until devices have put what they owe to peers
  leave(Ending::Kind::Left);
  part_again();
  if (!failed_) connections_->close();
  if (farewells_ != nullptr) {
    farewells_->let_go();
  } else {
    Farewells::advance_all();
  }
}

void Exchange::Impl::end_all() noexcept {
  {
    const std::lock_guard lock(living().mutex);
    for (Impl* one : living().all) {
      if (one->running_ || !one->is_idle_soon()) one->fail();
      one->leave(Ending::Kind::Left);
    }
  }
  Farewells::finish_all();
  exchange::peers::Group::end_all();
}

bool Exchange::Impl::is_idle_soon() const noexcept {
  const Clock::time_point begin = Clock::now();
  for (exchange::Backoff backoff; !puts_->is_idle(); backoff.pause())
    if (Clock::now() - begin > kDevicePatience) return false;
  return true;
}

void Exchange::Impl::leave(Ending::Kind kind) noexcept {
  if (std::exchange(ended_, true)) return;
  const Ending own(kind, running_ ? round_.number - 1 : round_.number, cause_);
  for (const Peer& peer : peers_) {
    if (!peer.near) continue;
    for (const std::size_t schedule : {kSends, kReceives}) {
      SequenceCounters& end = connections_->own_counters(number_of(peer), schedule);
      end.cause.store(own.cause, std::memory_order_relaxed);
      end.rounds_and_kind.store(own.rounds_and_kind, std::memory_order_release);
    }
  }
  if (farewells_ != nullptr) farewells_->send(own);
}

void Exchange::Impl::fail() noexcept {
  if (ended_) return;
  puts_->stop_waiting();
  for (const Opened& opened : transfers_) opened.transfer->cancel();
  failed_ = true;
  leave(Ending::Kind::GivenUp);
  finish_copies();
  puts_->give_up();
  end();
}

/// Devices may still copy from and to this rank's arrays and packed bytes, which the program may
/// free now.
void Exchange::Impl::finish_copies() noexcept {
  if (!on_device()) return;
  exchange::LaunchBatcher::get().launch();
  const Clock::time_point begin = Clock::now();
  const auto is_idle = [](PairSchedule& schedule) noexcept {
    try {
      return schedule.idle();
    } catch (...) {
      return true;  // the device has failed
    }
  };
  const auto are_idle = [&](Peer& peer) { return std::ranges::all_of(peer.schedules, is_idle); };
  for (exchange::Backoff backoff; !std::ranges::all_of(peers_, are_idle); backoff.pause())
    if (Clock::now() - begin > kDevicePatience) return;
}

/// \throws Error  `peer`, for which this rank waits, takes part no longer, and has not ended the
/// round that goes on. `anew`: this rank is about to begin a round.
void Exchange::Impl::require_coming(const Peer& peer, bool anew) {
  const Ending ending = ending_of(peer);
  if (ending.is_none()) return;
  // Devices count their rounds themselves.
  if (!anew && (peer.by_put ? !puts_->misses(number_of(peer)) : ending.rounds() >= round_.number))
    return;
  cause_ = ending.first_cause(peer.rank);
  throw Error(ending.text(peer.rank, !peer.by_put) +
              (peer.by_put
                   ? std::string()
                   : fmt::format("; rank {} waits for it in round {}", rank_, round_.number)));
}

/// require_coming(), and \throws Error  the peer's process has ended without taking its leave.
/// System calls.
void Exchange::Impl::require_alive(const Peer& peer) {
  require_coming(peer);
  if (!peer.near || !connections_->is_gone(number_of(peer)) || !ending_of(peer).is_none()) return;
  cause_ = Ending::cause_of(peer.rank, Ending::Kind::Died);
  throw Error(fmt::format("rank {} died in an exchange", peer.rank));
}

Ending Exchange::Impl::ending_of(const Peer& peer) const noexcept {
  if (!peer.near) return farewells_->of(peer.rank);
  // The peer's receives are what this rank sends.
  const SequenceCounters& end = connections_->their_counters(number_of(peer), kReceives);
  Ending found;
  found.rounds_and_kind = end.rounds_and_kind.load(std::memory_order_acquire);
  if (!found.is_none()) found.cause = end.cause.load(std::memory_order_relaxed);
  return found;
}

}  // namespace strake
