#include "interpose/suspects.hpp"

#include <optional>
#include <utility>

#include "interpose/inside.hpp"
#include "interpose/messages.hpp"
#include "interpose/pending.hpp"
#include "interpose/quiet_world.hpp"
#include "interpose/requests.hpp"
#include "interpose/short_receives.hpp"
#include "interpose/true_size.hpp"
#include "settings/log.hpp"

namespace strake::interpose {
namespace {

using exchange::shared::PeerSegments;

/// Where the message came from; nothing where that is not certain.
std::optional<PeerSegments::Sender> sender_of(Truncated& truncated,
                                              const PeerSegments& peer_segments) {
  const int source = truncated.source;
  if (truncated.comm != nullptr)
    return PeerSegments::Sender{truncated.comm->world_rank(source), truncated.comm->name};
  std::optional<PeerSegments::Sender> found;
  for (const PeerSegments::Sender& sender : peer_segments.senders(truncated.tag)) {
    mpi::CommunicatorPtr comm = mpi::communicator_named(sender.comm);
    if (comm != nullptr && comm->world_rank(source) != sender.rank) continue;
    if (found || comm == nullptr) return std::nullopt;
    found = sender;
    truncated.comm = std::move(comm);
  }
  return found;
}

/// A message without a live descriptor that might be its own was none by shared memory.
void choose_suspects(PeerSegments& peer_segments) {
  for (Truncated& truncated : take_truncated()) {
    const auto sender = sender_of(truncated, peer_segments);
    if (!sender) {
      if (!peer_segments.senders(truncated.tag).empty()) look_at_short_receives();
    } else if (sender->rank >= 0) {
      see_received(sender->rank, truncated.comm);
      if (peer_segments.suspect({sender->rank, truncated.tag, sender->comm}, truncated.length))
        look_at_short_receives();
    }
  }
}

/// Whether no receive that waits for its message may have matched one from there whose bytes have
/// not come yet, and no probe holds one, which may have taken it for another.
bool is_safe(PeerSegments& peer_segments, std::int32_t from, std::uint64_t comm) {
  if (holds_headers(comm)) return false;
  Requests::get().progress();  // one of those may have got it
  const mpi::CommunicatorPtr known = mpi::communicator_named(comm);
  if (known != nullptr) see_received(from, known);
  bool safe = true;
  for_each_pending([&](const Pending& pending) {
    const Receive& receive = pending.receive;
    if (!pending.active || !receive.may_hold_header()) return;
    if (receive.communicator()->name != comm || receive.met() == Met::Dropped) return;
    safe = safe && peer_segments.is_header(pending.landed().data(), from);
  });
  return safe;
}

}  // namespace

void settle_truncated() noexcept {
  exchange::shared::ShmEndpoint* const endpoint = exchange::shared::ShmEndpoint::get();
  if (t_depth != 0 || endpoint == nullptr || !is_time_for_suspects()) return;
  const Inside inside;
  try {
    const QuietWorld quiet;  // it asks about requests, which may have failed
    Requests::get().progress();
    PeerSegments& peer_segments = endpoint->peer_segments();
    choose_suspects(peer_segments);
    peer_segments.free_overtaken(
        [&](std::int32_t from, std::uint64_t comm) { return is_safe(peer_segments, from, comm); });
    exchange::shared::g_unsettled.store(peer_segments.has_overtaken(), std::memory_order_relaxed);
  } catch (const std::exception& error) {
    log::warn("descriptors of truncated messages are not freed: {}", error.what());
    exchange::shared::g_unsettled.store(false, std::memory_order_relaxed);
  }
}

}  // namespace strake::interpose
