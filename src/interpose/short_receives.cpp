#include "interpose/short_receives.hpp"

#include <new>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "interpose/errors.hpp"
#include "mpi/wire.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"

namespace strake::interpose {
namespace {

/// One thread at a time is in MPI where messages go by shared memory.
struct ShortReceives {
  std::vector<Truncated> unsettled;
  std::uint32_t tries = 0;  ///< to free suspects, since the last error
};
ShortReceives& short_receives() { return ProcessState::part<ShortReceives>(); }

}  // namespace

std::vector<Truncated> take_truncated() noexcept {
  return std::exchange(short_receives().unsettled, {});
}

bool is_time_for_suspects() noexcept {
  return exchange::ever_more_rarely(++short_receives().tries);
}

void look_at_short_receives() noexcept {
  exchange::shared::g_least_room.store(0, std::memory_order_relaxed);
}

void note_truncated(int error, const MPI_Status& status, mpi::CommunicatorPtr comm) noexcept {
  if (exchange::shared::ShmEndpoint::get() == nullptr || class_of(error) != MPI_ERR_TRUNCATE)
    return;
  const bool told = status.MPI_SOURCE != MPI_UNDEFINED;
  if (!told) return look_at_short_receives();
  const std::int64_t length = mpi::quirks::kTruncatedTellsLength ? mpi::received_bytes(status) : 0;
  if (length != 0 && !exchange::shared::is_header_length(length)) return;
  try {
    short_receives().unsettled.push_back(
        {status.MPI_SOURCE, status.MPI_TAG, length, std::move(comm)});
    short_receives().tries = 0;
    exchange::shared::g_unsettled.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    log::info("a descriptor of a truncated message may be lost: no memory");
  }
}

void note_untold() noexcept {
  // A message by shared memory that nobody has looked at is still live.
  exchange::shared::ShmEndpoint* const endpoint = exchange::shared::ShmEndpoint::get();
  if (endpoint != nullptr && endpoint->peer_segments().has_live()) look_at_short_receives();
}

}  // namespace strake::interpose
