// The copies of a message, between the user's layout and what the channel carries.
#include <algorithm>
#include <cstring>
#include <utility>

#include "exchange/message/transfer.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/progress/progress.hpp"
#include "exchange/transport/queues.hpp"
#include "strake/error.hpp"

namespace strake::exchange {

/// While one piece is packed the receiver unpacks the one before.
void Transfer::pack_shared() {
  const std::int64_t bytes = size_bytes();
  try {
    if (packing_.on_device()) return pack_from_device();
    for (std::int64_t begin = 0; begin < bytes;) {
      const std::int64_t end = std::min(begin + shared::kPiece, bytes);
      packing_.pack_to(lease_->data(), {begin, end});
      lease_->packed(end);
      begin = end;
    }
  } catch (...) {
    lease_->packed(shared::kFailed);  // the receiver may wait for it
    throw;
  }
}

/// Takes the memory that packing a device's message into the segment needs. False: there is none.
bool Transfer::prepare_to_pack() {
  if (!packing_.on_device() || for_segment_.data() != nullptr) return true;
  try {
    for_segment_ = PoolBlock({MemoryKind::Pinned, packing_.typed().place.device}, size_bytes());
    (void)packing_.device_copy(for_segment_.place());
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }
}

/// The CPU copies from pinned memory, since the segment is not the device's.
void Transfer::pack_from_device() {
  const std::int64_t bytes = size_bytes();
  const PoolBlock packed = std::move(for_segment_);
  const Typed& typed = packing_.typed();
  LaunchBatcher::get().run(typed.place.device, packing_.device_copy(packed.place()), packed.data(),
                           typed.address);
  std::memcpy(lease_->data(), packed.data(), static_cast<std::size_t>(bytes));
  lease_->packed(bytes);
}

/// A message that lies in the memory of the device is copied from there. False: it comes otherwise.
bool Transfer::pull(const shared::Delivery& delivery) {
  if (!packing_.on_device()) return false;
  const Typed& typed = packing_.typed();
  try {
    auto pull = delivery.pull_to(typed.elements->layout(), typed.place);
    if (!pull) return false;
    pulled_ = delivery;
    g_awaited.fetch_add(1, std::memory_order_relaxed);
    packing_.collect(std::move(pull->copy), typed.address, pull->from);
    return true;
  } catch (...) {
    delivery.done();  // its sender waits
    throw;
  }
}

void Transfer::unpack_shared(const shared::Delivery& delivery, std::int64_t bytes) {
  const Typed& typed = packing_.typed();
  if (transport_ == Transport::Pack && !typed.mixed) {
    if (delivery.copy_to(typed.elements->layout(), typed.address)) return;
    delivery.for_each_piece(bytes, [&](ByteRange piece, const std::byte* packed) {
      packing_.unpack_from(packed, piece);
    });
    return;
  }
  delivery.take_whole(bytes, [&](const std::byte* packed) {
    PoolBlock& buffer = packing_.buffer();
    if (buffer.place().kind == MemoryKind::Device) {
      const BorrowedQueues queues(typed.place.device, QueueOrder::Own);
      queues.copies().wait(queues.copies().copy(buffer.data(), packed, bytes));
    } else {
      std::memcpy(buffer.data(), packed, static_cast<std::size_t>(bytes));
    }
  });
  packing_.unpack(bytes);
}

/// So that it is known before the message comes. A fault shows when that is copied.
void Transfer::look_at_mark() noexcept {
  try {
    (void)packing_.follows_its_mark();
  } catch (const std::exception&) {
  }
}

bool Transfer::device_copied() {
  try {
    if (lease_ && packing_.on_device() && !packing_.follows_its_mark()) return false;
    if (!packing_.copied()) return false;
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
  packing_.forget_launch();
}

void Transfer::wait_until_copied() {
  if (packing_.by_cpu()) return;
  for (Backoff backoff; !copied(); backoff.pause()) LaunchBatcher::get().launch();
}

}  // namespace strake::exchange
