#include "runner.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "check.hpp"

namespace random_program {

Runner::Runner(Generator& program, std::string alone, bool prints)
    : program_(program),
      alone_(std::move(alone)),
      prints_(prints),
      rank_(check::rank()),
      comms_{MPI_COMM_WORLD},
      buffer_(kBufferBytes) {}

bool Runner::takes_part(const Action& action) const {
  return action.ranks.empty() ||
         std::find(action.ranks.begin(), action.ranks.end(), rank_) != action.ranks.end();
}

void Runner::run() {
  static char section[1000];
  check::section(section);
  MPI_Comm_dup(MPI_COMM_WORLD, &control_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(buffer_.data(), kBufferBytes);
  while (program_.next(action_)) {
    if (!takes_part(action_)) continue;
    const std::string text = describe(action_);
    std::snprintf(section, sizeof section, "step %ld (alone: %s): %s", program_.step(),
                  alone_.c_str(), text.c_str());
    if (prints_) std::fprintf(stderr, "[%d] %ld: %s\n", rank_, program_.step(), text.c_str());
    if (program_.step() % 100 == 0) alarm(check::kWatchdogSeconds);
    run(action_);
  }
  if (!begun_.empty() || !held_.empty()) mismatch("operations or messages are left over");
  void* detached = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&detached, &bytes);
  MPI_Comm_free(&control_);
}

void Runner::run(const Action& action) {
  const Ids& ids = action.operations;
  switch (action.kind) {
    case Kind::kStart:
      return start(ids[0]);
    case Kind::kStartall:
      return startall(action);
    case Kind::kComplete:
      return complete(action);
    case Kind::kAsk:
      return ask(action);
    case Kind::kProbe:
    case Kind::kTake:
      return probe(action);
    case Kind::kProbeNothing:
      return probe_nothing(action);
    case Kind::kCancelReceive:
      return cancel_receive(action);
    case Kind::kCancelSend:
      return cancel_send(action);
    case Kind::kPair:
      return pair(action);
    case Kind::kCycle:
      return cycle(action);
    case Kind::kRace:
      return race(action);
    case Kind::kBarrier:
      check_call("MPI_Barrier", MPI_Barrier(MPI_COMM_WORLD));
      for (const int id : ids) {
        if (op(id).rank == rank_) settle(id);
      }
      return;
    case Kind::kFree:
      return free_requests(ids);
    case Kind::kMakeComms:
      return make_comms(action);
    case Kind::kFreeComm:
      return free_comm(action);
    case Kind::kDetach: {
      void* detached = nullptr;
      int bytes = 0;
      check_call("MPI_Buffer_detach", MPI_Buffer_detach(&detached, &bytes));
      check_equal("size of the detached buffer", bytes, kBufferBytes);
      check_call("MPI_Buffer_attach", MPI_Buffer_attach(buffer_.data(), kBufferBytes));
      return;
    }
  }
}

Runner::Begun& Runner::prepare(int id) {
  const Operation& o = op(id);
  Begun& b = begun_[id];
  if (o.again != kNone) {
    b = std::move(begun(o.again));
    begun_.erase(o.again);
    b.is_complete = b.has_status = false;
    b.code = MPI_SUCCESS;
  } else {
    b.type = program_.shapes().build(o.shape);
    b.image = std::make_unique<Image>(b.type, o.shape.count, o.memory);
  }
  if (o.sends) {
    b.image->fill(o.message);
  } else if (o.again != kNone) {
    b.image->poison();
  }
  return b;
}

void Runner::start(int id) {
  const Operation& o = op(id);
  Begun& b = prepare(id);
  if (o.sends) {
    call_send(o, b);
  } else {
    call_receive(o, b);
  }
  if (o.frees_type && !o.shape.is_kept) b.type->free();
  if (o.frees_request) {
    check_call("MPI_Request_free", MPI_Request_free(&b.request));
    check_equal("freed request is MPI_REQUEST_NULL", b.request == MPI_REQUEST_NULL, true);
    b.is_complete = true;
  }
  if (is_blocking(o.call)) settle(id);
}

void Runner::startall(const Action& action) {
  std::vector<MPI_Request> requests;
  for (const int id : action.operations) requests.push_back(prepare(id).request);
  check_call("MPI_Startall", MPI_Startall(static_cast<int>(requests.size()), requests.data()));
  for (std::size_t i = 0; i < requests.size(); ++i)
    begun(action.operations[i]).request = requests[i];
}

void Runner::call_send(const Operation& o, Begun& b) {
  const auto with = [&](auto call, auto... more) {
    return call(b.image->data(), o.shape.count, b.type->type, o.peer, o.tag, comm(o.comm), more...);
  };
  int code = MPI_SUCCESS;
  if (o.again != kNone) return check_call("MPI_Start", MPI_Start(&b.request));
  switch (o.call) {
    case Call::kSend:
      code = with(MPI_Send);
      break;
    case Call::kSsend:
      code = with(MPI_Ssend);
      break;
    case Call::kRsend:
      code = with(MPI_Rsend);
      break;
    case Call::kBsend:
      code = with(MPI_Bsend);
      break;
    case Call::kIsend:
      code = with(MPI_Isend, &b.request);
      break;
    case Call::kIssend:
      code = with(MPI_Issend, &b.request);
      break;
    case Call::kIrsend:
      code = with(MPI_Irsend, &b.request);
      break;
    case Call::kIbsend:
      code = with(MPI_Ibsend, &b.request);
      break;
    case Call::kSendInit:
      code = with(MPI_Send_init, &b.request);
      break;
    case Call::kSsendInit:
      code = with(MPI_Ssend_init, &b.request);
      break;
    case Call::kRsendInit:
      code = with(MPI_Rsend_init, &b.request);
      break;
    case Call::kBsendInit:
      code = with(MPI_Bsend_init, &b.request);
      break;
    default:
      mismatch("no send");
  }
  check_call(kCallNames[static_cast<int>(o.call)], code);
  b.is_complete = is_blocking(o.call);
  if (is_persistent(o.call)) check_call("MPI_Start", MPI_Start(&b.request));
}

void Runner::call_receive(const Operation& o, Begun& b) {
  void* const data = b.image->data();
  const int count = o.shape.count;
  const int peer = o.peer == kWildcard ? MPI_ANY_SOURCE : o.peer;
  const int tag = o.tag == kWildcard ? MPI_ANY_TAG : o.tag;
  MPI_Status* const status = action_.ignores_statuses ? MPI_STATUS_IGNORE : &b.status;
  int code = MPI_SUCCESS;
  if (o.again != kNone) return check_call("MPI_Start", MPI_Start(&b.request));
  switch (o.call) {
    case Call::kRecv:
      code = MPI_Recv(data, count, b.type->type, peer, tag, comm(o.comm), status);
      return completed(o.id, code, status);
    case Call::kMrecv:
      code = MPI_Mrecv(data, count, b.type->type, &held_.at(o.message), status);
      break;
    case Call::kIrecv:
      return check_call("MPI_Irecv",
                        MPI_Irecv(data, count, b.type->type, peer, tag, comm(o.comm), &b.request));
    case Call::kRecvInit:
      check_call("MPI_Recv_init",
                 MPI_Recv_init(data, count, b.type->type, peer, tag, comm(o.comm), &b.request));
      return check_call("MPI_Start", MPI_Start(&b.request));
    case Call::kImrecv:
      check_call("MPI_Imrecv",
                 MPI_Imrecv(data, count, b.type->type, &held_.at(o.message), &b.request));
      break;
    default:
      mismatch("no receive");
  }
  // MPICH leaves the handle as it was if the receive fails.
  if (code == MPI_SUCCESS) {
    check_equal("message is MPI_MESSAGE_NULL", held_.at(o.message) == MPI_MESSAGE_NULL, true);
  }
  held_.erase(o.message);
  if (o.call == Call::kMrecv) completed(o.id, code, status);
}

void Runner::probe(const Action& action) {
  const int peer = action.peer == kWildcard ? MPI_ANY_SOURCE : action.peer;
  const int tag = action.tag == kWildcard ? MPI_ANY_TAG : action.tag;
  const MPI_Comm on = comm(action.comm);
  MPI_Status status{};
  MPI_Message taken = MPI_MESSAGE_NULL;
  int flag = 0;
  switch (action.way) {
    case Way::kProbe:
      check_call("MPI_Probe", MPI_Probe(peer, tag, on, &status));
      break;
    case Way::kIprobe:
      while (flag == 0) check_call("MPI_Iprobe", MPI_Iprobe(peer, tag, on, &flag, &status));
      break;
    case Way::kMprobe:
      check_call("MPI_Mprobe", MPI_Mprobe(peer, tag, on, &taken, &status));
      break;
    default:
      while (flag == 0) {
        check_call("MPI_Improbe", MPI_Improbe(peer, tag, on, &flag, &taken, &status));
      }
  }
  check_status(status, message(action.message));
  if (action.kind == Kind::kTake) held_[action.message] = taken;
}

void Runner::probe_nothing(const Action& action) {
  const int peer = action.peer == kWildcard ? MPI_ANY_SOURCE : action.peer;
  MPI_Message taken = MPI_MESSAGE_NULL;
  int flag = 1;
  if (action.way == Way::kIprobe) {
    check_call("MPI_Iprobe",
               MPI_Iprobe(peer, action.tag, comm(action.comm), &flag, MPI_STATUS_IGNORE));
  } else {
    check_call("MPI_Improbe",
               MPI_Improbe(peer, action.tag, comm(action.comm), &flag, &taken, MPI_STATUS_IGNORE));
  }
  check_equal("flag of a probe for what nobody sends", flag, 0);
}

void Runner::free_requests(const Ids& ids) {
  for (const int id : ids) {
    if (begun_.find(id) == begun_.end()) continue;  // another rank's
    check_call("MPI_Request_free", MPI_Request_free(&begun(id).request));
    begun_.erase(id);
  }
}

void Runner::make_comms(const Action& action) {
  const std::vector<Comm>& all = program_.model().comms;
  MPI_Comm made = MPI_COMM_NULL;
  int mine = kNone;
  for (const int number : action.comms) {
    if (all[static_cast<std::size_t>(number)].rank_of(rank_) != kNone) mine = number;
  }
  if (action.duplicates) {
    check_call("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &made));
  } else {
    check_call("MPI_Comm_split", MPI_Comm_split(MPI_COMM_WORLD, mine, -rank_, &made));
  }
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  int rank = kNone;
  MPI_Comm_rank(made, &rank);
  check_equal("rank", rank, all[static_cast<std::size_t>(mine)].rank_of(rank_));
  for (const int number : action.comms) {
    comms_.resize(std::max(comms_.size(), static_cast<std::size_t>(number) + 1), MPI_COMM_NULL);
    if (number == mine) comms_[static_cast<std::size_t>(number)] = made;
  }
}

void Runner::free_comm(const Action& action) {
  free_requests(action.operations);
  check_call("MPI_Comm_free", MPI_Comm_free(&comms_[static_cast<std::size_t>(action.comm)]));
}

void Runner::check_status(const MPI_Status& status, const Message& message) {
  check_equal("MPI_SOURCE", status.MPI_SOURCE, message.source);
  check_equal("MPI_TAG", status.MPI_TAG, message.tag);
  const int leaf_bytes = program_.model().comms[static_cast<std::size_t>(message.comm)].leaf_bytes;
  int count = kNone;
  check_call("MPI_Get_elements", MPI_Get_elements(&status, leaf_type(leaf_bytes), &count));
  check_equal("MPI_Get_elements", count, message.bytes / leaf_bytes);
}

void Runner::check_status(const MPI_Status& status, const Message& message, const Shape& shape,
                          MPI_Datatype type) {
  check_status(status, message);
  if (type == MPI_DATATYPE_NULL) return;  // freed
  int count = kNone;
  check_call("MPI_Get_count", MPI_Get_count(&status, type, &count));
  const bool is_whole = message.bytes % shape.element_bytes == 0;
  check_equal("MPI_Get_count", count,
              is_whole ? message.bytes / shape.element_bytes : MPI_UNDEFINED);
  if (shape.form == Form::kWild) return;  // MPICH 4.0 counts some of them wrongly, or aborts
  check_call("MPI_Get_elements", MPI_Get_elements(&status, type, &count));
  check_equal("MPI_Get_elements of the receive's datatype", count,
              message.bytes / shape.leaf_bytes);
}

bool Runner::is_cancelled(const MPI_Status& status) {
  int flag = kNone;
  check_call("MPI_Test_cancelled", MPI_Test_cancelled(&status, &flag));
  return flag != 0;
}

void Runner::settle(int id) {
  const Operation& o = op(id);
  Begun& b = begun(id);
  if (!b.is_complete) mismatch("not complete: " + describe(o));
  if (o.sends) {
    check_call(kCallNames[static_cast<int>(o.call)], b.code);
    if (b.has_status) check_equal("MPI_Test_cancelled", is_cancelled(b.status), false);
    check_buffer(b.image->difference(o.message, o.shape.bytes()));
  } else {
    settle_receive(o, b);
  }
  if (!is_persistent(o.call) || o.frees_request) {
    check_equal("request is MPI_REQUEST_NULL", b.request == MPI_REQUEST_NULL, true);
    begun_.erase(id);
  } else {
    check_equal("persistent request is MPI_REQUEST_NULL", b.request == MPI_REQUEST_NULL, false);
  }
}

void Runner::settle_receive(const Operation& o, Begun& b) {
  const Message& m = message(o.message);
  if (program_.model().is_truncated(o)) {
    if (check::class_name(b.code) != "MPI_ERR_TRUNCATE") {
      mismatch("error is " + check::class_name(b.code) + ", expected MPI_ERR_TRUNCATE: " +
               std::to_string(m.bytes) + " bytes; " + describe(o));
    }
    return check_buffer(b.image->difference_around());
  }
  check_call(("completion of " + describe(o)).c_str(), b.code);
  if (b.has_status) {
    check_equal("MPI_Test_cancelled", is_cancelled(b.status), false);
    check_status(b.status, m, o.shape, b.type->type);
  }
  check_buffer(b.image->difference(o.message, m.bytes));
}

void Runner::check_call(const char* call, int code) {
  if (code != MPI_SUCCESS) mismatch(std::string(call) + " gave " + check::error_text(code));
}

void Runner::check_equal(const char* what, long found, long expected) {
  if (found == expected) return;
  mismatch(std::string(what) + " is " + std::to_string(found) + ", expected " +
           std::to_string(expected));
}

void Runner::check_buffer(const std::string& difference) {
  if (!difference.empty()) mismatch(difference);
}

void Runner::mismatch(const std::string& what) {
  std::fprintf(stderr, "FAILED rank %d of %d, step %ld: %s\n  %s\n  alone: %s\n", rank_,
               check::size(), program_.step(), describe(action_).c_str(), what.c_str(),
               alone_.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

std::string Runner::describe(const Operation& o) const {
  const auto number = [](int n) { return n == kWildcard ? std::string("any") : std::to_string(n); };
  std::string text =
      std::string("[") + std::to_string(o.id) + "] " + (o.again != kNone ? "again " : "") +
      kCallNames[static_cast<int>(o.call)] + (o.sends ? " to " : " from ") + number(o.peer) +
      " tag " + number(o.tag) + " comm " + std::to_string(o.comm) + ": " +
      std::to_string(o.shape.count) + " x " + std::to_string(o.shape.element_bytes) + " bytes " +
      kFormNames[static_cast<int>(o.shape.form)] + ", " + kMemoryNames[static_cast<int>(o.memory)];
  if (o.message != kNone) {
    text += ", message " + std::to_string(o.message) + " of " +
            std::to_string(message(o.message).bytes) + " bytes";
  }
  if (o.shape.is_kept) text += ", datatype kept";
  if (o.frees_type && !o.shape.is_kept) text += ", frees its datatype";
  if (o.frees_request) text += ", frees its request";
  return text;
}

std::string Runner::describe(const Action& action) const {
  static constexpr const char* kNames[] = {"start",
                                           "MPI_Startall",
                                           "complete",
                                           "MPI_Request_get_status",
                                           "probe",
                                           "probe for nothing",
                                           "matched probe",
                                           "cancel a receive",
                                           "cancel a send",
                                           "blocking pair",
                                           "cycle",
                                           "race",
                                           "MPI_Barrier",
                                           "MPI_Request_free",
                                           "make communicators",
                                           "MPI_Comm_free",
                                           "detach"};
  std::string text = kNames[static_cast<int>(action.kind)];
  const bool completes = action.kind == Kind::kComplete || action.kind == Kind::kCancelReceive;
  if (completes)
    text += std::string(" by ") + kCompletionNames[static_cast<int>(action.completion)];
  if (action.kind == Kind::kProbe || action.kind == Kind::kTake || action.kind == Kind::kPair) {
    text += std::string(" by ") + kWayNames[static_cast<int>(action.way)];
    text += " source " + std::to_string(action.peer) + " tag " + std::to_string(action.tag) +
            " comm " + std::to_string(action.comm);
  }
  if (!action.ranks.empty()) {
    text += " (ranks";
    for (const int rank : action.ranks) text += " " + std::to_string(rank);
    text += ")";
  }
  for (const Turn turn : action.turns) {
    text += std::string(" ") + kTurnNames[static_cast<int>(turn)];
  }
  for (const int id : action.operations) text += " {" + describe(op(id)) + "}";
  return text;
}

}  // namespace random_program
