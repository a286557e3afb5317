#include "exchange/collective/relays.hpp"

#include "exchange/collective/bundled_messages.hpp"

namespace strake::exchange {
namespace {

/// \{ The numbers of the messages between a rank and an agent of its node, which may be an agent of
/// the former, too.
std::uint32_t edge_to_agent(int node) { return 2 * static_cast<std::uint32_t>(node); }
std::uint32_t edge_from_agent(int node) { return 2 * static_cast<std::uint32_t>(node) + 1; }
/// \}

}  // namespace

Relays* Relays::of(Members& members) {
  const Members::Relaying* const relaying = members.relaying();
  if (relaying == nullptr) return nullptr;
  if (members.relays == nullptr)
    members.relays = std::make_unique<Relays>(members, relaying->number, relaying->plan);
  return static_cast<Relays*>(members.relays.get());
}

Relays::Relays(const Members& members, std::int32_t number, const RelayPlan& plan)
    : members_(members), number_(number), plan_(plan) {
  std::map<int, Leg*> to_node;
  std::map<int, Leg*> from_node;
  for (const auto& [node, agent, edges, senders] : plan.gives) {
    gives_.push_back(&own_.emplace_back(MessageDirection::Send, agent, edge_to_agent(node),
                                        Bundle::room_for(edges, senders)));
    to_node[node] = gives_.back();
  }
  for (const auto& [node, agent, edges, senders] : plan.gets) {
    gets_.push_back(&own_.emplace_back(MessageDirection::Receive, agent, edge_from_agent(node),
                                       Bundle::room_for(edges, senders)));
    from_node[node] = gets_.back();
  }
  for (const auto& [node, partner, edges, senders, parts] : plan.sends) {
    Joining& joining = joins_.emplace_back();
    joining.to.emplace(MessageDirection::Send, partner, 0, Bundle::room_for(edges, senders),
                       Told::ByMpi);
    for (const auto& [rank, of_rank, one] : parts) {
      if (rank == members.rank()) {
        joining.own = to_node[node];
      } else {
        joining.from.emplace_back(MessageDirection::Receive, rank, edge_to_agent(node),
                                  Bundle::room_for(of_rank, one));
      }
    }
  }
  for (const auto& [node, partner, edges, senders, parts] : plan.delivers) {
    Splitting& splitting = splits_.emplace_back();
    splitting.from.emplace(MessageDirection::Receive, partner, 0, Bundle::room_for(edges, senders),
                           Told::ByMpi);
    for (const auto& [rank, of_rank, of_senders] : parts) {
      const bool own = rank == members.rank();
      splitting.to[rank] =
          own ? from_node[node]
              : &splitting.others.emplace_back(MessageDirection::Send, rank, edge_from_agent(node),
                                               Bundle::room_for(of_rank, of_senders));
    }
  }
}

std::optional<std::size_t> Relays::share_with(MessageDirection direction, int rank) const noexcept {
  const bool sends = direction == MessageDirection::Send;
  const RelayPlan::Share* const share = sends ? plan_.share_to(rank) : plan_.share_from(rank);
  if (share == nullptr) return std::nullopt;
  return static_cast<std::size_t>(share - (sends ? plan_.gives : plan_.gets).data());
}

template <typename Act>
void Relays::for_all(const Act& act) {
  for (Leg& leg : own_) act(leg);
  for (Joining& joining : joins_) {
    for (Leg& leg : joining.from) act(leg);
    act(*joining.to);
  }
  for (Splitting& splitting : splits_) {
    act(*splitting.from);
    for (Leg& leg : splitting.others) act(leg);
  }
}

void Relays::start(std::uint32_t call, FirstFault& fault) noexcept {
  call_ = call;
  for (Splitting& splitting : splits_) splitting.split = false;
  for_all([&](Leg& leg) {
    leg.bundle.clear(call_);
    leg.begun = leg.done = false;
    if (leg.direction == MessageDirection::Receive && leg.rank != members_.rank())
      begin(leg, fault);
  });
}

void Relays::begin(Leg& leg, FirstFault& fault) noexcept {
  leg.begun = true;
  if (leg.rank == members_.rank()) return;
  const bool sends = leg.direction == MessageDirection::Send;
  const std::int64_t bytes = sends ? leg.bundle.bytes() : leg.bundle.room();
  const bool begun = fault.guard([&] {
    if (!leg.message || leg.message->bytes() != bytes)
      leg.message.emplace(members_, number_, leg.direction, leg.rank, leg.edge,
                          host_bytes(leg.bundle.data(), bytes), leg.told);
    leg.message->start(call_);
  });
  if (!begun) leg.done = true;
  if (sends) (void)step(leg, fault);
}

bool Relays::step(Leg& leg, FirstFault& fault) noexcept {
  if (leg.done) return true;
  if (!leg.begun || leg.rank == members_.rank()) return false;
  if (!fault.guard([&] { leg.done = leg.message->step(); })) {
    leg.message->give_up();
    leg.bundle.clear(call_);
    leg.done = true;
  }
  if (leg.done && leg.bundle.call() != call_) {  // that one has failed here
    fault.note(MPI_ERR_OTHER);
    leg.bundle.clear(call_);
  }
  return leg.done;
}

void Relays::give(std::size_t share, FirstFault& fault) noexcept {
  Leg& leg = *gives_[share];
  begin(leg, fault);
  // The agent that joins it is this rank.
  if (leg.rank == members_.rank()) leg.done = true;
}

bool Relays::step(Joining& joining, FirstFault& fault) noexcept {
  Leg& to = *joining.to;
  if (to.begun) return step(to, fault);
  bool all = joining.own == nullptr || joining.own->done;
  for (Leg& leg : joining.from) all = step(leg, fault) && all;
  if (!all) return false;
  if (joining.own != nullptr) to.bundle.append(joining.own->bundle);
  for (const Leg& leg : joining.from) to.bundle.append(leg.bundle);
  begin(to, fault);
  return to.done;
}

bool Relays::step(Splitting& splitting, FirstFault& fault) noexcept {
  if (!step(*splitting.from, fault)) return false;
  if (!splitting.split) {
    splitting.split = true;
    splitting.from->bundle.for_each([&](const BundleEntry& entry, const std::byte* inside) {
      const auto to = splitting.to.find(entry.to);
      if (to != splitting.to.end()) to->second->bundle.add(entry, inside);
    });
    for (const auto& [rank, leg] : splitting.to) {
      if (rank != members_.rank())
        begin(*leg, fault);
      else
        leg->done = true;
    }
  }
  bool all = true;
  for (Leg& leg : splitting.others) all = step(leg, fault) && all;
  return all;
}

bool Relays::step(FirstFault& fault) noexcept {
  bool all = true;
  for (Leg& leg : own_) all = step(leg, fault) && all;
  for (Joining& joining : joins_) all = step(joining, fault) && all;
  for (Splitting& splitting : splits_) all = step(splitting, fault) && all;
  return all;
}

}  // namespace strake::exchange
