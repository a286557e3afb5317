#include "exchange/transport/packing.hpp"

#include <utility>

#include "exchange/transport/mixed.hpp"
#include "exchange/transport/shared/header_messages.hpp"
#include "mpi/wire.hpp"

namespace strake::exchange {
namespace {

constexpr Place kInHost = {MemoryKind::Host, -1};

}  // namespace

void Packing::open(const PackedForm& form) {
  buffer_ = {};
  between_ = {};
  plan_ = nullptr;
  form_ = &form;
  if (typed_.on_device()) required_device_backend().require_intact(typed_.place.device);
  const std::int64_t room =
      direction_ == MessageDirection::Receive ? shared::room_of_packed(size_bytes()) : size_bytes();
  buffer_ = PoolBlock(typed_.mixed ? kInHost : form.carried(typed_.place), room + mpi::kWireRoom);
  if (typed_.mixed) return;
  // Compiled now: once a message has come it can't be left to the MPI library any more.
  if (goes_together()) (void)device_copy(buffer_.place());
  form.open(*this);
}

void Packing::compile_for_cpu() {
  plan_ = &plans_of(*typed_.elements).plan(direction_, kInHost, kInHost);
}

void Packing::begin() {
  if (by_cpu()) return;
  next_ = {};
  to_unpack_ = 0;
  launch_.reset();  // of one that failed
  ticket_ = {};
  before_ = 0;
}

void Packing::pack() {
  if (typed_.mixed) {
    copy_mixed(MessageDirection::Send, typed_.elements->layout(), typed_.address, buffer_.data(),
               ByteRange::all());
  } else if (goes_together()) {
    collect(device_copy(buffer_.place()), buffer_.data(), typed_.address);
  } else {
    form_->pack(*this);
  }
}

void Packing::unpack(std::int64_t bytes) {
  if (typed_.mixed) {
    copy_mixed(MessageDirection::Receive, typed_.elements->layout(), typed_.address, buffer_.data(),
               {0, bytes});
  } else if (form_->synchronous) {
    form_->unpack(*this, bytes);
  } else if (goes_together() && bytes == size_bytes()) {
    collect(device_copy(buffer_.place()), typed_.address, buffer_.data());
  } else {
    to_unpack_ = bytes;
  }
}

bool Packing::follows_its_mark() {
  if (before_ != 0 && LaunchBatcher::get().reached(typed_.place.device, before_)) before_ = 0;
  return before_ == 0;
}

bool Packing::copied() {
  if ((next_.copy != nullptr || to_unpack_ != 0) && !follows_its_mark()) return false;
  if (to_unpack_ != 0) form_->unpack(*this, std::exchange(to_unpack_, 0));
  if (next_.copy != nullptr) {
    launch_ = LaunchBatcher::get().add(typed_.place.device, next_.copy, next_.to, next_.from);
    next_ = {};
  }
  if (launch_ != nullptr && !launch_->done()) return false;
  launch_.reset();
  return ticket_.progress == nullptr || queue_->done(ticket_);
}

void Packing::forget() noexcept {
  next_ = {};
  to_unpack_ = 0;
}

}  // namespace strake::exchange
