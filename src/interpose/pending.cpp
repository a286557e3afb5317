// Work that remains once the MPI library has completed a request with an entry.
#include "interpose/pending.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/progress/in_flight.hpp"
#include "interpose/errors.hpp"
#include "interpose/short_receives.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "mpi/wire.hpp"
#include "mpi/world.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

/// A request that the application has freed, and its message.
struct Freed {
  MPI_Request request;
  OwnedPending pending;
};
struct FreedList final : exchange::Mover {
  FreedList() { exchange::g_in_flight.add(*this); }
  void advance() noexcept override { step_freed(); }
  std::mutex mutex;
  std::vector<Freed> all;
};
FreedList& freed() { return ProcessState::part<FreedList>(); }

using exchange::Transfer;
using machine::MessageDirection;
using mpi::real_mpi;

/// The MPI library says that a request with an entry has failed.
[[gnu::cold]] void note_failed(const Pending& pending, int error,
                               const MPI_Status& status) noexcept {
  if (pending.receives()) pending.receive.note_failed(error, status, pending.room());
}

bool tells_of_persistent_once() {
  static const bool once = std::ranges::any_of(
      mpi::quirks::kTellsOfPersistentOnce,
      [](std::string_view release) { return exchange::mpi_library().starts_with(release); });
  return once;
}

bool was_cancelled(const MPI_Status& status) noexcept {
  int flag = 0;
  real_mpi().MPI_Test_cancelled(&status, &flag);
  return flag != 0;
}

/// Another thread may cancel a message while this one waits for it.
bool may_be_cancelled(const Pending& pending) noexcept {
  return pending.may_be_gone || mpi::g_multiple;
}

/// The MPI library is done with a send: so is its receiver, or the message is packed then.
void end_send(Pending& pending) {
  if (pending.transfer && pending.transfer->state() == Transfer::State::Posted)
    pending.transfer->arrived({});
}

/// The message has ended as `status` says, and well: unpacks what a receive got. False: more than
/// there was room for.
bool end_transfer(Pending& pending, MPI_Status& status) {
  if (pending.work != nullptr) {
    pending.work->end();
    return true;
  }
  Receive& receive = pending.receive;
  if (receive.looked()) return receive.tell_again(status);  // MPI_Request_get_status was here
  const bool cancelled = may_be_cancelled(pending) && was_cancelled(status);
  if (cancelled) {
    if (pending.transfer) pending.transfer->withdraw();
    pending.give_up();
    return true;
  }
  if (!pending.receives()) {
    end_send(pending);
    return true;
  }
  const auto delivery = receive.look(status, [&] { return pending.landed(); });
  if (!pending.transfer) {
    if (delivery) {
      record(
          {pending.function, transport_of(*delivery), exchange::Reason::None, delivery->bytes()});
    } else if (!pending.persistent()) {
      record({pending.function, Transport::Library, pending.reason, pending.room()});
    }
    return receive.settle(delivery, status);
  }
  Transfer& transfer = *pending.transfer;
  const std::int64_t bytes = mpi::received_bytes(status);
  if (bytes > transfer.size_bytes()) {
    if (delivery) delivery->done();
    pending.give_up();
    return receive.taken(false);
  }
  const Transport transport = delivery ? transport_of(*delivery) : transfer.transport();
  record({pending.function, transport, pending.reason, bytes});
  transfer.arrived({.bytes = bytes, .lost = false, .delivery = delivery});
  return receive.taken(true);
}

/// end_transfer(), as a class of MPI's errors: others that the same call completes have to go on.
int end_as_class(Pending& pending, MPI_Status& status) noexcept {
  if (pending.receive.failed()) return MPI_ERR_OTHER;
  try {
    return end_transfer(pending, status) ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
  } catch (const OutOfMemory& error) {
    log::warn("{}", error.what());
    return MPI_ERR_NO_MEM;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (const std::exception& error) {
    log::warn("a message failed: {}", error.what());
    return MPI_ERR_OTHER;
  } catch (...) {  // an error handler of the application's
    return MPI_ERR_OTHER;
  }
}

/// A plain receive has got a message that is no header message, as most are: nothing remains.
/// False: it may be otherwise.
[[gnu::always_inline]] inline bool end_plain(Pending& pending, const MPI_Status& status) {
  const bool plain = pending.plain && !mpi::g_multiple.load(std::memory_order_relaxed) &&
                     !exchange::shared::like_header(mpi::received_bytes(status));
  if (!plain) return false;
  record({pending.function, Transport::Library, pending.reason, pending.receive.landing()->room()});
  PendingPool::get().end_plain(&pending);
  return true;
}

/// Sets all of the status but its error.
int told_before(const Pending& pending, MPI_Status& status) noexcept {
  const int error = status.MPI_ERROR;
  status = pending.ended->status;
  status.MPI_ERROR = error;
  return pending.ended->code;
}

/// Takes the outcome that the MPI library told before, if it did: sets the status of the message.
/// Returns the class of its error, or MPI_SUCCESS.
int recall(Pending& pending, MPI_Status& status) noexcept {
  if (!pending.ended) return MPI_SUCCESS;
  const int code = told_before(pending, status);
  pending.ended.reset();
  return code == MPI_SUCCESS ? code : class_of(code);
}

/// The request is complete: what remains is done. The class of its error, if the MPI library has
/// told none.
int complete(Pending& pending, MPI_Request request, MPI_Status& status, bool failed) {
  const int earlier = recall(pending, status);
  if (!failed && end_plain(pending, status)) return MPI_SUCCESS;
  // The entry is taken out first: an error, or an exception, leaves none behind.
  OwnedPending owned;
  if (!pending.persistent() || request == MPI_REQUEST_NULL) {
    owned = remove_pending(pending);
  }
  pending.active = false;
  if (failed || earlier != MPI_SUCCESS) pending.give_up();
  const int error = failed                   ? MPI_SUCCESS
                    : earlier != MPI_SUCCESS ? earlier
                                             : end_as_class(pending, status);
  if (!owned) {  // it may be started again
    pending.may_be_gone = false;
    pending.receive.restart();
  }
  return error;
}

}  // namespace

exchange::shared::Landed Pending::landed() const {
  if (!transfer) return receive.landing()->landed();
  const exchange::Parcel parcel = transfer->parcel();
  return exchange::shared::read_landed(parcel.data, parcel.memory);
}

int finish_pending(Pending& pending, MPI_Request request, MPI_Status& status, int code) {
  if (!pending.active || refused(code)) {
    RequestTable::get().put_back(pending);
    return code;
  }
  const MPI_Comm comm = pending.comm();
  if (code != MPI_SUCCESS) note_failed(pending, code, status);
  const int error = complete(pending, request, status, code != MPI_SUCCESS);
  return error == MPI_SUCCESS ? code : raise(comm, error);
}

namespace {

/// Raises for the first message that has failed, where the call has raised nothing.
class Failures {
 public:
  /// \param told  the call has set the error in each of its `count` statuses
  Failures(MPI_Status* statuses, int count, bool told) noexcept
      : statuses_(statuses), count_(count), told_(told) {}
  /// Message `i` has ended with that error, or MPI_SUCCESS.
  void add(int i, MPI_Comm comm, int error) {
    if (error == MPI_SUCCESS) return;
    if (first_ == MPI_SUCCESS) {
      comm_ = comm;
      first_ = error;
      for (int k = 0; !told_ && k < count_; ++k) statuses_[k].MPI_ERROR = MPI_SUCCESS;
    }
    statuses_[i].MPI_ERROR = error;
  }
  int raise_on(int code) const {
    if (first_ == MPI_SUCCESS) return code;
    if (code == MPI_SUCCESS) raise(comm_, first_);
    return MPI_ERR_IN_STATUS;
  }

 private:
  MPI_Status* statuses_;
  int count_;
  bool told_;
  int first_ = MPI_SUCCESS;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// A call that failed has completed a request, whose entry (null: none) `pending` is.
void note_unwatched(const Pending* pending, const MPI_Status& status) {
  if (pending == nullptr && status.MPI_ERROR != MPI_SUCCESS)
    note_truncated(status.MPI_ERROR, status, nullptr);
}

/// Calls `finish(i, pending)` for the active entries of `count` requests, of which request `i` is
/// at `place(i)`. Receives first: those that wait for this rank's sends have receives of this
/// rank's to do, too.
template <typename PlaceOf, typename Finish>
void finish_each(RequestList& list, int count, const PlaceOf& place, const Finish& finish) {
  bool sends = false;
  const auto pass = [&](bool receives) {
    for (int i = 0; i < count; ++i) {
      Pending* const pending = list[place(i)];
      if (pending == nullptr || !pending->active) continue;
      if (pending->receives() == receives) {
        finish(i, *pending);
      } else {
        sends = true;
      }
    }
  };
  pass(true);
  if (sends) pass(false);
}

}  // namespace

int finish_all_pending(RequestList& list, int count, const MPI_Request* requests,
                       MPI_Status* statuses, int code) {
  if (code == MPI_SUCCESS && !list.empty()) {
    bool all = true;
    for (int i = 0; i < count; ++i) {
      Pending* const pending = list[i];
      if (pending == nullptr) continue;
      if (requests[i] == MPI_REQUEST_NULL && end_plain(*pending, statuses[i])) {
        list.take(i);
      } else {
        all = false;
      }
    }
    if (all) {
      list.clear();
      return code;
    }
  }
  if (refused(code)) return code;
  const bool told = in_status(code);
  for (int i = 0; told && i < count; ++i) note_unwatched(list[i], statuses[i]);
  if (list.empty()) return code;
  Failures failures(statuses, count, told);
  finish_each(
      list, count, [](int i) { return i; },
      [&](int i, Pending& pending) {
        const int error = told ? statuses[i].MPI_ERROR : code;
        // A failure leaves others as they were.
        const bool left = pending.persistent() ? told && class_of(error) == MPI_ERR_PENDING
                                               : requests[i] != MPI_REQUEST_NULL;
        if (left) return;
        list.take(i);
        if (error != MPI_SUCCESS) note_failed(pending, error, statuses[i]);
        const MPI_Comm comm = pending.comm();
        failures.add(i, comm, complete(pending, requests[i], statuses[i], error != MPI_SUCCESS));
      });
  return failures.raise_on(code);
}

int finish_any_pending(RequestList& list, const MPI_Request* requests, int index,
                       MPI_Status& status, int code) {
  if (list.empty() || refused(code)) return code;
  const bool failed = code != MPI_SUCCESS;
  if (Pending* const pending = index != MPI_UNDEFINED ? list.take(index) : nullptr) {
    code = finish_pending(*pending, requests[index], status, code);
  } else if (failed && index != MPI_UNDEFINED) {
    note_truncated(code, status, nullptr);
  }
  return code;
}

int finish_some_pending(RequestList& list, const MPI_Request* requests, int outcount,
                        const int* indices, MPI_Status* statuses, int code) {
  if (outcount == MPI_UNDEFINED || refused(code)) return code;
  const bool told = in_status(code);
  for (int i = 0; told && i < outcount; ++i) note_unwatched(list[indices[i]], statuses[i]);
  if (list.empty()) return code;
  Failures failures(statuses, outcount, told);
  finish_each(
      list, outcount, [&](int i) { return indices[i]; },
      [&](int i, Pending& pending) {
        list.take(indices[i]);
        const MPI_Comm comm = pending.comm();
        const int error = told ? statuses[i].MPI_ERROR : code;
        const bool failed = error != MPI_SUCCESS;
        if (failed) note_failed(pending, error, statuses[i]);
        failures.add(i, comm, complete(pending, requests[indices[i]], statuses[i], failed));
      });
  return failures.raise_on(code);
}

int finish_all_ended(RequestList& list, const MPI_Request* requests, int index, int* outcount,
                     int* indices, MPI_Status* statuses) {
  *outcount = 0;
  for (; index >= 0; index = list.next_ended(index + 1)) indices[(*outcount)++] = index;
  return finish_some_pending(list, requests, *outcount, indices, statuses, MPI_SUCCESS);
}

int ask_pending(Pending& pending, MPI_Request request, int& flag, MPI_Status& status) {
  if (!pending.ended) return real_mpi().MPI_Request_get_status(request, &flag, &status);
  flag = 1;
  return told_before(pending, status);
}

int look_at_pending(Pending& pending, MPI_Request request, int& flag, MPI_Status& status) {
  const int code = ask_pending(pending, request, flag, status);
  const bool once = pending.persistent() && tells_of_persistent_once();
  if (once && (flag != 0 || code != MPI_SUCCESS)) {
    pending.ended = {code, status};
    RequestList::expect_ended();
  }
  return code;
}

bool unpack_pending(Pending& pending, MPI_Status& status) {
  if (!pending.active) return true;
  if (pending.work != nullptr) return end_transfer(pending, status);
  if (!pending.receives()) {
    if (!may_be_cancelled(pending) || !was_cancelled(status)) end_send(pending);
    return true;
  }
  if (pending.receive.failed()) throw Error("a message could not be taken before");
  const bool too_long = pending.transfer && !pending.receive.looked() &&
                        mpi::received_bytes(status) > pending.transfer->size_bytes();
  return too_long || end_transfer(pending, status);
}

int free_pending(Pending& pending, MPI_Request* request) {
  FreedList& list = freed();
  if (!pending.active) {
    const OwnedPending owned = remove_pending(pending);
    return real_mpi().MPI_Request_free(request);
  }
  if (pending.transfer) pending.transfer->end_offer();  // the buffer may be used again soon
  const std::lock_guard lock(list.mutex);
  list.all.reserve(list.all.size() + 1);
  list.all.push_back({*request, remove_pending(pending)});
  *request = MPI_REQUEST_NULL;
  exchange::g_in_flight.begin();
  return MPI_SUCCESS;
}

namespace {

/// True: it is complete, and nothing remains.
bool step(Freed& freed) {
  int flag = 0;
  MPI_Status status;
  const MPI_Request before = freed.request;
  const int code = real_mpi().MPI_Test(&freed.request, &flag, &status);
  if (code == MPI_SUCCESS && flag == 0) return false;
  Pending& pending = *freed.pending;
  const bool well = recall(pending, status) == MPI_SUCCESS && code == MPI_SUCCESS;
  if (code != MPI_SUCCESS) note_failed(pending, code, status);
  well ? void(end_as_class(pending, status)) : pending.give_up();
  if (pending.persistent() && freed.request == before) real_mpi().MPI_Request_free(&freed.request);
  return true;
}

}  // namespace

void step_freed() noexcept {
  FreedList& list = freed();
  std::vector<Freed> all;
  {
    const std::lock_guard lock(list.mutex);
    all.swap(list.all);
  }
  // No lock is held: the MPI library may call the application, which may call MPI.
  for (std::size_t i = 0; i < all.size();) {
    if (step(all[i])) {
      all[i] = std::move(all.back());
      all.pop_back();
      exchange::g_in_flight.end();
    } else {
      ++i;
    }
  }
  const std::lock_guard lock(list.mutex);
  if (list.all.empty()) {
    list.all.swap(all);
  } else {
    std::move(all.begin(), all.end(), std::back_inserter(list.all));
  }
}

void end_pending() noexcept {
  step_freed();
  FreedList& list = freed();
  const std::lock_guard lock(list.mutex);
  for (Freed& one : list.all) {
    real_mpi().MPI_Request_free(&one.request);
    exchange::g_in_flight.end();
  }
  list.all.clear();
  // Every message's buffer is leaked: MPI ends, and what is still in flight is its own.
  while (Pending* const pending = as_pending(RequestTable::get().any_message())) {
    RequestTable::get().remove(*pending);
    delete pending;
  }
}

bool is_shared_complete(MPI_Request request) noexcept {
  // A send to nobody is complete on return in both libraries, and has that handle.
  static const std::uint64_t shared = [] {
    MPI_Request none = MPI_REQUEST_NULL;
    if (!mpi::in_world() || real_mpi().MPI_Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0,
                                                 MPI_COMM_WORLD, &none) != MPI_SUCCESS) {
      return mpi::key_of(MPI_REQUEST_NULL);
    }
    const std::uint64_t key = mpi::key_of(none);
    real_mpi().MPI_Wait(&none, MPI_STATUS_IGNORE);
    return key;
  }();
  if (mpi::key_of(request) == shared) return true;
  // Where the library has another: an entry of that handle is there already, and complete.
  if (find_pending(request) == nullptr) return false;
  int flag = 0;
  return real_mpi().MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         flag != 0;
}

}  // namespace strake::interpose
