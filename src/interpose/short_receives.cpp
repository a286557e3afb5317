#include "interpose/short_receives.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/backoff.hpp"
#include "interpose/boundary.hpp"
#include "interpose/messages.hpp"
#include "interpose/outcomes.hpp"
#include "interpose/quiet_world.hpp"
#include "interpose/true_size.hpp"
#include "mpi/wire.hpp"
#include "settings/log.hpp"

namespace strake::interpose {
namespace {

using exchange::shared::Inbox;
using exchange::shared::kLongestEnvelope;

/// A receive that a message was too long for.
struct Truncated {
  int source = MPI_UNDEFINED;
  int tag = 0;
  std::int64_t length = 0;    ///< [bytes] 0: not known
  mpi::CommunicatorPtr comm;  ///< null: not known
};

/// One thread at a time is in MPI where messages go by shared memory.
std::vector<Truncated>& unsettled() {
  static auto& made = *new std::vector<Truncated>;
  return made;
}
std::uint32_t g_tries = 0;  ///< to free suspects, since the last error

/// Where the message came from; nothing where that is not certain.
std::optional<Inbox::Sender> sender_of(Truncated& truncated, const Inbox& inbox) {
  const int source = truncated.source;
  if (truncated.comm != nullptr)
    return Inbox::Sender{truncated.comm->world_rank(source), truncated.comm->name};
  std::optional<Inbox::Sender> found;
  for (const Inbox::Sender& sender : inbox.senders(truncated.tag)) {
    mpi::CommunicatorPtr comm = mpi::communicator_named(sender.comm);
    if (comm != nullptr && comm->world_rank(source) != sender.rank) continue;
    if (found || comm == nullptr) return std::nullopt;
    found = sender;
    truncated.comm = std::move(comm);
  }
  return found;
}

/// Receives with little room get room for a header message.
void look_from_now_on() noexcept {
  exchange::shared::g_least_room.store(0, std::memory_order_relaxed);
}

/// A message without a live slot that might be its own was none by shared memory.
void choose_suspects(Inbox& inbox) {
  for (Truncated& truncated : std::exchange(unsettled(), {})) {
    const auto sender = sender_of(truncated, inbox);
    if (!sender) {
      if (!inbox.senders(truncated.tag).empty()) look_from_now_on();
    } else if (sender->rank >= 0) {
      see_received(sender->rank, truncated.comm);
      if (inbox.suspect({sender->rank, truncated.tag, sender->comm}, truncated.length))
        look_from_now_on();
    }
  }
}

/// Whether no receive that waits for its message may have matched one from there whose bytes have
/// not come yet, and no probe holds one, which may have taken it for another.
bool is_safe(Inbox& inbox, std::int32_t from, std::uint64_t comm) {
  if (holds_headers(comm)) return false;
  Requests::get().progress();  // one of those may have got it
  const mpi::CommunicatorPtr known = mpi::communicator_named(comm);
  if (known != nullptr) see_received(from, known);
  bool safe = true;
  PendingTable::get().for_each([&](const Pending& pending) {
    if (!pending.active || !pending.expects || pending.told.looked) return;
    if (pending.communicator()->name != comm || pending.told.met == exchange::shared::Met::Dropped)
      return;
    safe = safe && inbox.is_envelope(pending.landed().data(), from);
  });
  return safe;
}

}  // namespace

void note_truncated(int error, const MPI_Status& status, mpi::CommunicatorPtr comm) noexcept {
  if (exchange::shared::PostOffice::get() == nullptr || class_of(error) != MPI_ERR_TRUNCATE) return;
  const bool told = status.MPI_SOURCE != MPI_UNDEFINED;
  if (!told) return look_from_now_on();
  const std::int64_t length = mpi::quirks::kTruncatedTellsLength ? mpi::received_bytes(status) : 0;
  if (length != 0 && !exchange::shared::is_envelope_length(length)) return;
  try {
    unsettled().push_back({status.MPI_SOURCE, status.MPI_TAG, length, std::move(comm)});
    g_tries = 0;
    exchange::shared::g_unsettled.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    log::info("a slot of a truncated message may be lost: no memory");
  }
}

void note_untold() noexcept {
  // A message by shared memory that nobody has looked at is still live.
  exchange::shared::PostOffice* const office = exchange::shared::PostOffice::get();
  if (office != nullptr && office->inbox().has_live()) look_from_now_on();
}

void note_failed(const Pending& pending, int error, const MPI_Status& status) noexcept {
  if (!pending.receives()) return;
  const bool gives_room = pending.landing && pending.landing->own() != nullptr;
  const std::int64_t room =
      pending.transfer ? pending.transfer->size_bytes() : pending.landing->room();
  // It had room for a header message, or a probe has told what the message is.
  if (gives_room || room >= kLongestEnvelope || pending.told.met != exchange::shared::Met::No)
    return;
  note_truncated(error, status,
                 pending.expects ? pending.communicator() : mpi::communicator(pending.comm));
}

void settle_truncated() noexcept {
  exchange::shared::PostOffice* const office = exchange::shared::PostOffice::get();
  if (t_depth != 0 || office == nullptr || !exchange::ever_more_rarely(++g_tries)) return;
  const Inside inside;
  try {
    const QuietWorld quiet;  // it asks about requests, which may have failed
    Requests::get().progress();
    Inbox& inbox = office->inbox();
    choose_suspects(inbox);
    inbox.free_overtaken(
        [&](std::int32_t from, std::uint64_t comm) { return is_safe(inbox, from, comm); });
    exchange::shared::g_unsettled.store(inbox.has_overtaken(), std::memory_order_relaxed);
  } catch (const std::exception& error) {
    log::warn("slots of truncated messages are not freed: {}", error.what());
    exchange::shared::g_unsettled.store(false, std::memory_order_relaxed);
  }
}

}  // namespace strake::interpose
