#include "exchange/message/transfer.hpp"

#include <algorithm>
#include <utility>

#include "exchange/choice/method.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/transport/shared/post_office.hpp"
#include "mpi/wire.hpp"
#include "settings/log.hpp"
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

/// The method that needs less, or other, memory. Staged needs device memory, too; one-shot only
/// pinned; a GPU-aware library only the device's.
Method fall_back(Method method, const Typed& typed, const std::exception& reason) {
  const Method other = mpi_is_gpu_aware() ? Method::Device : Method::Staged;
  const Method next = method == Method::OneShot ? other : Method::OneShot;
  if (typed.place.in_host_memory() || typed.mixed) throw;
  log::warn("{} instead of {} for {} bytes: {}", name_of(next), name_of(method),
            typed.elements->size_bytes(), reason.what());
  return next;
}

}  // namespace

Transfer::Transfer(Direction direction, Typed typed, Method method)
    : typed_(std::move(typed)), direction_(direction), method_(method) {
  try {
    acquire();
  } catch (const OutOfMemory& error) {
    method_ = fall_back(method_, typed_, error);
    buffer_ = {};  // the next method may have to ask for the same
    packed_ = {};
    acquire();
  }
}

Transfer::Transfer(Typed typed, const shared::Lease& lease)
    : typed_(std::move(typed)),
      direction_(Direction::Send),
      method_(by_lease(lease)),
      lease_(lease) {
  try {
    if (!typed_.on_device()) plan_ = &plans_of(*typed_.elements).plan(direction_, kHost, kHost);
  } catch (...) {
    withdraw();
    release_lease();
    throw;
  }
}

void Transfer::acquire() {
  mpi::Elements& elements = *typed_.elements;
  const std::int64_t bytes = elements.size_bytes();
  if (by_cpu()) {
    buffer_ = PoolBlock(kHost, bytes + mpi::kWireRoom);
    plan_ = &plans_of(elements).plan(direction_, kHost, kHost);
    return;
  }
  if (typed_.on_device()) required_device_backend().require_intact(typed_.place.device);
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
  if (state_ == State::Idle || by_cpu()) return;
  next_ = {};
  to_unpack_ = 0;
  try {
    wait_until_copied();
  } catch (...) {
    // The device has failed: nothing runs there any more.
  }
}

void Transfer::start(bool shares) {
  cancelled_ = false;
  arrival_ = {};
  patient_until_.reset();
  if (shares_with_) {
    shared::PostOffice* const office = shared::PostOffice::get();
    if (office != nullptr && shares)
      lease_ =
          office->lease(*shares_with_, typed_.elements->layout(), typed_.address, typed_.place);
    method_ = lease_ ? by_lease(*lease_) : unshared_method_;
  }
  if (!by_cpu()) {
    next_ = {};
    to_unpack_ = 0;
    launch_.reset();  // of one that failed
    ticket_ = {};
    before_ = 0;
  }
  if (typed_.on_device() && (lease_ || direction_ == Direction::Receive || is_short())) mark();
  if (direction_ == Direction::Send && !lease_) pack();
  state_ = State::Leaving;
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
    if (lease_->claimed()) return is_abandoned(office);
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

}  // namespace strake::exchange
