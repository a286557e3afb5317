#include "interpose/operation.hpp"

#include <cstring>
#include <new>

#include "exchange/progress/in_flight.hpp"
#include "interpose/short_receives.hpp"
#include "interpose/trying.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using exchange::Transfer;
using machine::MessageDirection;

}  // namespace

MPI_Status empty_status() {
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
  status.MPI_ERROR = MPI_SUCCESS;
  mpi::real_mpi().MPI_Status_set_elements_x(&status, MPI_BYTE, 0);
  mpi::real_mpi().MPI_Status_set_cancelled(&status, 0);
  return status;
}

Operation::~Operation() {
  RequestTable::get().remove(*this);
  if (abandoned) exchange::g_in_flight.end();
}

void Operation::mark_persistent() noexcept {
  persistent_ = true;
  settled = true;
  complete_ = true;
}

void Operation::reset() noexcept {
  status_ = empty_status();
  error_ = MPI_SUCCESS;
  comm_to_raise_ = MPI_COMM_NULL;
  thrown_ = nullptr;
}

void Operation::begin() noexcept {
  complete_.store(false, std::memory_order_release);
  settled = false;
}

void Operation::completed() noexcept {
  if (outer != MPI_REQUEST_NULL) mpi::real_mpi().MPI_Grequest_complete(outer);
}

void Operation::fail(int code) noexcept {
  error_ = code;
  status_.MPI_ERROR = code;
  end();
}

MessageOperation::MessageOperation(Function function, exchange::Reason reason,
                                   const exchange::Typed& typed, machine::Transport transport,
                                   MessageDirection direction, const mpi::Envelope& peer,
                                   exchange::StartSend start_send)
    : function_(function),
      reason_(reason),
      transfer_(direction, typed, transport),
      channel_(peer, start_send) {}

MessageOperation::MessageOperation(Function function, exchange::Reason reason,
                                   const exchange::Typed& typed,
                                   const exchange::shared::Lease& lease, const mpi::Envelope& peer,
                                   exchange::StartSend start_send)
    : function_(function), reason_(reason), transfer_(typed, lease), channel_(peer, start_send) {}

MessageOperation::MessageOperation(Function function, exchange::Reason reason,
                                   const exchange::Typed& typed, machine::Transport transport,
                                   MPI_Message* message, const Receive& receive)
    : function_(function),
      reason_(reason),
      transfer_(MessageDirection::Receive, typed, transport),
      channel_(message, receive.comm(), receive.communicator()) {}

MessageOperation::~MessageOperation() {
  RequestTable::get().remove(*this);  // before any part of it ends
  if (left_ != MPI_REQUEST_NULL) mpi::real_mpi().MPI_Request_free(&left_);
}

void MessageOperation::make_persistent(exchange::InitSend init) {
  mark_persistent();
  buffered_ = init == mpi::real_mpi().MPI_Bsend_init;
  channel_.make_persistent(transfer_.parcel(), init);
}

void MessageOperation::make_persistent(const exchange::shared::Destination& to) noexcept {
  mark_persistent();
  transfer_.share_each(to);
}

void MessageOperation::may_be_left(MPI_Request left, exchange::Choice by_rule) noexcept {
  left_ = left;
  by_rule_ = by_rule;
}

exchange::Choice MessageOperation::choose() {
  const std::uint64_t generation = mpi::g_type_generation.load(std::memory_order_acquire);
  if (left_ == MPI_REQUEST_NULL) return {};
  if (settled_at_ == generation) return settled_;
  bool lasts = true;
  const exchange::Choice choice = trying::choose(transfer_.elements(), MessageDirection::Send, true,
                                                 {true, transfer_.would_offer()}, by_rule_, &lasts);
  if (lasts) {
    settled_ = choice;
    settled_at_ = generation;
  }
  return choice;
}

void MessageOperation::start() {
  const exchange::Choice choice = choose();
  reset();
  raised_ = false;
  is_left_ = !choice.shares && choice.transport == machine::Transport::Library;
  why_left_ = choice.reason;
  if (is_left_) {
    mpi::check(mpi::real_mpi().MPI_Start(&left_), "MPI_Start");
  } else {
    transfer_.start(choice.shares, choice.offers);
  }
  if (transfer_.direction() == MessageDirection::Send) count();
  if (buffered_ || transfer_.direction() == MessageDirection::Receive) transfer_.post(channel_);
  begin();
}

void MessageOperation::step() noexcept {
  // How a posted message ended the channel tells, also of one that failed.
  const bool posted = transfer_.state() == Transfer::State::Posted;
  const auto take_status = [&] {
    if (posted) status_ = channel_.status();
  };
  const auto note = [&](int error) {
    const bool is_short = transfer_.room() < exchange::shared::kLongestHeader;
    const bool matched = function_ == Function::MPI_Imrecv;  // a probe has told what it is
    if (posted && is_short && !matched && transfer_.direction() == MessageDirection::Receive)
      note_truncated(error, status_, mpi::communicator(channel_.peer().comm));
  };
  try {
    if (is_left_) return step_left();
    const bool done = transfer_.step(channel_);
    if (posted && (done || transfer_.state() != Transfer::State::Posted)) {
      take_status();
      if (transfer_.direction() == MessageDirection::Receive && !transfer_.arrival().lost) count();
    }
    if (done) end();
  } catch (const MpiError& error) {
    take_status();
    note(error.code());
    raised_ = true;
    fail(error.code());
  } catch (const exchange::MessageFailed& error) {
    take_status();
    note(error.code());
    if (error.forgotten()) comm_to_raise_ = channel_.peer().comm;
    fail(error.code());
  } catch (const Error& error) {
    take_status();
    fail_by_us(error.what());
  } catch (const std::bad_alloc& error) {
    take_status();
    fail_by_us(error.what());
  } catch (...) {  // an error handler of the application's has left by an exception
    take_status();
    thrown_ = std::current_exception();
    channel_.forget_request();
    raised_ = true;
    fail(MPI_ERR_OTHER);
  }
}

void MessageOperation::step_left() {
  int flag = 0;
  mpi::check(mpi::real_mpi().MPI_Test(&left_, &flag, &status_), "MPI_Test");
  if (flag != 0) end();
}

void MessageOperation::count() const noexcept {
  if (transfer_.direction() == MessageDirection::Send)
    return record({function_, transport(), is_left_ ? why_left_ : reason_, transfer_.size_bytes()});
  const exchange::Arrival& arrival = transfer_.arrival();
  const auto way = arrival.delivery ? transport_of(*arrival.delivery) : transport();
  record({function_, way, reason_, arrival.bytes});
}

void MessageOperation::fail_by_us(const char* what) noexcept {
  log::warn("a message failed: {}", what);
  comm_to_raise_ = channel_.peer().comm;
  fail(MPI_ERR_OTHER);
}

MPI_Request MessageOperation::take_failed_request() noexcept {
  return raised_ ? MPI_REQUEST_NULL : channel_.take_request();
}

void MessageOperation::cancel() noexcept {
  if (is_left_) {
    mpi::real_mpi().MPI_Cancel(&left_);
    return;
  }
  if (transfer_.cancel(channel_)) mpi::real_mpi().MPI_Status_set_cancelled(&status_, 1);
}

}  // namespace strake::interpose
