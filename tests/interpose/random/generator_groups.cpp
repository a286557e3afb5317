// Draws actions of several ranks together, the beginning of a program and its end.
#include <algorithm>
#include <numeric>

#include "generator.hpp"

namespace random_program {

/// The sender tells the receiver whether its send was cancelled.
void Generator::draw_cancel_send() {
  Operation o;
  o.sends = true;
  o.comm = draw_comm();
  const Comm& comm = model_.comms[at(o.comm)];
  o.peer = draw_.number(0, comm.size() - 1);
  const int source = draw_source(comm, o.peer);
  if (source == o.peer) return;
  o.rank = world_rank(o.comm, source);
  o.tag = kFirstOwnTag + own_tags_++ % 10000;
  if (model_.receive_for(o.comm, o.peer, source, o.tag) != kNone) return;
  o.memory = draw_memory();
  o.shape = draw_shape(draw_bytes(comm.leaf_bytes), comm.leaf_bytes);
  const std::vector<Call> calls = {Call::kIsend, Call::kIssend, Call::kSendInit};
  o.call = draw_.pick(calls);
  Operation receive;
  receive.comm = o.comm;
  receive.rank = world_rank(o.comm, o.peer);
  receive.peer = source;
  receive.tag = o.tag;
  receive.memory = draw_memory();
  receive.shape = Shapes::draw(draw_, o.shape.bytes(), comm.leaf_bytes);
  receive.call = Call::kIrecv;
  receive.epoch = epoch_;
  const int sent = model_.send(o);
  const int received = model_.receive(receive);
  Action& action = emit(Kind::kCancelSend, {o.rank, receive.rank}, {sent, received});
  action.probes = draw_.chance(50);
  action.ignores_statuses = false;
  begun(sent);
  begun(received);
  settle(sent);
  settle(received);
}

void Generator::draw_pair() {
  const int comm = draw_comm();
  const Comm& c = model_.comms[at(comm)];
  const int destination = draw_.number(0, c.size() - 1);
  const int source = draw_source(c, destination);
  const int tag = draw_.number(0, kTags - 1);
  if (source == destination || model_.receive_for(comm, destination, source, tag) != kNone) return;
  if (model_.message_for(comm, destination, source, tag) != kNone) return;
  const std::int64_t bytes = draw_bytes(c.leaf_bytes);
  pair(comm, source, destination, tag, bytes, draw_memory());
}

void Generator::pair(int comm, int source, int destination, int tag, std::int64_t bytes,
                     Memory memory) {
  const int leaf_bytes = model_.comms[at(comm)].leaf_bytes;
  Operation o;
  o.sends = true;
  o.comm = comm;
  o.rank = world_rank(comm, source);
  o.peer = destination;
  o.tag = tag;
  o.memory = memory;
  o.call = draw_.chance(60) ? Call::kSend : Call::kSsend;
  o.shape = draw_shape(bytes, leaf_bytes);
  Operation receive;
  receive.comm = comm;
  receive.rank = world_rank(comm, destination);
  receive.peer = source;
  receive.tag = tag;
  receive.memory = draw_memory();
  receive.shape = draw_room(o.shape.bytes(), leaf_bytes);
  receive.call = Call::kRecv;
  receive.epoch = epoch_;
  const int sent = model_.send(o);
  const int received = model_.receive(receive);
  Action& action = emit(Kind::kPair, {o.rank, receive.rank}, {sent, received});
  action.way = static_cast<Way>(draw_.number(0, 5));
  action.message = op(sent).message;
  begun(sent);
  begun(received);
}

/// Each rank of a communicator, or two of them, or one to itself, sends to the one before it.
void Generator::draw_cycle() {
  const int comm = draw_comm();
  const Comm& c = model_.comms[at(comm)];
  std::vector<int> cycle(at(c.size()));
  std::iota(cycle.begin(), cycle.end(), 0);
  if (c.senders != Senders::kOne) {
    draw_.shuffle(cycle);
    cycle.resize(draw_.index(cycle.size()) + 1);
  }
  const auto before = [&](std::size_t i) { return cycle[(i + cycle.size() - 1) % cycle.size()]; };
  const auto after = [&](std::size_t i) { return cycle[(i + 1) % cycle.size()]; };
  const int tag = draw_.number(0, kTags - 1);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (model_.receive_for(comm, before(i), cycle[i], tag) != kNone) return;
    if (model_.message_for(comm, before(i), cycle[i], kWildcard) != kNone) return;
  }
  Ids sends, all;
  std::vector<int> ranks;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    Operation o;
    o.sends = true;
    o.comm = comm;
    o.rank = world_rank(comm, cycle[i]);
    o.peer = before(i);
    o.tag = tag;
    o.memory = draw_memory();
    o.call = Call::kSend;
    o.shape = draw_shape(draw_bytes(c.leaf_bytes), c.leaf_bytes);
    ranks.push_back(o.rank);
    sends.push_back(model_.send(o));
  }
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Operation& sent = op(sends[i]);
    const std::int64_t bytes = op(sends[(i + 1) % cycle.size()]).shape.bytes();
    auto turn = static_cast<Turn>(draw_.number(0, 3));
    if (turn == Turn::kReplace && bytes > sent.shape.bytes()) turn = Turn::kSendrecv;
    Operation o;
    o.comm = comm;
    o.rank = ranks[i];
    o.peer = c.senders == Senders::kOne && draw_.chance(50) ? kWildcard : after(i);
    o.tag = draw_.chance(30) ? kWildcard : tag;
    o.call = Call::kRecv;
    o.memory = turn == Turn::kReplace ? sent.memory : draw_memory();
    o.shape = turn == Turn::kReplace ? sent.shape : draw_room(bytes, c.leaf_bytes);
    o.epoch = epoch_;
    const int received = model_.receive(o);
    turns.push_back(turn);
    all.insert(all.end(), {sends[i], received});
  }
  emit(Kind::kCycle, ranks, all).turns = turns;
  for (const int id : all) begun(id);
}

/// Messages of several ranks to one, which receives from any source with any tag.
void Generator::draw_race() {
  const Comm& c = model_.comms[at(race_comm_)];
  const int destination = draw_.number(0, c.size() - 1);
  const int count = draw_.number(2, 8);
  std::int64_t most = 0;
  Ids all;
  for (int i = 0; i < count; ++i) {
    Operation o;
    o.sends = true;
    o.comm = race_comm_;
    o.peer = destination;
    o.rank = draw_.pick(c.members);
    o.tag = draw_.number(0, kTags - 1);
    o.memory = draw_memory();
    o.shape = draw_shape(draw_bytes(1), 1);
    o.call = draw_.chance(50) ? Call::kIsend : Call::kIssend;
    most = std::max(most, o.shape.bytes());
    all.push_back(model_.add_apart(o, o.shape.bytes()));
    begun(all.back());
  }
  std::vector<Way> ways;
  const int first = draw_.number(0, count);
  for (int i = 0; i < count; ++i) {
    Operation o;
    o.comm = race_comm_;
    o.peer = kWildcard;
    o.rank = c.members[at(destination)];
    o.tag = kWildcard;
    o.memory = draw_memory();
    o.shape = Shapes::draw(draw_, most + draw_.between(0, 100), 1);
    o.call = Call::kIrecv;
    ways.push_back(i < first ? Way::kIrecv : static_cast<Way>(draw_.number(0, 5)));
    all.push_back(model_.add_apart(o, 0));
    begun(all.back());
  }
  Action& action = emit(Kind::kRace, {}, all);
  action.comm = race_comm_;
  action.ways = ways;
  action.count = first;
  for (const int id : all) settle(id);
  barrier();
}

void Generator::draw_make_comms() {
  constexpr std::size_t kMostLive = 6;
  const auto is_live = [](const Comm& c) { return c.is_live; };
  if (std::count_if(model_.comms.begin(), model_.comms.end(), is_live) >= std::ptrdiff_t{kMostLive})
    return;
  const std::vector<int> leaves = {1, 1, 4, 8};
  std::vector<Comm> made(1);
  const bool is_dup = draw_.chance(40);
  const bool is_cut = !is_dup && options_.ranks > 2 && draw_.chance(50);
  if (is_cut) made.resize(2);
  for (int rank = 0; rank < options_.ranks; ++rank) {
    // The last two are apart, and the others with one of them.
    const bool second =
        is_cut && (rank == options_.ranks - 1 || (rank < options_.ranks - 2 && draw_.chance(50)));
    std::vector<int>& members = made[second ? 1 : 0].members;
    members.insert(is_dup ? members.end() : members.begin(), rank);
  }
  std::vector<int> numbers;
  for (Comm& comm : made) {
    comm.senders = draw_.chance(50) ? Senders::kOne : Senders::kAny;
    comm.leaf_bytes = draw_.pick(leaves);
    numbers.push_back(model_.add_comm(comm));
  }
  Action& action = emit(Kind::kMakeComms, {});
  action.comms = numbers;
  action.duplicates = is_dup;
}

/// Every receive gets its message and every message its receive; they need not be complete.
void Generator::match_all(int comm) {
  for (int rank = 0; rank < model_.comms[at(comm)].size(); ++rank) {
    const Ids receives = model_.receives_at(comm, rank);
    for (const int id : receives) {
      if (op(id).is_hopeless) cancel_hopeless(id);
    }
    while (!model_.receives_at(comm, rank).empty()) {
      send_matching(model_.receives_at(comm, rank).front());
    }
    while (!model_.messages_at(comm, rank).empty()) receive_first(comm, rank);
    const int here = world_rank(comm, rank);
    const Ids held = held_[at(here)];
    for (const int id : held) {
      if (model_.message(id).comm == comm) receive_held(here, id);
    }
  }
}

void Generator::draw_free_comm() {
  const int comm = draw_comm();
  if (comm == 0) return;
  match_all(comm);
  Ids inactive;
  for (Ids& of_rank : inactive_) {
    const auto end = std::stable_partition(of_rank.begin(), of_rank.end(),
                                           [&](int id) { return op(id).comm != comm; });
    inactive.insert(inactive.end(), end, of_rank.end());
    of_rank.erase(end, of_rank.end());
  }
  Comm& c = model_.comms[at(comm)];
  c.is_live = false;
  Action& action = emit(Kind::kFreeComm, c.members, inactive);
  action.comm = comm;
}

void Generator::begin() {
  is_begun_ = true;
  Comm world;
  world.members.resize(at(options_.ranks));
  std::iota(world.members.begin(), world.members.end(), 0);
  world.senders = draw_.chance(40) ? Senders::kOne : Senders::kAny;
  Comm race = world;
  race.senders = Senders::kRace;
  model_.add_comm(world);
  race_comm_ = model_.add_comm(race);
  Action& action = emit(Kind::kMakeComms, {});
  action.comms = {race_comm_};
  action.duplicates = true;
  if (options_.seed % 2 != 0) return;
  // So many messages later each rank has heard of its peers' shared memory.
  for (const std::int64_t bytes : {5000, 70000, 70000}) {
    for (int from = 0; from < options_.ranks; ++from) {
      for (int to = 0; to < options_.ranks; ++to) {
        const bool can = world.senders == Senders::kAny || world.one_sender(to) == from;
        if (from != to && can) pair(0, from, to, 0, bytes, Memory::kShared);
      }
    }
  }
}

void Generator::end() {
  for (std::size_t i = 0; i < model_.comms.size(); ++i) {
    if (model_.comms[i].is_live) match_all(static_cast<int>(i));
  }
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (!outstanding_[at(rank)].empty()) complete_all(rank);
    for (const int id : inactive_[at(rank)]) emit(Kind::kFree, {rank}, {id});
    inactive_[at(rank)].clear();
  }
  barrier();
  detach_all();
  for (std::size_t i = 1; i < model_.comms.size(); ++i) {
    Comm& c = model_.comms[i];
    if (!c.is_live) continue;
    c.is_live = false;
    emit(Kind::kFreeComm, c.members).comm = static_cast<int>(i);
  }
}

}  // namespace random_program
