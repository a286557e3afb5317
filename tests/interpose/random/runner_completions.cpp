// Runs the calls that complete requests.
#include <algorithm>

#include "check.hpp"
#include "runner.hpp"

namespace random_program {

void Runner::completed(int id, int code, const MPI_Status* status) {
  Begun& b = begun(id);
  b.is_complete = true;
  b.code = code;
  b.has_status = status != MPI_STATUS_IGNORE;
  if (b.has_status && status != &b.status) b.status = *status;
}

void Runner::wait(int id) {
  MPI_Status status{};
  completed(id, MPI_Wait(&begun(id).request, &status), &status);
}

void Runner::complete(const Action& action) {
  Completion completion = action.completion;
  const auto is_complete = [&](int id) { return begun(id).is_complete; };
  if (!action.is_certain &&
      std::all_of(action.possible.begin(), action.possible.end(), is_complete)) {
    // Earlier calls completed them: one that waits might wait for ever.
    if (completion == Completion::kWaitany) completion = Completion::kTestany;
    if (completion == Completion::kWaitsome) completion = Completion::kTestsome;
  }
  complete_by(completion, action.operations, action.is_certain, action.ignores_statuses);
  if (!action.is_certain) return;
  for (const int id : action.operations) settle(id);
}

/// A call of arrays gives MPI_ERR_IN_STATUS if one of its operations failed, and the operation's
/// own error in its status; those that it calls pending are as they were.
void Runner::complete_by(Completion completion, const Ids& ids, bool until_all, bool ignores) {
  Ids left;
  for (const int id : ids) {
    if (!begun(id).is_complete) left.push_back(id);
  }
  if (left.empty()) return;
  // Which one failed, only a status tells.
  const auto may_fail = [&](int id) {
    return !op(id).sends && (op(id).message == kNone || program_.model().is_truncated(op(id)));
  };
  if (std::any_of(left.begin(), left.end(), may_fail)) ignores = false;
  const bool is_one = completion == Completion::kWait || completion == Completion::kTest;
  std::vector<MPI_Request> requests;
  for (const int id : left) requests.push_back(begun(id).request);
  if (!is_one && left.size() % 2 == 0) requests.push_back(MPI_REQUEST_NULL);
  const auto n = static_cast<int>(requests.size());
  std::vector<MPI_Status> statuses(requests.size());
  std::vector<int> indices(requests.size());
  MPI_Status* const all_statuses = ignores ? MPI_STATUSES_IGNORE : statuses.data();
  MPI_Status* const one_status = ignores ? MPI_STATUS_IGNORE : statuses.data();
  std::size_t complete = 0;
  const auto one = [&](int i, int code, const MPI_Status* status) {
    if (i < 0 || i >= static_cast<int>(left.size())) mismatch("index " + std::to_string(i));
    const int id = left[static_cast<std::size_t>(i)];
    if (begun(id).is_complete) mismatch("completed twice: " + describe(op(id)));
    begun(id).request = requests[static_cast<std::size_t>(i)];
    completed(id, code, status);
    ++complete;
  };
  const auto some = [&](int code, int count, bool by_index) {
    if (code != MPI_SUCCESS && check::class_name(code) != "MPI_ERR_IN_STATUS") {
      check_call(kCompletionNames[static_cast<int>(completion)], code);
    }
    for (int k = 0; k < count; ++k) {
      const int i = by_index ? indices[static_cast<std::size_t>(k)] : k;
      if (i == static_cast<int>(left.size())) continue;  // MPI_REQUEST_NULL
      const MPI_Status* status =
          ignores ? MPI_STATUS_IGNORE : &statuses[static_cast<std::size_t>(k)];
      int error = MPI_SUCCESS;
      if (code != MPI_SUCCESS) error = statuses[static_cast<std::size_t>(k)].MPI_ERROR;
      if (check::class_name(error) == "MPI_ERR_PENDING") {
        begun(left[static_cast<std::size_t>(i)]).request = requests[static_cast<std::size_t>(i)];
        continue;
      }
      one(i, error, status);
    }
    return code != MPI_SUCCESS && !by_index;
  };
  while (complete < left.size()) {
    int flag = 0, index = MPI_UNDEFINED, count = 0, code = MPI_SUCCESS;
    switch (completion) {
      case Completion::kWait:
        for (int i = 0; i < n; ++i) {
          code = MPI_Wait(&requests[static_cast<std::size_t>(i)], one_status);
          one(i, code, one_status);
        }
        break;
      case Completion::kTest:
        for (int i = 0; i < n; ++i) {
          do {
            code = MPI_Test(&requests[static_cast<std::size_t>(i)], &flag, one_status);
          } while (until_all && flag == 0 && code == MPI_SUCCESS);
          if (flag != 0 || code != MPI_SUCCESS) one(i, code, one_status);
        }
        break;
      case Completion::kWaitany:
        code = MPI_Waitany(n, requests.data(), &index, one_status);
        one(index, code, one_status);
        break;
      case Completion::kTestany:
        code = MPI_Testany(n, requests.data(), &index, &flag, one_status);
        if (flag != 0 || code != MPI_SUCCESS) one(index, code, one_status);
        break;
      case Completion::kWaitsome:
        code = MPI_Waitsome(n, requests.data(), &count, indices.data(), all_statuses);
        some(code, count, true);
        break;
      case Completion::kTestsome:
        code = MPI_Testsome(n, requests.data(), &count, indices.data(), all_statuses);
        some(code, count, true);
        break;
      case Completion::kWaitall:
        code = MPI_Waitall(n, requests.data(), all_statuses);
        some(code, n, false);
        break;
      case Completion::kTestall:
        code = MPI_Testall(n, requests.data(), &flag, all_statuses);
        if (flag != 0 || code != MPI_SUCCESS) some(code, n, false);
        break;
    }
    if (!until_all || completion == Completion::kWaitall) break;
    if (completion == Completion::kTestall && code != MPI_SUCCESS) break;
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    Begun& b = begun(left[i]);
    b.request = requests[i];
    if (until_all && !b.is_complete) wait(left[i]);  // the ones that were called pending
  }
}

void Runner::ask(const Action& action) {
  const int id = action.operations[0];
  Begun& b = begun(id);
  if (b.is_complete) return;
  int flag = 0;
  MPI_Status status{};
  int code = MPI_SUCCESS;
  do {
    code = MPI_Request_get_status(b.request, &flag, &status);
  } while (action.is_certain && flag == 0 && code == MPI_SUCCESS);
  check_equal("request is MPI_REQUEST_NULL", b.request == MPI_REQUEST_NULL, false);
  const Operation& o = op(id);
  if (o.message == kNone || program_.model().is_truncated(o)) return;
  check_call("MPI_Request_get_status", code);
  if (flag != 0 && !o.sends) {
    check_status(status, message(o.message), o.shape, b.type->type);
  }
}

void Runner::cancel_receive(const Action& action) {
  const int id = action.operations[0];
  const Operation& o = op(id);
  Begun& b = begun(id);
  if (!b.is_complete) {
    check_call("MPI_Cancel", MPI_Cancel(&b.request));
    complete_by(action.completion, {id}, true, false);
  }
  const bool cancelled = b.has_status && is_cancelled(b.status);
  if (o.is_hopeless) {
    check_call("completion of a cancelled receive", b.code);
    check_equal("MPI_Test_cancelled of a receive that nobody sends to", cancelled, true);
    check_buffer(b.image->difference(0, 0));
    if (!is_persistent(o.call)) begun_.erase(id);
    return;
  }
  if (cancelled) {
    check_buffer(b.image->difference(0, 0));
    const Message& m = message(action.message);
    b.type = program_.shapes().build(o.shape);
    b.code = MPI_Recv(b.image->data(), o.shape.count, b.type->type, m.source, m.tag, comm(o.comm),
                      &b.status);
  }
  settle(id);
}

}  // namespace random_program
