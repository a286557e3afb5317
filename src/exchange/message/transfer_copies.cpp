// The copies of a message, between the user's layout and what the channel carries.
#include <algorithm>
#include <cstring>
#include <utility>

#include "copy/plan_impl.hpp"
#include "exchange/message/transfer.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/progress/progress.hpp"
#include "exchange/transport/mixed.hpp"
#include "exchange/transport/queues.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

/// A device's memory is written once the work before the message is done, and behind nothing that
/// came later. Of other memory it is not known when that is.
QueueOrder order_of_unpacking(const Typed& typed) noexcept {
  return typed.on_device() ? QueueOrder::Own : QueueOrder::AfterDefault;
}

/// [bytes] Longer messages are packed and unpacked by a launch of their own, at once.
constexpr std::int64_t kMostTogether = 32 << 10;

/// Runs `enqueue`; where it fails, waits for what it has enqueued, which uses the message's
/// buffers.
template <typename Enqueue>
void enqueue_all(const BorrowedQueues& queues, const Ticket& kernels, const Ticket& copies,
                 Enqueue&& enqueue) {
  try {
    enqueue();
  } catch (...) {
    try {
      queues.kernels().wait(kernels);
      queues.copies().wait(copies);
    } catch (const Error&) {
      // The device has failed: nothing runs there any more.
    }
    throw;
  }
}

}  // namespace

/// Whether it is packed, or unpacked, together with others.
bool Transfer::is_short() const noexcept {
  return typed_.on_device() && method_ == Method::OneShot && size_bytes() <= kMostTogether;
}

/// While one piece is packed the receiver unpacks the one before.
void Transfer::pack_shared() {
  const std::int64_t bytes = size_bytes();
  try {
    if (typed_.on_device()) return pack_from_device();
    for (std::int64_t begin = 0; begin < bytes;) {
      const std::int64_t end = std::min(begin + shared::kPiece, bytes);
      plan_->run(lease_->data(), typed_.address, {begin, end});
      lease_->packed(end);
      begin = end;
    }
  } catch (...) {
    lease_->packed(shared::kFailed);  // the receiver may wait for it
    throw;
  }
}

/// What it takes to pack a device's message into the page. False: there is no memory.
bool Transfer::prepare_to_pack() {
  if (!typed_.on_device() || for_page_.data() != nullptr) return true;
  try {
    for_page_ = PoolBlock({MemoryKind::Pinned, typed_.place.device}, size_bytes());
    (void)plans_of(*typed_.elements).device_copy(direction_, typed_.place, for_page_.place());
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }
}

/// The CPU copies from pinned memory, since the page is not the device's.
void Transfer::pack_from_device() {
  const std::int64_t bytes = size_bytes();
  const PoolBlock packed = std::move(for_page_);
  const auto copy =
      plans_of(*typed_.elements).device_copy(direction_, typed_.place, packed.place());
  Together::get().run(typed_.place.device, copy, packed.data(), typed_.address);
  std::memcpy(lease_->data(), packed.data(), static_cast<std::size_t>(bytes));
  lease_->packed(bytes);
}

/// A message that lies in the memory of the device is copied from there. False: it comes otherwise.
bool Transfer::pull(const shared::Delivery& delivery) {
  if (!typed_.on_device()) return false;
  try {
    auto pull = delivery.pull_to(typed_.elements->layout(), typed_.place);
    if (!pull) return false;
    pulled_ = delivery;
    g_awaited.fetch_add(1, std::memory_order_relaxed);
    next_ = {std::move(pull->copy), typed_.address, pull->from};
    return true;
  } catch (...) {
    delivery.done();  // its sender waits
    throw;
  }
}

void Transfer::unpack_shared(const shared::Delivery& delivery, std::int64_t bytes) {
  if (method_ == Method::Pack && !typed_.mixed) {
    if (delivery.copy_to(typed_.elements->layout(), typed_.address)) return;
    delivery.for_each_piece(bytes, [&](ByteRange piece, const std::byte* packed) {
      plan_->run(typed_.address, packed, piece);
    });
    return;
  }
  delivery.take_whole(bytes, [&](const std::byte* packed) {
    if (buffer_.place().kind == MemoryKind::Device) {
      const BorrowedQueues queues(typed_.place.device, QueueOrder::Own);
      queues.copies().wait(queues.copies().copy(buffer_.data(), packed, bytes));
    } else {
      std::memcpy(buffer_.data(), packed, static_cast<std::size_t>(bytes));
    }
  });
  unpack(bytes);
}

void Transfer::pack() {
  if (typed_.mixed) {
    copy_mixed(Direction::Send, typed_.elements->layout(), typed_.address, buffer_.data(),
               ByteRange::all());
    return;
  }
  if (method_ == Method::Pack) {
    plan_->run(buffer_.data(), typed_.address);
    return;
  }
  if (is_short()) {
    next_ = {plans_of(*typed_.elements).device_copy(direction_, typed_.place, buffer_.place()),
             buffer_.data(), typed_.address};
    return;
  }
  if (method_ == Method::Staged) return pack_in_pieces();
  const BorrowedQueues queues(typed_.place.device, QueueOrder::AfterDefault);
  queue_ = &queues.kernels();
  ticket_ = enqueue(*plan_, *queue_, buffer_.data(), typed_.address);
}

void Transfer::pack_in_pieces() {
  const std::int64_t bytes = size_bytes();
  const BorrowedQueues queues(typed_.place.device, QueueOrder::AfterDefault);
  queue_ = &queues.copies();
  if (plan_ == nullptr) {
    ticket_ =
        queue_->copy(buffer_.data(), typed_.address + typed_.elements->layout().offset(), bytes);
    return;
  }
  const std::int64_t piece = settings::number(settings::Id::chunk);
  Ticket packed;
  ticket_ = {};
  enqueue_all(queues, packed, ticket_, [&] {
    for (std::int64_t begin = 0; begin < bytes; begin += piece) {
      const std::int64_t end = std::min(begin + piece, bytes);
      packed = enqueue(*plan_, queues.kernels(), packed_.data(), typed_.address, {begin, end});
      queues.copies().wait_for(queues.kernels(), packed);
      ticket_ = queues.copies().copy(buffer_.data() + begin, packed_.data() + begin, end - begin);
    }
  });
}

void Transfer::unpack(std::int64_t bytes) {
  const ByteRange part = {0, bytes};
  if (typed_.mixed) {
    copy_mixed(Direction::Receive, typed_.elements->layout(), typed_.address, buffer_.data(), part);
    return;
  }
  if (method_ == Method::Pack) {
    plan_->run(typed_.address, buffer_.data(), part);
    return;
  }
  if (is_short() && bytes == size_bytes()) {
    next_ = {plans_of(*typed_.elements).device_copy(direction_, typed_.place, buffer_.place()),
             typed_.address, buffer_.data()};
    return;
  }
  to_unpack_ = bytes;
}

/// Enqueues it: a device's by a launch of its own.
void Transfer::begin_to_unpack(std::int64_t bytes) {
  const BorrowedQueues queues(typed_.place.device, order_of_unpacking(typed_));
  if (method_ == Method::Staged) return unpack_in_pieces(queues, bytes);
  queue_ = &queues.kernels();
  ticket_ = enqueue(*plan_, *queue_, typed_.address, buffer_.data(), {0, bytes});
}

void Transfer::unpack_in_pieces(const BorrowedQueues& queues, std::int64_t bytes) {
  if (plan_ == nullptr) {
    queue_ = &queues.copies();
    ticket_ =
        queue_->copy(typed_.address + typed_.elements->layout().offset(), buffer_.data(), bytes);
    return;
  }
  queue_ = &queues.kernels();
  const std::int64_t piece = settings::number(settings::Id::chunk);
  Ticket copied;
  ticket_ = {};
  enqueue_all(queues, ticket_, copied, [&] {
    for (std::int64_t begin = 0; begin < bytes; begin += piece) {
      const std::int64_t end = std::min(begin + piece, bytes);
      copied = queues.copies().copy(packed_.data() + begin, buffer_.data() + begin, end - begin);
      queues.kernels().wait_for(queues.copies(), copied);
      ticket_ = enqueue(*plan_, queues.kernels(), typed_.address, packed_.data(), {begin, end});
    }
  });
}

/// Whether the work before the message is done.
bool Transfer::follows_its_mark() {
  if (before_ != 0 && Together::get().reached(typed_.place.device, before_)) before_ = 0;
  return before_ == 0;
}

/// So that it is known before the message comes. A fault shows when that is copied.
void Transfer::look_at_mark() noexcept {
  try {
    (void)follows_its_mark();
  } catch (const std::exception&) {
  }
}

bool Transfer::device_copied() {
  try {
    const bool comes_after =
        next_.copy != nullptr || to_unpack_ != 0 || (lease_ && typed_.on_device());
    if (comes_after && !follows_its_mark()) return false;
    if (to_unpack_ != 0) begin_to_unpack(std::exchange(to_unpack_, 0));
    if (next_.copy != nullptr) {
      launch_ = Together::get().add(typed_.place.device, next_.copy, next_.to, next_.from);
      next_ = {};
    }
    if (launch_ != nullptr && !launch_->done()) return false;
    launch_.reset();
    if (ticket_.progress != nullptr && !queue_->done(ticket_)) return false;
  } catch (...) {
    end_pull();  // the device has failed
    throw;
  }
  end_pull();
  return true;
}

void Transfer::end_pull() noexcept {
  if (!pulled_) return;
  pulled_->done();
  pulled_.reset();
  g_awaited.fetch_sub(1, std::memory_order_relaxed);
  next_ = {};
  launch_.reset();
}

void Transfer::wait_until_copied() {
  if (by_cpu()) return;
  for (Backoff backoff; !copied(); backoff.pause()) Together::get().launch();
}

}  // namespace strake::exchange
