#include "exchange/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "copy/plan_impl.hpp"
#include "exchange/backoff.hpp"
#include "exchange/mixed.hpp"
#include "exchange/progress.hpp"
#include "exchange/queues.hpp"
#include "exchange/shared/post_office.hpp"
#include "mpi/wire.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

constexpr Place kHost = {MemoryKind::Host, -1};

/// Where the channel's end of the message lies.
Place parcel_place(Method method, Place typed) {
  if (method == Method::Pack) return kHost;
  if (method == Method::Device) return {MemoryKind::Device, typed.device};
  return {MemoryKind::Pinned, typed.device};
}

Method by_lease(const shared::Lease& lease) noexcept {
  return lease.offer() == shared::Offer::None ? Method::Shared : Method::Direct;
}

bool on_device(const Typed& typed) noexcept {
  return typed.place.kind == MemoryKind::Device && !typed.mixed;
}

/// A device's memory is written once the work before the message is done, and behind nothing that
/// came later. Of other memory it is not known when that is.
QueueOrder order_of_unpacking(const Typed& typed) noexcept {
  return on_device(typed) ? QueueOrder::Own : QueueOrder::AfterDefault;
}

/// [bytes] Longer messages are packed and unpacked by a launch of their own, at once.
constexpr std::int64_t kMostTogether = 32 << 10;

/// The method that needs less, or other, memory. Staged needs device memory; one-shot only pinned.
Method fall_back(Method method, const Typed& typed, const std::exception& reason) {
  const Method next = method == Method::OneShot ? Method::Staged : Method::OneShot;
  if (typed.place.in_host_memory() || typed.mixed) throw;
  log::warn("{} instead of {} for {} bytes: {}", name_of(next), name_of(method),
            typed.elements->size_bytes(), reason.what());
  return next;
}

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

Transfer::Transfer(Direction direction, const Typed& typed, Method method)
    : typed_(typed), direction_(direction), method_(method) {
  try {
    acquire();
  } catch (const OutOfMemory& error) {
    method_ = fall_back(method_, typed_, error);
    buffer_ = {};  // the next method may have to ask for the same
    packed_ = {};
    acquire();
  }
}

Transfer::Transfer(const Typed& typed, const shared::Lease& lease)
    : typed_(typed), direction_(Direction::Send), method_(by_lease(lease)), lease_(lease) {
  try {
    if (!on_device(typed_)) plan_ = &plans_of(*typed_.elements).plan(direction_, kHost, kHost);
  } catch (...) {
    withdraw();
    release_lease();
    throw;
  }
}

void Transfer::acquire() {
  mpi::Elements& elements = *typed_.elements;
  const std::int64_t bytes = elements.size_bytes();
  buffer_ =
      PoolBlock(typed_.mixed ? kHost : parcel_place(method_, typed_.place), bytes + mpi::kWireRoom);
  if (typed_.mixed) return;
  const bool staged = method_ == Method::Staged;
  if (staged && elements.dense()) return;
  if (staged) packed_ = PoolBlock({MemoryKind::Device, typed_.place.device}, bytes);
  // Compiled now: once a message has come it can't be left to the MPI library any more.
  if (is_short()) (void)plans_of(elements).device_copy(direction_, typed_.place, buffer_.place());
  plan_ = method_ == Method::Pack
              ? &plans_of(elements).plan(direction_, kHost, kHost)
              : &plans_of(elements).plan(direction_, typed_.place,
                                         staged ? packed_.place() : buffer_.place());
}

Transfer::~Transfer() {
  if (state_ == State::Posted || (state_ == State::Arriving && lease_)) {
    if (!lease_) buffer_.leak();
    try {
      end_offer();  // its memory may be used again from now on
    } catch (...) {
      lose_offer();
    }
    return;
  }
  if (lease_) {
    withdraw();  // it was never posted
    release_lease();
  }
  // Of one that is done the device's runtime may be gone.
  if (state_ == State::Idle) return;
  next_ = {};
  to_unpack_ = 0;
  try {
    wait_until_copied();
  } catch (...) {
    // The device has failed: nothing runs there any more.
  }
}

void Transfer::start() {
  cancelled_ = false;
  arrival_ = {};
  patient_until_.reset();
  shared::PostOffice* const office = shared::PostOffice::get();
  if (shares_with_) {
    if (office != nullptr)
      lease_ =
          office->lease(*shares_with_, typed_.elements->layout(), typed_.address, typed_.place);
    method_ = lease_ ? by_lease(*lease_) : unshared_method_;
  }
  next_ = {};
  to_unpack_ = 0;
  launch_.reset();  // of one that failed
  ticket_ = {};
  before_ = 0;
  if (lease_ && office != nullptr) office->outbox().hold(*lease_);
  if (on_device(typed_) && (lease_ || direction_ == Direction::Receive || is_short())) mark();
  if (direction_ == Direction::Send && !lease_) pack();
  state_ = State::Leaving;
}

/// Whether it is packed, or unpacked, together with others.
bool Transfer::is_short() const noexcept {
  return on_device(typed_) && method_ == Method::OneShot && size_bytes() <= kMostTogether;
}

/// The bytes are there, or may be overwritten, once the work before is done.
void Transfer::mark() {
  try {
    if (lease_ && !offered() && !prepare_to_pack())
      throw OutOfMemory("no pinned memory for a message from a device");
    before_ = Together::get().mark(typed_.place.device);
  } catch (...) {
    withdraw();
    release_lease();
    throw;
  }
}

/// The channel has let go of the envelope.
void Transfer::release_lease() noexcept {
  if (!lease_) return;
  if (shared::PostOffice* const office = shared::PostOffice::get())
    office->outbox().release(*lease_);
  lease_.reset();
}

void Transfer::withdraw() noexcept {
  if (!lease_) return;
  if (shared::PostOffice* const office = shared::PostOffice::get())
    office->outbox().withdraw(*lease_);
}

/// The message has failed: its receiver may have the envelope all the same.
void Transfer::lose_offer() noexcept {
  if (offered() && lease_->take_back()) lease_->packed(shared::kFailed);
}

bool Transfer::step(Channel& channel) {
  try {
    switch (state_) {
      case State::Leaving:
        if (!copied()) return false;
        if (cancelled_) {
          withdraw();
          release_lease();
          arrival_.lost = true;
          break;
        }
        give_to(channel);
        state_ = State::Posted;
        if (lease_ && !offered()) pack_shared();
        return false;
      case State::Posted: {
        const std::optional<Arrival> arrival = channel.poll();
        if (!arrival) {
          look_at_mark();
          return false;
        }
        if (arrival->lost) withdraw();
        take(*arrival);
        [[fallthrough]];
      }
      case State::Arriving:
        if (!copied() || !settle()) return false;
        break;
      case State::Idle:
        break;
    }
  } catch (...) {
    if (state_ == State::Leaving) {
      withdraw();
    } else {
      lose_offer();
    }
    release_lease();
    state_ = State::Idle;
    throw;
  }
  state_ = State::Idle;
  return true;
}

void Transfer::prepare() noexcept {
  if (next_.copy == nullptr) return;
  try {
    (void)copied();
  } catch (...) {
    // step() tries again.
  }
}

void Transfer::post(Channel& channel) {
  try {
    wait_until_copied();
    give_to(channel);
  } catch (...) {
    withdraw();
    release_lease();
    state_ = State::Idle;
    throw;
  }
  state_ = State::Posted;
  if (!lease_ || offered()) return;
  try {
    pack_shared();
  } catch (...) {
    release_lease();  // the receiver is told
    state_ = State::Idle;
    throw;
  }
}

void Transfer::give_to(Channel& channel) {
  shared::PostOffice* const office = shared::PostOffice::get();
  if (lease_ && office != nullptr) office->outbox().go_live(*lease_);
  channel.post(parcel());
}

void Transfer::finish(Channel& channel) {
  if (direction_ == Direction::Receive) look_at_mark();
  post(channel);
  try {
    std::optional<Arrival> arrival = channel.poll();
    for (Backoff backoff; !arrival; arrival = channel.poll()) backoff.pause();
    arrived(*arrival);
  } catch (...) {
    state_ = State::Idle;
    throw;
  }
}

void Transfer::arrived(const Arrival& arrival) {
  state_ = State::Idle;
  take(arrival);
  state_ = State::Idle;
  wait_until_copied();
  for (Backoff backoff; !settle();) backoff.pause();
}

bool Transfer::cancel(Channel& channel) noexcept {
  if (state_ == State::Posted) channel.cancel();
  if (state_ == State::Leaving) cancelled_ = true;
  return cancelled_;
}

/// The message has ended.
void Transfer::take(const Arrival& arrival) {
  arrival_ = arrival;
  const bool unpacks = direction_ == Direction::Receive && !arrival.lost && arrival.bytes > 0;
  // A truncated message reports its own length.
  if (arrival.delivery && unpacks && pull(*arrival.delivery)) {
    // It is on its way.
  } else if (arrival.delivery) {
    const shared::Taken taken(*arrival.delivery);
    if (unpacks) unpack_shared(*arrival.delivery, std::min(arrival.bytes, size_bytes()));
  } else if (unpacks) {
    unpack(std::min(arrival.bytes, size_bytes()));
  }
  state_ = State::Arriving;
}

/// The sender's part of a message by shared memory is over: its receiver has taken the offer, or
/// the bytes are packed, as they always are where nothing was offered. False: the receiver may
/// still claim it, or is taking it.
bool Transfer::settle() {
  if (!lease_) return true;
  shared::PostOffice* const office = shared::PostOffice::get();
  if (arrival_.lost) {
    lose_offer();
  } else if (offered() && !lease_->taken()) {
    if (!end_of_patience(office)) return false;
    if (lease_->offer() == shared::Offer::Claimed) return is_abandoned(office);
    // Without memory for the packed bytes the receiver has to claim it.
    if (office != nullptr && !office->outbox().prepare(*lease_)) return false;
    if (!prepare_to_pack()) return false;
    if (!lease_->take_back()) return false;
    if (office != nullptr) office->learn(lease_->receiver(), false);
    pack_shared();
  } else if (offered() && office != nullptr) {
    office->learn(lease_->receiver(), true);
  }
  patient_until_.reset();
  release_lease();
  return true;
}

/// Whether the receiver has had its time to claim the offer, or has claimed it.
bool Transfer::end_of_patience(const shared::PostOffice* office) {
  const auto now = std::chrono::steady_clock::now();
  if (!patient_until_) {
    patient_until_ = now;
    if (office != nullptr)
      *patient_until_ += office->patience(lease_->receiver(), size_bytes(), typed_.place);
  }
  return lease_->offer() != shared::Offer::Open || now >= *patient_until_;
}

/// Of an offer that is being taken: whether its receiver is dead, so that nobody reads any more.
bool Transfer::is_abandoned(shared::PostOffice* office) {
  constexpr unsigned kAtATime = 4096;  // a system call
  if (office == nullptr || ++turns_ % kAtATime != 0) return false;
  if (!office->inbox().is_gone(lease_->receiver())) return false;
  patient_until_.reset();
  release_lease();
  return true;
}

void Transfer::end_offer() {
  if (!offered()) return;
  patient_until_ = std::chrono::steady_clock::time_point{};
  for (Backoff backoff; !settle();) backoff.pause();
}

/// While one piece is packed the receiver unpacks the one before.
void Transfer::pack_shared() {
  const std::int64_t bytes = size_bytes();
  try {
    if (on_device(typed_)) return pack_from_device();
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
  if (!on_device(typed_) || for_page_.data() != nullptr) return true;
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
  if (!on_device(typed_)) return false;
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

bool Transfer::copied() {
  try {
    const bool comes_after =
        next_.copy != nullptr || to_unpack_ != 0 || (lease_ && on_device(typed_));
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
  for (Backoff backoff; !copied(); backoff.pause()) Together::get().launch();
}

}  // namespace strake::exchange
