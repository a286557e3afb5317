// Runs the calls that complete requests.
#include <algorithm>
#include <utility>

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

/// Calls of one kind that complete operations which are not complete yet.
class Runner::Completing {
 public:
  /// \param until_all  calls go on until all are complete
  Completing(Runner& runner, Completion completion, Ids left, bool until_all, bool ignores)
      : runner_(runner),
        completion_(completion),
        left_(std::move(left)),
        until_all_(until_all),
        ignores_(ignores) {
    for (const int id : left_) requests_.push_back(runner_.begun(id).request);
    const bool is_one = completion == Completion::kWait || completion == Completion::kTest;
    if (!is_one && left_.size() % 2 == 0) requests_.push_back(MPI_REQUEST_NULL);
    statuses_.resize(requests_.size());
    indices_.resize(requests_.size());
  }
  void run() {
    while (complete_ < left_.size()) {
      const int code = call();
      if (!until_all_ || completion_ == Completion::kWaitall) break;
      if (completion_ == Completion::kTestall && code != MPI_SUCCESS) break;
    }
    for (std::size_t i = 0; i < left_.size(); ++i) {
      Begun& b = runner_.begun(left_[i]);
      b.request = requests_[i];
      if (until_all_ && !b.is_complete) runner_.wait(left_[i]);  // those that were called pending
    }
  }

 private:
  /// Makes one call, or one for each request. Returns the code of the last.
  int call();
  /// The call has completed operation `i` of those that are left.
  void one(int i, int code, const MPI_Status* status);
  /// The call has completed several: the first `count`, or those of the first indices.
  void some(int code, int count, bool by_index);
  /// Waits for each request by itself.
  int wait_for_each();
  /// Tests each request by itself; where calls go on until all are complete, until one is.
  int test_each();

  [[nodiscard]] int n() const { return static_cast<int>(requests_.size()); }
  MPI_Status* all_statuses() { return ignores_ ? MPI_STATUSES_IGNORE : statuses_.data(); }
  MPI_Status* one_status() { return ignores_ ? MPI_STATUS_IGNORE : statuses_.data(); }

  Runner& runner_;
  Completion completion_;
  Ids left_;
  bool until_all_;
  bool ignores_;  ///< statuses
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
  std::size_t complete_ = 0;  ///< how many are
};

void Runner::Completing::one(int i, int code, const MPI_Status* status) {
  if (i < 0 || i >= static_cast<int>(left_.size())) runner_.mismatch("index " + std::to_string(i));
  const int id = left_[static_cast<std::size_t>(i)];
  if (runner_.begun(id).is_complete)
    runner_.mismatch("completed twice: " + runner_.describe(runner_.op(id)));
  runner_.begun(id).request = requests_[static_cast<std::size_t>(i)];
  runner_.completed(id, code, status);
  ++complete_;
}

/// A call of arrays gives MPI_ERR_IN_STATUS if one of its operations failed, and the operation's
/// own error in its status; those that it calls pending are as they were.
void Runner::Completing::some(int code, int count, bool by_index) {
  if (code != MPI_SUCCESS && check::class_name(code) != "MPI_ERR_IN_STATUS") {
    runner_.check_call(kCompletionNames[static_cast<int>(completion_)], code);
  }
  for (int k = 0; k < count; ++k) {
    const int i = by_index ? indices_[static_cast<std::size_t>(k)] : k;
    if (i == static_cast<int>(left_.size())) continue;  // MPI_REQUEST_NULL
    const MPI_Status* status =
        ignores_ ? MPI_STATUS_IGNORE : &statuses_[static_cast<std::size_t>(k)];
    int error = MPI_SUCCESS;
    if (code != MPI_SUCCESS) error = statuses_[static_cast<std::size_t>(k)].MPI_ERROR;
    if (check::class_name(error) == "MPI_ERR_PENDING") {
      runner_.begun(left_[static_cast<std::size_t>(i)]).request =
          requests_[static_cast<std::size_t>(i)];
      continue;
    }
    one(i, error, status);
  }
}

int Runner::Completing::wait_for_each() {
  int code = MPI_SUCCESS;
  for (int i = 0; i < n(); ++i) {
    code = MPI_Wait(&requests_[static_cast<std::size_t>(i)], one_status());
    one(i, code, one_status());
  }
  return code;
}

int Runner::Completing::test_each() {
  int code = MPI_SUCCESS, flag = 0;
  for (int i = 0; i < n(); ++i) {
    do {
      code = MPI_Test(&requests_[static_cast<std::size_t>(i)], &flag, one_status());
    } while (until_all_ && flag == 0 && code == MPI_SUCCESS);
    if (flag != 0 || code != MPI_SUCCESS) one(i, code, one_status());
  }
  return code;
}

int Runner::Completing::call() {
  int flag = 0, index = MPI_UNDEFINED, count = 0, code = MPI_SUCCESS;
  switch (completion_) {
    case Completion::kWait:
      return wait_for_each();
    case Completion::kTest:
      return test_each();
    case Completion::kWaitany:
      code = MPI_Waitany(n(), requests_.data(), &index, one_status());
      one(index, code, one_status());
      break;
    case Completion::kTestany:
      code = MPI_Testany(n(), requests_.data(), &index, &flag, one_status());
      if (flag != 0 || code != MPI_SUCCESS) one(index, code, one_status());
      break;
    case Completion::kWaitsome:
      code = MPI_Waitsome(n(), requests_.data(), &count, indices_.data(), all_statuses());
      some(code, count, true);
      break;
    case Completion::kTestsome:
      code = MPI_Testsome(n(), requests_.data(), &count, indices_.data(), all_statuses());
      some(code, count, true);
      break;
    case Completion::kWaitall:
      code = MPI_Waitall(n(), requests_.data(), all_statuses());
      some(code, n(), false);
      break;
    case Completion::kTestall:
      code = MPI_Testall(n(), requests_.data(), &flag, all_statuses());
      if (flag != 0 || code != MPI_SUCCESS) some(code, n(), false);
      break;
  }
  return code;
}

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
  Completing(*this, completion, std::move(left), until_all, ignores).run();
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
