// How an exchange is planned: who its peers are, and what they share.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <utility>

#include "exchange/choice/exchange_choice.hpp"
#include "exchange/choice/forced.hpp"
#include "exchange/plan/impl.hpp"
#include "exchange/progress/in_flight.hpp"
#include "exchange/transport/pairs/setup.hpp"
#include "exchange/transport/table.hpp"
#include "mpi/agree.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

std::string fault_of(const ExchangePart& part) {
  for (std::size_t i = 0; i < part.arrays().size(); ++i)
    if (part.arrays()[i].place.kind == MemoryKind::Managed)
      return fmt::format("array {} of an exchange is in managed memory", i);
  return {};
}

/// Others may wait for what this rank has begun, and their announcements for room in its queue.
void let_others_go_on() {
  Connections::look();
  if (!exchange::g_in_flight.idle()) exchange::g_in_flight.advance();
}

}  // namespace

Exchange::Impl::Impl(MPI_Comm comm, const ExchangePart& part)
    : arrays_(part.arrays().size()), places_(part) {
  mpi::require_intracommunicator(comm, "an exchange");
  group_ = exchange::peers::Group::of(comm);
  Setup setup(*group_, let_others_go_on);
  plan_all(setup, part);
}

Exchange::Impl::Impl(std::shared_ptr<exchange::peers::Group> group, const ExchangePart& part)
    : group_(std::move(group)), arrays_(part.arrays().size()), places_(part) {
  std::set<int> peers;
  for (const auto* const transfers : {&part.sends(), &part.receives()})
    for (const ExchangePart::Transfer& transfer : *transfers) peers.insert(transfer.peer);
  Setup setup(*group_, peers, let_others_go_on);
  try {
    plan_all(setup, part);
  } catch (const std::exception& error) {
    setup.leave(error.what());
    throw;
  }
}

void Exchange::Impl::plan_all(Setup& setup, const ExchangePart& part) {
  end_at_finalize();
  exchange::g_in_flight.meet_interposer();
  rank_ = group_->rank();
  setup.agree(fault_of(part), ErrorCode::Unsupported);
  std::vector<NegotiatedPair> all = negotiate(*group_, setup, part, places_);
  std::vector<DevicePuts::Part> devices;
  for (const Place place : places_.all) devices.push_back({place, {}, {}});
  std::erase_if(all, [&](NegotiatedPair& own) {
    if (own.rank != rank_ || own.place != own.their_place) return false;
    for (const MatchedTransfer& transfer : own.sends) own_bytes_ += transfer.mine.size_bytes();
    if (is_device(places_.all[own.place])) {
      devices[own.place].own = std::move(own.sends);
    } else {
      own_ = OwnCopies(std::move(own.sends));
    }
    return true;
  });
  try {
    plan_peers(setup, all);
    const Tags tags = plan_far(setup);
    FarChoices far;
    plan_puts(setup, all, std::move(devices), far);
    open_transfers(setup, tags, far);
    join();
    const bool by_put = std::ranges::all_of(
        peers_, [](const Peer& peer) { return peer.by_put || !is_device(peer.place); });
    // Peers know of no others, but what two of them see of each other is alike.
    const bool no_device = !on_device() && std::ranges::none_of(peers_, &Peer::on_device);
    all_ranks_by_put_ = setup.conclude(by_put, no_device);
  } catch (...) {
    part_again();
    if (setup.is_over()) {
      give_up_unplanned(setup);
    } else {
      // Nothing was sent, and nobody accesses anything of this rank's: its peers learn of it in
      // their next step.
      if (farewells_ != nullptr) farewells_->cancel();
      if (connections_ != nullptr) connections_->close();
    }
    throw;
  }
}

/// A peer has left when this rank took its last step. Others have planned, and learn of it as of
/// any rank that gives up.
void Exchange::Impl::give_up_unplanned(const Setup& setup) noexcept {
  for (const Peer& peer : peers_) {
    if (!setup.has_left(peer.rank)) continue;
    if (peer.near) connections_->close_end(number_of(peer));
    if (farewells_ != nullptr) farewells_->forget(peer.rank);
  }
  leave(Ending::Kind::GivenUp);
  puts_->give_up();
  if (farewells_ != nullptr) farewells_->let_go();
}

/// All peers, and the memory that those of the node share.
void Exchange::Impl::plan_peers(Setup& setup, std::vector<NegotiatedPair>& all) {
  std::vector<Pair> pairs;
  for (NegotiatedPair& transfers : all) {
    const Peer& peer = peers_.emplace_back(transfers, places_.all[transfers.place]);
    Pair& pair = pairs.emplace_back(transfers.rank);
    pair.packed_bytes = {peer.schedules[kSends].packed_bytes(),
                         peer.schedules[kReceives].packed_bytes()};
    pair.on_devices = peer.on_device && is_device(peer.place);
    pair.connected = transfers.connected;
    while (pair.rank == rank_ && (all[pair.other_end].rank != rank_ ||
                                  all[pair.other_end].place != transfers.their_place ||
                                  all[pair.other_end].their_place != transfers.place))
      ++pair.other_end;
  }
  connections_ = std::make_unique<Connections>(group_, setup, pairs, arrays_);
  for (Peer& peer : peers_) peer.near = connections_->reaches(number_of(peer));
}

/// Ranks of other nodes tell each other the tags of messages to them, one each: receives name their
/// source.
/// \returns  by rank: the tags of messages that come, and that go
Exchange::Impl::Tags Exchange::Impl::plan_far(Setup& setup) {
  std::vector<int> ranks, mine, theirs;
  for (const Peer& peer : peers_)
    if (!peer.near && std::ranges::find(ranks, peer.rank) == ranks.end())
      ranks.push_back(peer.rank);
  std::string fault;
  int tag = -1;
  try {
    if (!ranks.empty()) tag = group_->take_tag();
  } catch (const Unsupported& error) {
    fault = error.what();
  }
  try {
    setup.agree(fault, ErrorCode::Unsupported);
    mine.assign(ranks.size(), tag);
    setup.swap(Setup::Step::Tags, ranks, mine, theirs);
  } catch (...) {
    if (tag >= 0) group_->give_back(tag);
    throw;
  }
  Tags all;
  std::vector<Farewells::Far> farewells;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    all[ranks[i]] = {tag, theirs[i]};
    farewells.push_back({ranks[i], theirs[i]});
  }
  if (!ranks.empty()) farewells_ = &Farewells::open(group_, tag, farewells);
  return all;
}

/// Opens what devices do not exchange by themselves, by the first row of the table that carries it.
/// A fault is thrown as Setup::agree() does.
void Exchange::Impl::open_transfers(Setup& setup, const Tags& tags, const FarChoices& far) {
  std::string fault;
  try {
    transfers_.reserve(peers_.size());
    for (Peer& peer : peers_) {
      if (peer.by_put || peer.transfer != nullptr) continue;
      std::vector<Peer*> together{&peer};
      for (Peer& other : std::span(peers_).subspan(number_of(peer) + 1))
        if (!peer.near && !other.near && other.rank == peer.rank) together.push_back(&other);
      peer.near ? open_transfer(together, {-1, -1}, nullptr)
                : open_transfer(together, tags.at(peer.rank), &far.at(peer.rank));
    }
    std::vector<const Opened*> order;
    for (const Opened& opened : transfers_) order.push_back(&opened);
    std::ranges::stable_sort(order, [](const Opened* a, const Opened* b) {
      if (a->peer->near != b->peer->near) return b->peer->near;
      return !a->peer->near &&
             a->transfer->packed_bytes(kSends) > b->transfer->packed_bytes(kSends);
    });
    for (std::size_t i = 0; i < order.size(); ++i)
      transfers_[i].sends_here = order[i]->transfer.get();
    puts_->prepare(false, {});
  } catch (const std::exception& error) {
    fault = fmt::format("rank {} can't plan its transfers: {}", rank_, error.what());
  }
  setup.agree(fault, ErrorCode::Other);
}

/// \param peers  one; all memories of a rank that is far
void Exchange::Impl::open_transfer(std::span<Peer* const> peers, const std::array<int, 2>& tags,
                                   const PairChoice* far) {
  const auto kind = [](bool on_device) {
    return on_device ? MemoryKind::Device : MemoryKind::Host;
  };
  const auto is_on_device = [](const Peer* peer) { return is_device(peer->place); };
  const Peer& first = *peers.front();
  const auto device = std::ranges::find_if(peers, is_on_device);
  const Place place = device == peers.end() ? first.place : (*device)->place;
  const auto* const forced = exchange::forced();
  exchange::PairContext pair{
      .schedules = {},
      .path = {{kind(is_device(place)), rank_, 0, place.device},
               {kind(std::ranges::any_of(peers, &Peer::on_device)), first.rank, first.near ? 0 : 1,
                -1}},
      .reads = !first.on_device && (forced == nullptr || !forced->packs_pairs),
      .connections = *connections_,
      .number = number_of(first),
      .comm = group_->comm(),
      .peer = first.rank,
      .in_tag = tags[0],
      .out_tag = tags[1]};
  for (Peer* const peer : peers) pair.schedules.push_back(&peer->schedules);
  const auto wanted = far != nullptr ? std::optional(far->transport) : std::nullopt;
  Opened& opened = transfers_.emplace_back(&first, exchange::row_of(pair.path, wanted).open(pair));
  if (far != nullptr && !far->why.empty()) {
    if (far_reasons_ == nullptr) far_reasons_ = std::make_unique<std::map<int, std::string>>();
    far_reasons_->emplace(first.rank, far->why);
  }
  for (Peer* const peer : peers) peer->transfer = opened.transfer.get();
  if (PackedByDevice* const packed = opened.transfer->packed_by_device())
    puts_->pack_too(place, *packed, peers.front()->schedules);
}

/// Chooses for all pairs of memories at once, of which some have no choice: how devices of the node
/// exchange what is in `pairs`, and, in `far`, what goes to other nodes.
/// \returns  by `pairs`
std::vector<PairChoice> Exchange::Impl::choose(std::span<const DevicePair> pairs, FarChoices& far) {
  std::vector<PlannedPair> all;
  for (const DevicePair& pair : pairs)
    all.push_back(
        {end_of(pair.own), end_of(pair.other), pair.sends, pair.receives,
         pair.receives == nullptr ? std::vector{Transport::Self} : candidates_between_devices()});
  std::vector<int> ranks(all.size(), -1);
  std::map<std::pair<int, int>, int> nodes;  // numbered from 1 on; this one is 0
  for (Peer& peer : peers_) {
    const bool is_puts = peer.near && peer.on_device && is_device(peer.place);
    if (is_puts) continue;
    // The number of a peer's device is not known.
    const int device = std::max(peer.place.device, 0);
    const auto end = [&](bool there, int rank, int node) {
      return there ? machine::PathEnd{MemoryKind::Device, rank, node, device}
                   : machine::PathEnd{MemoryKind::Host, rank, node};
    };
    const bool any_device = peer.on_device || is_device(peer.place);
    const exchange::peers::Member& member = group_->members()[static_cast<std::size_t>(peer.rank)];
    const int node = peer.near
                         ? 0
                         : nodes.try_emplace({member.node, member.pretended}, std::ssize(nodes) + 1)
                               .first->second;
    std::vector<Transport> candidates{any_device ? Transport::Staged : Transport::Shared};
    if (!peer.near) {
      const bool in_one = std::ranges::all_of(peers_, [&](const Peer& other) {
        return other.near || other.rank != peer.rank || other.place == peer.place;
      });
      candidates = {any_device ? Transport::OneShot : Transport::Pack};
      if (is_device(peer.place) && peer.on_device && in_one)
        candidates = candidates_between_nodes(peer.place, peer.schedules);
    }
    all.push_back({end(is_device(peer.place), rank_, 0), end(peer.on_device, peer.rank, node),
                   &peer.schedules[kSends].transfers(), &peer.schedules[kReceives].transfers(),
                   std::move(candidates)});
    ranks.push_back(peer.near ? -1 : peer.rank);
  }
  std::vector<PairChoice> chosen = choose_for_exchange(all);
  // A rank's memories go together: pinned memory, if any is a device's.
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (ranks[i] < 0) continue;
    const auto [known, is_new] = far.try_emplace(ranks[i], chosen[i]);
    if (!is_new && chosen[i].transport == Transport::OneShot) known->second = chosen[i];
  }
  chosen.resize(pairs.size());
  return chosen;
}

std::string Exchange::Impl::why(const Peer& peer) const {
  if (peer.near) return puts_->why(number_of(peer));
  const bool known = far_reasons_ != nullptr && far_reasons_->contains(peer.rank);
  return known ? far_reasons_->at(peer.rank) : std::string();
}

/// Plans the transfers between devices.
void Exchange::Impl::plan_puts(Setup& setup, const std::vector<NegotiatedPair>& all,
                               std::vector<DevicePuts::Part> devices, FarChoices& far) {
  std::vector<Place> arrays;
  for (std::size_t i = 0; i < arrays_; ++i) arrays.push_back(place_of(i));
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    if (peer.near && peer.on_device && is_device(peer.place))
      devices[all[i].place].peers.push_back({peer.rank, peer.rank == rank_, i,
                                             connections_->other_end_of(i), &peer.schedules[kSends],
                                             &peer.schedules[kReceives]});
  }
  std::erase_if(
      devices, [](const DevicePuts::Part& part) { return part.own.empty() && part.peers.empty(); });
  puts_ = std::make_unique<DevicePuts>(
      setup, *connections_, arrays, std::move(devices),
      DeviceChoices{[&](std::span<const DevicePair> pairs) { return choose(pairs, far); },
                    engines_are_wanted()});
  for (Peer& peer : peers_) peer.by_put = puts_->reaches(number_of(peer));
}

}  // namespace strake
