// Runs actions of several ranks together.
#include <algorithm>
#include <deque>

#include "check.hpp"
#include "runner.hpp"

namespace random_program {

/// A send is cancelled or its message arrives. Which, the library chooses: the sender tells, and
/// hears when the receive is over, so that no later message gets there.
void Runner::cancel_send(const Action& action) {
  const int send = action.operations[0], receive = action.operations[1];
  const int tag = op(send).tag;
  int cancelled = kNone, over = kNone;
  if (op(send).rank == rank_) {
    Begun& b = prepare(send);
    call_send(op(send), b);
    check_call("MPI_Cancel", MPI_Cancel(&b.request));
    wait(send);
    cancelled = is_cancelled(b.status) ? 1 : 0;
    check_call("MPI_Sendrecv",
               MPI_Sendrecv(&cancelled, 1, MPI_INT, op(receive).rank, tag, &over, 1, MPI_INT,
                            op(receive).rank, tag, control_, MPI_STATUS_IGNORE));
    b.has_status = false;
    return settle(send);
  }
  Begun& b = prepare(receive);
  const int source = op(send).rank;
  int flag = 0;
  for (int i = 0; action.probes && flag == 0 && i < 100; ++i) {
    check_call("MPI_Iprobe",
               MPI_Iprobe(op(receive).peer, tag, comm(op(receive).comm), &flag, MPI_STATUS_IGNORE));
  }
  call_receive(op(receive), b);
  check_call("MPI_Recv",
             MPI_Recv(&cancelled, 1, MPI_INT, source, tag, control_, MPI_STATUS_IGNORE));
  if (cancelled == 1) check_call("MPI_Cancel", MPI_Cancel(&b.request));
  wait(receive);
  check_call("MPI_Send", MPI_Send(&over, 1, MPI_INT, source, tag, control_));
  if (cancelled != 1) return settle(receive);
  check_equal("MPI_Test_cancelled of a receive whose send was cancelled", is_cancelled(b.status),
              true);
  check_buffer(b.image->difference(0, 0));
  begun_.erase(receive);
}

void Runner::receive_by(Way way, int id, int peer, int tag) {
  const Operation& o = op(id);
  Begun& b = begun(id);
  const MPI_Comm on = comm(o.comm);
  const int count = o.shape.count;
  const MPI_Datatype type = b.type->type;
  MPI_Message taken = MPI_MESSAGE_NULL;
  int flag = 0, code = MPI_SUCCESS;
  MPI_Status probed{}, status{};
  switch (way) {
    case Way::kProbe:
      check_call("MPI_Probe", MPI_Probe(peer, tag, on, &probed));
      break;
    case Way::kIprobe:
      while (flag == 0) check_call("MPI_Iprobe", MPI_Iprobe(peer, tag, on, &flag, &probed));
      break;
    case Way::kMprobe:
      check_call("MPI_Mprobe", MPI_Mprobe(peer, tag, on, &taken, &probed));
      break;
    case Way::kImprobe:
      while (flag == 0) {
        check_call("MPI_Improbe", MPI_Improbe(peer, tag, on, &flag, &taken, &probed));
      }
      break;
    default:
      break;
  }
  switch (way) {
    case Way::kRecv:
      code = MPI_Recv(b.image->data(), count, type, peer, tag, on, &status);
      break;
    case Way::kIrecv:
      check_call("MPI_Irecv", MPI_Irecv(b.image->data(), count, type, peer, tag, on, &b.request));
      return wait(id);
    case Way::kProbe:
    case Way::kIprobe:
      code = MPI_Recv(b.image->data(), count, type, probed.MPI_SOURCE, probed.MPI_TAG, on, &status);
      break;
    case Way::kMprobe:
      code = MPI_Mrecv(b.image->data(), count, type, &taken, &status);
      break;
    case Way::kImprobe:
      check_call("MPI_Imrecv", MPI_Imrecv(b.image->data(), count, type, &taken, &b.request));
      wait(id);
      code = b.code;
      status = b.status;
      break;
  }
  completed(id, code, &status);
  if (way == Way::kRecv || code != MPI_SUCCESS) return;
  int expected = 0, found = 0;
  MPI_Get_elements(&probed, MPI_BYTE, &expected);
  MPI_Get_elements(&status, MPI_BYTE, &found);
  check_equal("source, as probed,", probed.MPI_SOURCE, status.MPI_SOURCE);
  check_equal("tag, as probed,", probed.MPI_TAG, status.MPI_TAG);
  check_equal("bytes, as probed,", expected, found);
}

void Runner::pair(const Action& action) {
  const int send = action.operations[0], receive = action.operations[1];
  if (op(send).rank == rank_) return start(send);
  prepare(receive);
  receive_by(action.way, receive, op(receive).peer, op(receive).tag);
  settle(receive);
}

void Runner::cycle(const Action& action) {
  for (std::size_t i = 0; i < action.turns.size(); ++i) {
    const int send = action.operations[2 * i], receive = action.operations[2 * i + 1];
    if (op(send).rank == rank_) turn(action.turns[i], send, receive);
  }
}

void Runner::turn(Turn turn, int send, int receive) {
  const Operation &out = op(send), &in = op(receive);
  Begun& s = prepare(send);
  Begun& r = prepare(receive);
  const MPI_Comm on = comm(out.comm);
  const int peer = in.peer == kWildcard ? MPI_ANY_SOURCE : in.peer;
  const int tag = in.tag == kWildcard ? MPI_ANY_TAG : in.tag;
  MPI_Status status{};
  int code = MPI_SUCCESS;
  const auto send_it = [&] {
    check_call("MPI_Send",
               MPI_Send(s.image->data(), out.shape.count, s.type->type, out.peer, out.tag, on));
  };
  switch (turn) {
    case Turn::kSendrecv:
      code = MPI_Sendrecv(s.image->data(), out.shape.count, s.type->type, out.peer, out.tag,
                          r.image->data(), in.shape.count, r.type->type, peer, tag, on, &status);
      break;
    case Turn::kReplace:
      code = MPI_Sendrecv_replace(s.image->data(), out.shape.count, s.type->type, out.peer, out.tag,
                                  peer, tag, on, &status);
      check_call("MPI_Sendrecv_replace", code);
      check_status(status, message(in.message), out.shape, s.type->type);
      check_buffer(s.image->difference(in.message, message(in.message).bytes, out.message));
      begun_.erase(send);
      begun_.erase(receive);
      return;
    case Turn::kReceiveFirst:
      check_call("MPI_Irecv", MPI_Irecv(r.image->data(), in.shape.count, r.type->type, peer, tag,
                                        on, &r.request));
      send_it();
      code = MPI_Wait(&r.request, &status);
      break;
    case Turn::kSendFirst:
      check_call("MPI_Isend", MPI_Isend(s.image->data(), out.shape.count, s.type->type, out.peer,
                                        out.tag, on, &s.request));
      code = MPI_Recv(r.image->data(), in.shape.count, r.type->type, peer, tag, on, &status);
      check_call("MPI_Wait", MPI_Wait(&s.request, MPI_STATUS_IGNORE));
      break;
  }
  completed(send, MPI_SUCCESS, MPI_STATUS_IGNORE);
  completed(receive, code, &status);
  settle(send);
  settle(receive);
}

/// Runs messages whose sources race: those of each source come in their order.
void Runner::race(const Action& action) {
  Ids sends, receives;
  std::map<int, std::deque<int>> sent;  // messages, by source
  for (const int id : action.operations) {
    if (op(id).sends) {
      sent[message(op(id).message).source].push_back(op(id).message);
      if (op(id).rank == rank_) sends.push_back(id);
    } else if (op(id).rank == rank_) {
      receives.push_back(id);
    }
  }
  const auto first = static_cast<std::size_t>(action.count);
  for (std::size_t i = 0; i < receives.size() && i < first; ++i) {
    call_receive(op(receives[i]), prepare(receives[i]));
  }
  for (const int id : sends) call_send(op(id), prepare(id));
  for (std::size_t i = first; i < receives.size(); ++i) {
    prepare(receives[i]);
    receive_by(action.ways[i], receives[i], MPI_ANY_SOURCE, MPI_ANY_TAG);
  }
  complete_by(Completion::kWaitsome, receives, true, false);
  for (const int id : receives) {
    Begun& b = begun(id);
    check_call("completion of a receive from any source", b.code);
    std::deque<int>& left = sent[b.status.MPI_SOURCE];
    if (left.empty()) mismatch("source " + std::to_string(b.status.MPI_SOURCE) + " sent no more");
    const Message& m = message(left.front());
    left.pop_front();
    check_status(b.status, m, op(id).shape, b.type->type);
    check_buffer(b.image->difference(m.id, m.bytes));
    begun_.erase(id);
  }
  complete_by(Completion::kWaitall, sends, true, true);
  for (const int id : sends) settle(id);
}

}  // namespace random_program
