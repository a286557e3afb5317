#include "exchange/operation.hpp"

#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"
#include "mpi/world.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

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

}  // namespace

Operation::Operation() : state_(State::Complete), status_(empty_status()) {}

Operation::Operation(const Typed& from, Method method, StartSend start_send, const mpi::Peer& peer)
    : state_(State::Copying), start_(start_send), peer_(peer), status_(empty_status()) {
  outgoing_.emplace(from, method);
  outgoing_->pack();
}

std::shared_ptr<Operation> Operation::persistent(const Typed& typed, Method method, InitSend init,
                                                 const mpi::Peer& peer) {
  std::shared_ptr<Operation> operation(new Operation);
  operation->persistent_ = true;
  operation->settled = true;
  operation->peer_ = peer;
  const mpi::RealMpi& real = mpi::real_mpi();
  MPI_Request* request = &operation->inner_;
  if (init != nullptr) {
    operation->buffered_ = init == real.MPI_Bsend_init;
    Outgoing& outgoing = operation->outgoing_.emplace(typed, method);
    const mpi::Wire wire(outgoing.memory(), outgoing.size_bytes(), peer.rank, peer.comm);
    mpi::check(
        init(outgoing.data(), wire.count(), wire.type(), peer.rank, peer.tag, peer.comm, request),
        "the persistent send");
  } else {
    operation->incoming_.emplace(typed, method);
    operation->init_receive();
  }
  return operation;
}

void Operation::init_receive() {
  const mpi::Wire wire(incoming_->memory(), incoming_->capacity_bytes());
  check_request(mpi::real_mpi().MPI_Recv_init(incoming_->data(), wire.count(), wire.type(),
                                              peer_.rank, peer_.tag, peer_.comm, &inner_),
                "MPI_Recv_init");
}

void Operation::start() {
  status_ = empty_status();
  error_ = MPI_SUCCESS;
  comm_to_raise_ = MPI_COMM_NULL;
  raised_ = false;
  cancelled_ = false;
  thrown_ = nullptr;
  if (outgoing_) {
    outgoing_->pack();
    count(outgoing_->size_bytes());
    if (buffered_) {
      outgoing_->wait();
      post();
    } else {
      state_ = State::Copying;
    }
  } else {
    if (inner_ == MPI_REQUEST_NULL) init_receive();  // Open MPI has freed one that failed
    mpi::check(mpi::real_mpi().MPI_Start(&inner_), "MPI_Start");
    state_ = State::Posted;
  }
  settled = false;
}

void Operation::check_request(int code, const char* function) const {
  mpi::check(code, function);
  // MPICH since 4.3, where an error handler of the application's has returned
  if (inner_ == MPI_REQUEST_NULL) throw MpiError("a receive was refused", MPI_SUCCESS);
}

Operation::Operation(const Typed& to, Method method, const mpi::Peer& peer)
    : state_(State::Posted), peer_(peer), status_(empty_status()) {
  incoming_.emplace(to, method);
  const mpi::Wire wire(incoming_->memory(), incoming_->capacity_bytes());
  check_request(mpi::real_mpi().MPI_Irecv(incoming_->data(), wire.count(), wire.type(), peer.rank,
                                          peer.tag, peer.comm, &inner_),
                "MPI_Irecv");
}

Operation::Operation(const Typed& to, Method method, MPI_Message* message, MPI_Comm comm)
    : state_(State::Posted), peer_{MPI_ANY_SOURCE, MPI_ANY_TAG, comm}, status_(empty_status()) {
  incoming_.emplace(to, method);
  const mpi::Wire wire(incoming_->memory(), incoming_->capacity_bytes());
  check_request(
      mpi::real_mpi().MPI_Imrecv(incoming_->data(), wire.count(), wire.type(), message, &inner_),
      "MPI_Imrecv");
}

Operation::~Operation() {
  if (state_ == State::Posted) {  // the system completes it, whenever that is
    if (outgoing_) outgoing_->leak();
    if (incoming_) incoming_->leak();
  }
  if (inner_ != MPI_REQUEST_NULL) mpi::real_mpi().MPI_Request_free(&inner_);
}

Method Operation::method() const noexcept {
  return outgoing_ ? outgoing_->method() : incoming_->method();
}

void Operation::step() noexcept {
  busy_ = true;
  try {
    if (state_ == State::Copying) {
      if (outgoing_->ready()) cancelled_ ? finish() : post();
    } else {
      if (state_ == State::Posted) poll_system();
      if (state_ == State::Unpacking && incoming_->done()) finish();
    }
  } catch (const MpiError& error) {
    raised_ = true;
    fail(error.code());
  } catch (const Error& error) {
    fail_by_us(error.what());
  } catch (const std::bad_alloc& error) {
    fail_by_us(error.what());
  } catch (...) {  // an error handler of the application's has left by an exception
    thrown_ = std::current_exception();
    inner_ = MPI_REQUEST_NULL;  // the system may have freed it
    raised_ = true;
    fail(MPI_ERR_OTHER);
  }
  busy_ = false;
}

void Operation::fail_by_us(const char* what) noexcept {
  log::warn("a message failed: {}", what);
  comm_to_raise_ = peer_.comm;
  fail(MPI_ERR_OTHER);
}

void Operation::post() {
  if (persistent_) {
    (void)outgoing_->data();  // moves the last byte
    mpi::check(mpi::real_mpi().MPI_Start(&inner_), "MPI_Start");
  } else {
    const mpi::Wire wire(outgoing_->memory(), outgoing_->size_bytes(), peer_.rank, peer_.comm);
    mpi::check(start_(outgoing_->data(), wire.count(), wire.type(), peer_.rank, peer_.tag,
                      peer_.comm, &inner_),
               "the send");
  }
  state_ = State::Posted;
}

void Operation::poll_system() {
  const mpi::RealMpi& real = mpi::real_mpi();
  int flag = 0;
  if (mpi::quirks::kAskingRaises && (mpi::g_multiple || !mpi::in_world())) {
    mpi::check(real.MPI_Test(&inner_, &flag, &status_), "MPI_Test");
    if (flag != 0) receive();
    return;
  }
  // Asking leaves the request as it is and raises nothing: an error is raised later, in the call
  // that completes the user's request.
  MPI_Status status;
  status.MPI_ERROR = MPI_SUCCESS;
  const int code = real.MPI_Request_get_status(inner_, &flag, &status);
  if (code == MPI_SUCCESS && flag == 0) return;
  status_ = status;
  if (code != MPI_SUCCESS || status.MPI_ERROR != MPI_SUCCESS) {
    if (persistent_) comm_to_raise_ = peer_.comm;  // MPICH 5 has forgotten it
    fail(code != MPI_SUCCESS ? code : status.MPI_ERROR);
    return;
  }
  if (too_long()) {  // Open MPI tells no error here, and where the room was filled just so, never
    comm_to_raise_ = peer_.comm;
    fail(MPI_ERR_TRUNCATE);
    return;
  }
  // The status is known: MPICH 5 has made a persistent request inactive when it told, and Test's is
  // empty.
  mpi::check(real.MPI_Test(&inner_, &flag, &status), "MPI_Test");
  receive();
}

bool Operation::cancelled_by_system() const noexcept {
  int cancelled = 0;
  mpi::real_mpi().MPI_Test_cancelled(&status_, &cancelled);
  return cancelled != 0;
}

bool Operation::too_long() const noexcept {
  return mpi::quirks::kLongMessagesOverrun && incoming_ &&
         mpi::received_bytes(status_) > incoming_->capacity_bytes() && !cancelled_by_system();
}

/// The message is here, or has left.
void Operation::receive() {
  if (outgoing_ || cancelled_by_system()) {
    finish();
    return;
  }
  const std::int64_t bytes = mpi::received_bytes(status_);
  count(bytes);
  state_ = State::Unpacking;
  incoming_->unpack(bytes);
}

void Operation::count(std::int64_t bytes) const noexcept {
  if (moved != nullptr) moved(mark, method(), bytes);
}

void Operation::finish() noexcept { state_ = State::Complete; }

void Operation::fail(int code) noexcept {
  error_ = code;
  status_.MPI_ERROR = code;
  finish();
}

MPI_Request Operation::take_failed_request() noexcept {
  return raised_ ? MPI_REQUEST_NULL : std::exchange(inner_, MPI_REQUEST_NULL);
}

void Operation::cancel() noexcept {
  if (state_ == State::Posted) {
    mpi::real_mpi().MPI_Cancel(&inner_);
  } else if (state_ == State::Copying) {
    // It will not leave: the cancellation has succeeded. The buffers are the device's until it is
    // done with them.
    mpi::real_mpi().MPI_Status_set_cancelled(&status_, 1);
    cancelled_ = true;
  }
}

}  // namespace strake::exchange
