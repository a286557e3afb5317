// Draws actions that complete, ask, probe, cancel and free.
#include <algorithm>
#include <functional>
#include <iterator>

#include "generator.hpp"

namespace random_program {

bool Generator::is_completable(const Operation& o) const {
  if (is_buffered(o.call)) return true;
  if (o.message == kNone) return false;
  return !o.sends || model_.message(o.message).is_receiving;
}

void Generator::draw_completion() {
  const int rank = draw_.number(0, options_.ranks - 1);
  Ids chosen = outstanding_[at(rank)];
  if (chosen.empty()) return;
  draw_.shuffle(chosen);
  chosen.resize(draw_.index(chosen.size()) + 1);
  const auto is_possible = [&](int id) { return is_completable(op(id)); };
  const bool is_certain = draw_.chance(65);
  auto completion = static_cast<Completion>(draw_.number(0, 7));
  if (is_certain) {
    chosen.erase(std::remove_if(chosen.begin(), chosen.end(), std::not_fn(is_possible)),
                 chosen.end());
  } else if (std::none_of(chosen.begin(), chosen.end(), is_possible) ||
             completion == Completion::kWait || completion == Completion::kWaitall) {
    completion = draw_.chance(50) ? Completion::kTestany : Completion::kTestsome;
  }
  if (chosen.empty()) return;
  Action& action = emit(Kind::kComplete, {rank}, chosen);
  std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(action.possible), is_possible);
  action.completion = completion;
  action.is_certain = is_certain;
  if (!is_certain) return;
  for (const int id : chosen) settle(id);
}

/// Completes all of a rank's operations that can be; if none can, makes some that can.
void Generator::complete_all(int rank) {
  Ids possible;
  for (const int id : outstanding_[at(rank)]) {
    if (is_completable(op(id))) possible.push_back(id);
  }
  if (!possible.empty()) {
    emit(Kind::kComplete, {rank}, possible).completion =
        static_cast<Completion>(draw_.number(0, 7));
    for (const int id : possible) settle(id);
    return;
  }
  const Ids all = outstanding_[at(rank)];
  for (const int id : all) {
    const Operation& o = op(id);
    if (o.is_hopeless) {
      cancel_hopeless(id);
    } else if (!o.sends && o.message == kNone) {
      send_matching(id);
    } else if (o.sends && !model_.message(o.message).is_receiving) {
      const Message& m = model_.message(o.message);
      const Ids& waiting = model_.messages_at(m.comm, m.destination);
      if (std::find(waiting.begin(), waiting.end(), m.id) == waiting.end()) {
        receive_held(world_rank(m.comm, m.destination), m.id);
      } else {
        receive_first(m.comm, m.destination);
      }
    }
  }
}

void Generator::draw_ask() {
  const int rank = draw_.number(0, options_.ranks - 1);
  if (outstanding_[at(rank)].empty()) return;
  const int id = draw_.pick(outstanding_[at(rank)]);
  emit(Kind::kAsk, {rank}, {id}).is_certain = is_completable(op(id));
}

void Generator::draw_probe(bool takes) {
  const int comm = draw_comm();
  const int here = draw_.number(0, model_.comms[at(comm)].size() - 1);
  const Ids& messages = model_.messages_at(comm, here);
  if (messages.empty()) return;
  const Message& aim = model_.message(draw_.pick(messages));
  const bool any_source = model_.comms[at(comm)].senders == Senders::kOne && draw_.chance(50);
  Action& action = emit(takes ? Kind::kTake : Kind::kProbe, {world_rank(comm, here)});
  action.comm = comm;
  action.peer = any_source ? kWildcard : aim.source;
  action.tag = draw_.chance(40) ? kWildcard : aim.tag;
  action.message = model_.message_for(comm, here, action.peer, action.tag);
  const bool waits = draw_.chance(50);
  action.way =
      takes ? (waits ? Way::kMprobe : Way::kImprobe) : (waits ? Way::kProbe : Way::kIprobe);
  if (!takes) return;
  model_.hold(action.message);
  held_[at(world_rank(comm, here))].push_back(action.message);
}

void Generator::draw_probe_nothing() {
  const int comm = draw_comm();
  const Comm& c = model_.comms[at(comm)];
  Action& action = emit(Kind::kProbeNothing, {draw_.pick(c.members)});
  action.comm = comm;
  action.peer = draw_.chance(50) ? kWildcard : draw_.number(0, c.size() - 1);
  action.tag = kHopelessTag;
  action.way = draw_.chance(50) ? Way::kIprobe : Way::kImprobe;
}

void Generator::cancel_hopeless(int receive) {
  model_.cancel(receive);
  Action& action = emit(Kind::kCancelReceive, {op(receive).rank}, {receive});
  action.completion = static_cast<Completion>(draw_.number(0, 7));
  action.ignores_statuses = false;
  settle(receive);
}

void Generator::draw_cancel_hopeless() {
  Ids hopeless;
  for (const Ids& of_rank : outstanding_) {
    for (const int id : of_rank) {
      if (op(id).is_hopeless) hopeless.push_back(id);
    }
  }
  if (!hopeless.empty()) cancel_hopeless(draw_.pick(hopeless));
}

/// A receive whose message may have come or not: if it is cancelled, its message is received by
/// MPI_Recv. So no other receive of the rank may be one that the message could go to, and the
/// communicator must be there.
void Generator::draw_cancel_matched() {
  const int rank = draw_.number(0, options_.ranks - 1);
  Ids possible;
  for (const int id : outstanding_[at(rank)]) {
    const Operation& o = op(id);
    if (o.sends || o.message == kNone || o.call == Call::kImrecv || model_.is_truncated(o))
      continue;
    if (model_.message(o.message).is_ready || !model_.comms[at(o.comm)].is_live) continue;
    const Ids& all = outstanding_[at(rank)];
    const bool is_alone = std::none_of(all.begin(), all.end(), [&](int other) {
      return other != id && !op(other).sends && !op(other).is_hopeless && op(other).comm == o.comm;
    });
    if (is_alone) possible.push_back(id);
  }
  if (possible.empty()) return;
  const int id = draw_.pick(possible);
  Action& action = emit(Kind::kCancelReceive, {rank}, {id});
  action.completion = static_cast<Completion>(draw_.number(0, 7));
  action.message = op(id).message;
  action.ignores_statuses = false;
  settle(id);
}

void Generator::draw_free() {
  const int rank = draw_.number(0, options_.ranks - 1);
  Ids& inactive = inactive_[at(rank)];
  if (inactive.empty()) return;
  const std::size_t i = draw_.index(inactive.size());
  emit(Kind::kFree, {rank}, {inactive[i]});
  inactive.erase(inactive.begin() + static_cast<std::ptrdiff_t>(i));
}

/// Each rank's buffer is detached, which waits for its messages: first all are received.
void Generator::detach_all() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    for (const auto& [id, bytes] : buffered_[at(rank)]) {
      while (model_.is_waiting(id)) {
        const Message& m = model_.message(id);
        const Ids& waiting = model_.messages_at(m.comm, m.destination);
        if (std::find(waiting.begin(), waiting.end(), id) == waiting.end()) {
          receive_held(world_rank(m.comm, m.destination), id);
        } else {
          receive_first(m.comm, m.destination);
        }
      }
    }
    if (!buffered_[at(rank)].empty()) emit(Kind::kDetach, {rank});
    buffered_[at(rank)].clear();
  }
}

/// After it a send that was freed is over, if its receive was before it.
void Generator::barrier() {
  Ids over, kept;
  for (const int id : freed_) {
    const int receive = model_.message(op(id).message).receive;
    const bool is_over = receive != kNone && op(receive).is_settled;
    (is_over ? over : kept).push_back(id);
  }
  for (const int id : over) model_.operation(id).is_settled = true;
  freed_ = kept;
  emit(Kind::kBarrier, {}, over);
  ++epoch_;
}

}  // namespace random_program
