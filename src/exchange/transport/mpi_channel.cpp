#include "exchange/transport/mpi_channel.hpp"

#include <utility>

#include "exchange/transport/shared/header_messages.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/world.hpp"

namespace strake::exchange {

MpiChannel::~MpiChannel() {
  if (request_ != MPI_REQUEST_NULL) mpi::real_mpi().MPI_Request_free(&request_);
}

void MpiChannel::check_request(int code, const char* function) const {
  mpi::check(code, function);
  // MPICH since 4.3, where an error handler of the application's has returned.
  if (request_ == MPI_REQUEST_NULL) throw MpiError("a message was refused", MPI_SUCCESS);
}

void MpiChannel::make_persistent(const Parcel& parcel, InitSend init_send) {
  persistent_ = true;
  init_ = init_send;
  init(parcel);
}

void MpiChannel::init(const Parcel& parcel) {
  const auto& [rank, tag, comm] = peer_;
  if (init_ != nullptr) {
    const mpi::Wire wire = wire_of(parcel, peer_);
    check_request(init_(parcel.data, wire.count(), wire.type(), rank, tag, comm, &request_),
                  "a persistent send");
  } else {
    const mpi::Wire wire = wire_of(parcel);
    check_request(mpi::real_mpi().MPI_Recv_init(parcel.data, wire.count(), wire.type(), rank, tag,
                                                comm, &request_),
                  "MPI_Recv_init");
    // The communicator may be freed before the request is started.
    comm_ = shared::communicator_of_receive(shared::room_of_packed(parcel.bytes), rank, comm);
  }
}

void MpiChannel::post(const Parcel& parcel) {
  const mpi::RealMpi& real = mpi::real_mpi();
  const auto& [rank, tag, comm] = peer_;
  parcel_ = parcel;
  delivery_.reset();
  if (sends() && !parcel.header) shared::add_placeholder(parcel.bytes, peer_);
  if (persistent_) {
    if (request_ == MPI_REQUEST_NULL) init(parcel);  // Open MPI has freed one that failed
    if (sends()) mpi::prepare_send(parcel.memory, parcel.data, parcel.bytes);
    mpi::check(real.MPI_Start(&request_), "MPI_Start");
    return;
  }
  if (sends()) {
    const mpi::Wire wire = wire_of(parcel, peer_);
    mpi::check(start_(parcel.data, wire.count(), wire.type(), rank, tag, comm, &request_),
               "a send");
    return;
  }
  const mpi::Wire wire = wire_of(parcel);
  if (message_ != nullptr) {
    check_request(real.MPI_Imrecv(parcel.data, wire.count(), wire.type(), message_, &request_),
                  "MPI_Imrecv");
  } else {
    check_request(
        real.MPI_Irecv(parcel.data, wire.count(), wire.type(), rank, tag, comm, &request_),
        "MPI_Irecv");
  }
  if (comm_ == nullptr)
    comm_ = shared::communicator_of_receive(shared::room_of_packed(parcel.bytes), rank, comm);
}

std::optional<Arrival> MpiChannel::poll() {
  const mpi::RealMpi& real = mpi::real_mpi();
  int flag = 0;
  if (mpi::quirks::kAskingRaises && (mpi::g_multiple || !mpi::in_world())) {
    mpi::check(real.MPI_Test(&request_, &flag, &status_), "MPI_Test");
    if (flag == 0) return std::nullopt;
    look_at_message();
    return arrival();
  }
  // Asking leaves the request as it is and raises nothing: an error is raised later, in the call
  // that completes the user's request.
  MPI_Status status;
  status.MPI_ERROR = MPI_SUCCESS;
  const int code = real.MPI_Request_get_status(request_, &flag, &status);
  if (code == MPI_SUCCESS && flag == 0) return std::nullopt;
  status_ = status;
  if (code != MPI_SUCCESS || status.MPI_ERROR != MPI_SUCCESS) {
    // MPICH 5 has forgotten the error of a persistent request.
    throw MessageFailed(code != MPI_SUCCESS ? code : status.MPI_ERROR, persistent_);
  }
  look_at_message();
  // The status is known: MPICH 5 has made a persistent request inactive when it told, and Test's is
  // empty.
  const int ended = real.MPI_Test(&request_, &flag, &status);
  if (ended != MPI_SUCCESS && delivery_) delivery_->done();  // nobody takes it
  mpi::check(ended, "MPI_Test");
  return arrival();
}

/// A message has ended well: looks for a header message, and at its length.
void MpiChannel::look_at_message() {
  if (sends() || was_cancelled()) return;
  const shared::Met met = message_ != nullptr ? shared::Met::Matched : shared::Met::No;
  delivery_ = shared::look(status_, comm_, met,
                           [&] { return shared::read_landed(parcel_.data, parcel_.memory); });
  // Open MPI tells no error of a message that is too long, and where the room was filled just so,
  // never; MPICH none of one that is shorter than room_of_packed(); none of the libraries knows
  // what a header message stands for.
  if (mpi::received_bytes(status_) > parcel_.bytes) {
    if (delivery_) {
      delivery_->done();
      // The MPI library has no error to raise.
      int flag = 0;
      MPI_Status ended;
      mpi::check(mpi::real_mpi().MPI_Test(&request_, &flag, &ended), "MPI_Test");
    }
    throw MessageFailed(MPI_ERR_TRUNCATE, true);
  }
}

Arrival MpiChannel::arrival() const noexcept {
  return {sends() ? 0 : mpi::received_bytes(status_), was_cancelled(), delivery_};
}

bool MpiChannel::was_cancelled() const noexcept {
  int cancelled = 0;
  mpi::real_mpi().MPI_Test_cancelled(&status_, &cancelled);
  return cancelled != 0;
}

void MpiChannel::cancel() noexcept { mpi::real_mpi().MPI_Cancel(&request_); }

MPI_Request MpiChannel::take_request() noexcept {
  return std::exchange(request_, MPI_REQUEST_NULL);
}

}  // namespace strake::exchange
