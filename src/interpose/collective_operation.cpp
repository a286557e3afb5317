#include "interpose/collective_operation.hpp"

namespace strake::interpose {

CollectiveOperation::~CollectiveOperation() {
  RequestTable::get().remove(*this);  // before any part of it ends
}

void CollectiveOperation::start() {
  reset();
  call_->start(next_call_++);
  begin();
}

void CollectiveOperation::take_steps(bool leave) noexcept {
  if (complete() || !call_->messages.step(leave)) return;
  if (const int error = call_->finish(); error != MPI_SUCCESS) {
    const bool is_there = mpi::communicator(call_->comm()) == on_;
    comm_to_raise_ = is_there ? call_->comm() : MPI_COMM_WORLD;
    fail(error);
  } else {
    end();
  }
}

}  // namespace strake::interpose
