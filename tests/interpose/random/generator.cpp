#include "generator.hpp"

#include <mpi.h>

#include <algorithm>

namespace random_program {
namespace {

#ifdef OPEN_MPI
// Open MPI 4.1 alone writes past a receive's end when a message is too long.
constexpr bool kTruncates = false;
constexpr bool kFreesToItself = true;
// Open MPI 4.1 alone completes such a send, and reads the program's buffer later.
constexpr bool kBuffersPersistent = false;
#else
constexpr bool kTruncates = true;
constexpr bool kFreesToItself = false;  // MPICH 4.0 loses a freed message to oneself
constexpr bool kBuffersPersistent = true;
#endif

void remove(std::vector<int>& from, int id) {
  from.erase(std::remove(from.begin(), from.end(), id), from.end());
}

}  // namespace

Generator::Generator(const Options& options)
    : options_(options),
      draw_(options.seed),
      shapes_(options.seed),
      outstanding_(at(options.ranks)),
      inactive_(at(options.ranks)),
      held_(at(options.ranks)),
      buffered_(at(options.ranks)) {}

bool Generator::next(Action& action) {
  if (!is_begun_) begin();
  if (actions_.empty() && step_ > forgotten_ + kForgets) {
    Ids kept;
    for (const Ids& of_rank : inactive_) kept.insert(kept.end(), of_rank.begin(), of_rank.end());
    model_.forget(kept);
    forgotten_ = step_;
  }
  while (actions_.empty()) {
    if (messages_ < options_.messages) {
      draw_any();
    } else if (is_ending_) {
      return false;
    } else {
      is_ending_ = true;
      end();
    }
  }
  ++step_;
  action = std::move(actions_.front());
  actions_.pop_front();
  return true;
}

void Generator::draw_any() {
  const int kind = draw_.number(0, 199);
  if (kind < 56) return draw_send();
  if (kind < 104) return draw_receive();
  if (kind < 130) return draw_completion();
  if (kind < 136) return draw_probe(false);
  if (kind < 143) return draw_probe(true);
  if (kind < 152) return draw_held_receive();
  if (kind < 156) return draw_ask();
  if (kind < 157) return draw_probe_nothing();
  if (kind < 160) return draw_startall();
  if (kind < 162) return draw_free();
  if (kind < 172) return draw_pair();
  if (kind < 184) return draw_cycle();
  if (kind < 187) return draw_cancel_hopeless();
  if (kind < 193) return draw_cancel_matched();
  if (kind < 195) return draw_cancel_send();
  if (kind < 197) return barrier();
  if (kind == 197) return draw_race();
  if (draw_.chance(50)) return;
  return kind == 198 ? draw_make_comms() : draw_free_comm();
}

Action& Generator::emit(Kind kind, std::vector<int> ranks, Ids operations) {
  Action action;
  action.kind = kind;
  action.ranks = std::move(ranks);
  action.operations = std::move(operations);
  action.ignores_statuses = draw_.chance(12);
  actions_.push_back(std::move(action));
  return actions_.back();
}

void Generator::settle(int id) {
  Operation& o = model_.operation(id);
  o.is_settled = true;
  remove(outstanding_[at(o.rank)], id);
  if (!is_persistent(o.call)) return;
  Ids& inactive = inactive_[at(o.rank)];
  inactive.push_back(id);
  if (!model_.comms[at(o.comm)].is_live || inactive.size() > kInactive) {
    emit(Kind::kFree, {o.rank}, {id});
    inactive.pop_back();
  }
}

void Generator::begun(int id) {
  const Operation& o = op(id);
  if (o.again != kNone) remove(inactive_[at(o.rank)], o.again);
  if (o.sends) ++messages_;
  if (is_buffered(o.call)) buffered_[at(o.rank)].push_back({o.message, o.shape.bytes()});
  if (is_blocking(o.call)) {
    settle(id);
  } else if (o.frees_request) {
    freed_.push_back(id);
  } else {
    outstanding_[at(o.rank)].push_back(id);
  }
}

void Generator::start(int id) {
  emit(Kind::kStart, {op(id).rank}, {id});
  begun(id);
}

std::int64_t Generator::draw_bytes(int leaf_bytes) {
  const int kind = draw_.number(0, 99);
  static const std::vector<std::int64_t> kHeaderLengths = {992, 896};
  const std::int64_t few = 8 * draw_.between(-2, 2);
  const std::int64_t bytes = kind < 4    ? 0
                             : kind < 32 ? draw_.between(1, 400)
                             : kind < 42 ? draw_.pick(kHeaderLengths)
                             : kind < 50 ? draw_.between(960, 1030)
                             : kind < 62 ? draw_.between(1000, 4095)
                             : kind < 72 ? (4 << 10) + few
                             : kind < 86 ? draw_.between(4097, 30000)
                             : kind < 92 ? (32 << 10) + few
                             : kind < 97 ? (64 << 10) + few
                                         : draw_.between(70000, 400000);
  return bytes / leaf_bytes * leaf_bytes;
}

Memory Generator::draw_memory() {
  if (options_.on_device && draw_.chance(60)) return Memory::kDevice;
  return static_cast<Memory>(draw_.number(0, static_cast<int>(Memory::kStatic)));
}

Shape Generator::draw_kept(std::int64_t least, std::int64_t most, int leaf_bytes) {
  constexpr std::size_t kKept = 12;
  constexpr std::int64_t kMostElements = 6;
  const std::vector<int> leaves = {1, 1, 1, 4, 8};
  while (kept_.size() < kKept || draw_.chance(1)) {
    if (kept_.size() >= kKept) kept_.erase(kept_.begin());
    const int leaf = draw_.pick(leaves);
    const std::int64_t bytes = draw_bytes(leaf);
    kept_.push_back(Shapes::draw(draw_, std::max<std::int64_t>(bytes, 8), leaf));
    kept_.back().is_kept = true;
  }
  Shape shape = draw_.pick(kept_);
  const std::int64_t element = shape.element_bytes;
  const std::int64_t from = (least + element - 1) / element;
  const std::int64_t to = std::min(most / element, kMostElements);
  const auto count = static_cast<int>(draw_.between(from, std::max(from, to)));
  const bool is_fit = shape.leaf_bytes == leaf_bytes && shape.form != Form::kPlain && from <= to;
  shape.count = is_fit ? count : -1;
  return shape;
}

Shape Generator::draw_shape(std::int64_t most, int leaf_bytes) {
  for (int tries = 0; tries < 5; ++tries) {
    const Shape kept = draw_kept(std::min<std::int64_t>(most, 1), most, leaf_bytes);
    if (kept.count >= 0 && draw_.chance(60)) return kept;
  }
  if (leaf_bytes == 1 && draw_.chance(25)) return shapes_.draw_wild(draw_, most);
  return Shapes::draw(draw_, most, leaf_bytes);
}

Shape Generator::draw_room(std::int64_t bytes, int leaf_bytes) {
  std::int64_t room = bytes;
  if (draw_.chance(10)) {
    const std::int64_t less = bytes * draw_.between(0, 99) / 100 / leaf_bytes * leaf_bytes;
    if (may_truncate(bytes, less)) return Shapes::draw(draw_, less, leaf_bytes);
  }
  for (int tries = 0; tries < 5; ++tries) {
    const Shape kept = draw_kept(bytes, 2 * bytes + 400, leaf_bytes);
    if (kept.count >= 0 && draw_.chance(60)) return kept;
  }
  if (draw_.chance(55)) room += leaf_bytes * draw_.between(0, 40);
  if (draw_.chance(15)) room += bytes / leaf_bytes * leaf_bytes;
  if (leaf_bytes == 1 && draw_.chance(25)) {
    const Shape wild = shapes_.draw_wild(draw_, 5 * std::max<std::int64_t>(room, 1));
    if (wild.bytes() >= bytes) return wild;
  }
  return Shapes::draw(draw_, room, leaf_bytes);
}

bool Generator::may_truncate(std::int64_t bytes, std::int64_t room) const {
  return kTruncates && bytes > room;
}

bool Generator::may_buffer(int rank, std::int64_t bytes) const {
  for (const Buffered& other : buffered_[at(rank)]) bytes += other.bytes;
  return bytes <= kBufferedBytes;
}

Call Generator::draw_send_call(int receive, int rank, std::int64_t bytes) {
  std::vector<Call> calls = {Call::kIsend,    Call::kIsend,  Call::kIsend,    Call::kSendInit,
                             Call::kSendInit, Call::kIssend, Call::kSsendInit};
  if (may_buffer(rank, bytes)) {
    calls.insert(calls.end(), {Call::kBsend, Call::kIbsend});
    if (kBuffersPersistent) calls.push_back(Call::kBsendInit);
  }
  // A blocking send only where its receive has been called.
  if (receive != kNone) calls.insert(calls.end(), {Call::kSend, Call::kSend, Call::kSsend});
  if (receive != kNone && op(receive).epoch < epoch_) {
    calls.insert(calls.end(), {Call::kRsend, Call::kIrsend, Call::kRsendInit});
  }
  return draw_.pick(calls);
}

int Generator::draw_comm(bool races) {
  Ids live;
  for (std::size_t i = 0; i < model_.comms.size(); ++i) {
    const Comm& comm = model_.comms[i];
    if (comm.is_live && (comm.senders == Senders::kRace) == races)
      live.push_back(static_cast<int>(i));
  }
  return draw_.pick(live);
}

int Generator::draw_source(const Comm& comm, int destination) {
  if (comm.senders == Senders::kOne) return comm.one_sender(destination);
  const int source = draw_.number(0, comm.size() - 1);
  // Fewer to oneself.
  return source == destination ? draw_.number(0, comm.size() - 1) : source;
}

int Generator::draw_inactive(bool sends) {
  Ids all;
  for (const Ids& of_rank : inactive_) {
    for (const int id : of_rank) {
      if (op(id).sends == sends && !op(id).is_hopeless) all.push_back(id);
    }
  }
  return all.empty() ? kNone : draw_.pick(all);
}

void Generator::draw_send() {
  Operation o;
  const int again = draw_.chance(30) ? draw_inactive(true) : kNone;
  if (again != kNone) {
    o = op(again);
    o.again = again;
    o.message = kNone;
    o.is_settled = false;
  } else {
    o.comm = draw_comm();
    const Comm& comm = model_.comms[at(o.comm)];
    o.peer = draw_.number(0, comm.size() - 1);
    o.rank = world_rank(o.comm, draw_source(comm, o.peer));
    o.tag = draw_.number(0, kTags - 1);
    o.memory = draw_memory();
    o.frees_type = draw_.chance(35);
  }
  o.sends = true;
  const Comm& comm = model_.comms[at(o.comm)];
  const int source = comm.rank_of(o.rank);
  const int receive = model_.receive_for(o.comm, o.peer, source, o.tag);
  if (is_busy(o.rank)) return complete_all(o.rank);
  if (receive == kNone && model_.messages_at(o.comm, o.peer).size() >= kWaiting) {
    return receive_first(o.comm, o.peer);
  }
  const std::int64_t room = receive != kNone ? op(receive).shape.bytes() : 0;
  if (again == kNone) {
    std::int64_t bytes = draw_bytes(comm.leaf_bytes);
    if (receive != kNone) {
      const std::int64_t more = room + comm.leaf_bytes * draw_.between(1, 3000);
      if (draw_.chance(10) && may_truncate(more, room)) {
        bytes = more;
      } else if (bytes > room || draw_.chance(25)) {
        bytes = room;
      }
    }
    o.shape = bytes > room ? Shapes::draw(draw_, bytes, comm.leaf_bytes)
                           : draw_shape(bytes, comm.leaf_bytes);
    o.call = draw_send_call(receive, o.rank, o.shape.bytes());
  }
  const std::int64_t bytes = o.shape.bytes();
  if (receive != kNone && bytes > room && !may_truncate(bytes, room)) return;
  if (is_ready(o.call) && (receive == kNone || op(receive).epoch == epoch_)) return;
  if (is_buffered(o.call) && !may_buffer(o.rank, bytes)) return detach_all();
  const bool to_itself = source == o.peer;
  o.frees_request = !is_blocking(o.call) && (kFreesToItself || !to_itself) && draw_.chance(8);
  start(model_.send(o));
}

/// Sends what a receive waits for.
void Generator::send_matching(int receive) {
  const Operation r = op(receive);
  const Comm& comm = model_.comms[at(r.comm)];
  Operation o;
  o.sends = true;
  o.comm = r.comm;
  o.peer = comm.rank_of(r.rank);
  o.rank = world_rank(r.comm, r.peer != kWildcard ? r.peer : draw_source(comm, o.peer));
  o.tag = r.tag != kWildcard ? r.tag : draw_.number(0, kTags - 1);
  o.memory = draw_memory();
  const int source = comm.rank_of(o.rank);
  const int first = model_.receive_for(o.comm, o.peer, source, o.tag);  // perhaps an earlier one
  o.shape = draw_shape(op(first).shape.bytes(), comm.leaf_bytes);
  o.call = draw_.chance(50) ? Call::kIsend : Call::kSend;
  start(model_.send(o));
}

void Generator::draw_receive() {
  Operation o;
  const int again = draw_.chance(25) ? draw_inactive(false) : kNone;
  if (again != kNone) {
    o = op(again);
    o.again = again;
    o.message = kNone;
    o.is_settled = false;
  } else {
    o.comm = draw_comm();
    const Comm& comm = model_.comms[at(o.comm)];
    const int here = draw_.number(0, comm.size() - 1);
    o.rank = world_rank(o.comm, here);
    const Ids& messages = model_.messages_at(o.comm, here);
    const bool for_message = !messages.empty() && draw_.chance(65);
    const int chosen = for_message ? draw_.pick(messages) : kNone;
    const int source = for_message ? model_.message(chosen).source : draw_source(comm, here);
    const int tag = for_message ? model_.message(chosen).tag : draw_.number(0, kTags - 1);
    o.peer = comm.senders == Senders::kOne && draw_.chance(50) ? kWildcard : source;
    o.tag = draw_.chance(30) ? kWildcard : tag;
    o.memory = draw_memory();
    o.frees_type = draw_.chance(35);
  }
  const Comm& comm = model_.comms[at(o.comm)];
  const int here = comm.rank_of(o.rank);
  if (is_busy(o.rank)) return complete_all(o.rank);
  const int found = model_.message_for(o.comm, here, o.peer, o.tag);
  if (found == kNone && model_.receives_at(o.comm, here).size() >= kWaiting) {
    const Ids& receives = model_.receives_at(o.comm, here);
    const auto hopeful =
        std::find_if(receives.begin(), receives.end(), [&](int id) { return !op(id).is_hopeless; });
    return hopeful != receives.end() ? send_matching(*hopeful) : cancel_hopeless(receives.front());
  }
  const std::int64_t bytes = found != kNone ? model_.message(found).bytes : 0;
  if (again != kNone) {
    if (bytes > o.shape.bytes() && !may_truncate(bytes, o.shape.bytes())) return;
  } else {
    o.shape = draw_room(found != kNone ? bytes : draw_bytes(comm.leaf_bytes), comm.leaf_bytes);
    o.call = draw_.chance(30)                     ? Call::kRecvInit
             : found != kNone && draw_.chance(40) ? Call::kRecv
                                                  : Call::kIrecv;
    if (found == kNone && draw_.chance(4)) {
      o.is_hopeless = true;
      o.tag = kHopelessTag;
      if (draw_.chance(40)) o.peer = kWildcard;
    }
  }
  o.epoch = epoch_;
  start(model_.receive(o));
}

/// Receives the first message that waits at a rank.
void Generator::receive_first(int comm, int destination) {
  const Message& m = model_.message(model_.messages_at(comm, destination).front());
  Operation o;
  o.comm = comm;
  o.rank = world_rank(comm, destination);
  o.peer = m.source;
  o.tag = m.tag;
  o.memory = draw_memory();
  o.shape = draw_room(m.bytes, model_.comms[at(comm)].leaf_bytes);
  o.call = draw_.chance(50) ? Call::kIrecv : Call::kRecv;
  o.epoch = epoch_;
  start(model_.receive(o));
}

void Generator::draw_held_receive() {
  const int rank = draw_.number(0, options_.ranks - 1);
  if (!held_[at(rank)].empty()) receive_held(rank, draw_.pick(held_[at(rank)]));
}

void Generator::receive_held(int rank, int message) {
  const Message& m = model_.message(message);
  remove(held_[at(rank)], message);
  Operation o;
  o.comm = m.comm;
  o.rank = rank;
  o.peer = m.source;
  o.tag = m.tag;
  o.memory = draw_memory();
  o.frees_type = draw_.chance(35);
  o.shape = draw_room(m.bytes, model_.comms[at(m.comm)].leaf_bytes);
  o.call = draw_.chance(50) ? Call::kMrecv : Call::kImrecv;
  o.epoch = epoch_;
  start(model_.receive_held(o, message));
}

/// MPI_Startall starts its requests in any order: no two for one peer, communicator and direction.
void Generator::draw_startall() {
  const int rank = draw_.number(0, options_.ranks - 1);
  Ids candidates = inactive_[at(rank)], begun_now;
  draw_.shuffle(candidates);
  for (const int again : candidates) {
    Operation o = op(again);
    const Comm& comm = model_.comms[at(o.comm)];
    const int here = comm.rank_of(rank);
    if (o.is_hopeless || is_buffered(o.call) || is_ready(o.call)) continue;
    // To itself the two directions meet.
    if (o.peer == here || o.peer == kWildcard) continue;
    const bool is_alone = std::none_of(begun_now.begin(), begun_now.end(), [&](int other) {
      return op(other).comm == o.comm && op(other).peer == o.peer && op(other).sends == o.sends;
    });
    if (!is_alone) continue;
    const int partner = o.sends ? model_.receive_for(o.comm, o.peer, here, o.tag)
                                : model_.message_for(o.comm, here, o.peer, o.tag);
    if (partner != kNone) {
      const std::int64_t room = o.sends ? op(partner).shape.bytes() : o.shape.bytes();
      const std::int64_t bytes = o.sends ? o.shape.bytes() : model_.message(partner).bytes;
      if (bytes > room) continue;
    }
    o.again = again;
    o.message = kNone;
    o.is_settled = false;
    o.frees_request = false;
    o.epoch = epoch_;
    begun_now.push_back(o.sends ? model_.send(o) : model_.receive(o));
  }
  if (begun_now.empty()) return;
  emit(Kind::kStartall, {rank}, begun_now);
  for (const int id : begun_now) begun(id);
}

}  // namespace random_program
