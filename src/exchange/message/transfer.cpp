#include "exchange/message/transfer.hpp"

#include <algorithm>
#include <utility>

#include "exchange/choice/choice.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/transport/shared/header_messages.hpp"
#include "exchange/transport/shared/shm_endpoint.hpp"
#include "exchange/transport/table.hpp"
#include "machine/transports.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

Transport by_lease(const shared::Lease& lease) noexcept {
  return lease.offer() == shared::Offer::None ? Transport::Shared : Transport::Direct;
}

/// The transport that needs less, or other, memory. Staged needs device memory, too; one-shot only
/// pinned; a GPU-aware library only the device's.
Transport fall_back(Transport transport, const Typed& typed, const std::exception& reason) {
  const Transport other = mpi_is_gpu_aware() ? Transport::Device : Transport::Staged;
  const Transport next = transport == Transport::OneShot ? other : Transport::OneShot;
  if (typed.place.in_host_memory() || typed.mixed) throw;
  log::warn("{} instead of {} for {} bytes: {}", name_of(next), name_of(transport),
            typed.elements->size_bytes(), reason.what());
  return next;
}

}  // namespace

Transfer::Transfer(MessageDirection direction, Typed typed, Transport transport)
    : packing_(direction, std::move(typed)), transport_(transport) {
  try {
    packing_.open(packed_form_of(transport_));
  } catch (const OutOfMemory& error) {
    transport_ = fall_back(transport_, packing_.typed(), error);
    packing_.open(packed_form_of(transport_));
  }
}

Transfer::Transfer(Typed typed, const shared::Lease& lease)
    : packing_(MessageDirection::Send, std::move(typed)),
      transport_(by_lease(lease)),
      lease_(lease) {
  try {
    if (!packing_.on_device()) packing_.compile_for_cpu();
  } catch (...) {
    withdraw();
    release_lease();
    throw;
  }
}

Transfer::~Transfer() {
  if (state_ == State::Posted || (state_ == State::Arriving && lease_)) {
    if (!lease_) packing_.buffer().leak();
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
  // Copies of a message that is done have ended: the device's runtime, which may be gone by now, is
  // asked about others alone.
  if (state_ == State::Idle || packing_.by_cpu()) return;
  packing_.forget();
  try {
    wait_until_copied();
  } catch (...) {
    // The device has failed: nothing runs there any more.
  }
}

std::int64_t Transfer::room() const noexcept { return shared::room_of_packed(size_bytes()); }

bool Transfer::would_offer() const {
  shared::ShmEndpoint* const endpoint = shared::ShmEndpoint::get();
  const Typed& typed = packing_.typed();
  return endpoint != nullptr && typed.place.in_host_memory() &&
         endpoint->would_offer(typed.elements->layout(), typed.address);
}

void Transfer::start(bool shares, bool offers) {
  cancelled_ = false;
  arrival_ = {};
  patient_until_.reset();
  if (shares_with_) {
    shared::ShmEndpoint* const endpoint = shared::ShmEndpoint::get();
    const Typed& typed = packing_.typed();
    if (endpoint != nullptr && shares)
      lease_ = endpoint->lease(*shares_with_, typed.elements->layout(), typed.address, typed.place,
                               offers ? shared::Sender::Busy : shared::Sender::Idle);
    transport_ = lease_ ? by_lease(*lease_) : unshared_transport_;
  }
  packing_.begin();
  if ((lease_ && packing_.on_device()) || packing_.needs_mark()) mark();
  if (direction() == MessageDirection::Send && !lease_) packing_.pack();
  state_ = State::Leaving;
}

/// The bytes are there, or may be overwritten, once the work before is done.
void Transfer::mark() {
  try {
    if (lease_ && !offered() && !prepare_to_pack())
      throw OutOfMemory("no pinned memory for a message from a device");
    packing_.mark();
  } catch (...) {
    withdraw();
    release_lease();
    throw;
  }
}

/// The channel has let go of the header message.
void Transfer::release_lease() noexcept {
  if (!lease_) return;
  if (shared::ShmEndpoint* const endpoint = shared::ShmEndpoint::get())
    endpoint->send_segment().release(*lease_);
  lease_.reset();
}

void Transfer::withdraw() noexcept {
  if (!lease_) return;
  if (shared::ShmEndpoint* const endpoint = shared::ShmEndpoint::get())
    endpoint->send_segment().withdraw(*lease_);
}

/// The message has failed: its receiver may have the header message all the same.
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
  if (!packing_.is_to_be_collected()) return;
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
  shared::ShmEndpoint* const endpoint = shared::ShmEndpoint::get();
  if (lease_ && endpoint != nullptr) endpoint->send_segment().go_live(*lease_);
  channel.post(parcel());
}

void Transfer::finish(Channel& channel) {
  if (direction() == MessageDirection::Receive) look_at_mark();
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
  const bool unpacks =
      direction() == MessageDirection::Receive && !arrival.lost && arrival.bytes > 0;
  // A truncated message reports its own length.
  if (arrival.delivery && unpacks && pull(*arrival.delivery)) {
    // The device copies the message.
  } else if (arrival.delivery) {
    const shared::Taken taken(*arrival.delivery);
    if (unpacks) unpack_shared(*arrival.delivery, std::min(arrival.bytes, size_bytes()));
  } else if (unpacks) {
    packing_.unpack(std::min(arrival.bytes, size_bytes()));
  }
  state_ = State::Arriving;
}

/// The sender's part of a message by shared memory is over: its receiver has taken the offer, or
/// the bytes are packed, as they always are where nothing was offered. False: the receiver may
/// still claim it, or is taking it.
bool Transfer::settle() {
  if (!lease_) return true;
  shared::ShmEndpoint* const endpoint = shared::ShmEndpoint::get();
  if (arrival_.lost) {
    lose_offer();
  } else if (offered() && !lease_->taken()) {
    if (!end_of_patience(endpoint)) return false;
    if (lease_->claimed()) return is_abandoned(endpoint);
    // Without memory for the packed bytes the receiver has to claim it.
    if (endpoint != nullptr && !endpoint->send_segment().prepare(*lease_)) return false;
    if (!prepare_to_pack()) return false;
    if (!lease_->take_back()) return false;
    if (endpoint != nullptr) endpoint->learn(lease_->receiver(), false);
    pack_shared();
  } else if (offered() && endpoint != nullptr) {
    endpoint->learn(lease_->receiver(), true);
  }
  patient_until_.reset();
  release_lease();
  return true;
}

/// Whether the receiver has had its time to claim the offer, or has claimed it.
bool Transfer::end_of_patience(const shared::ShmEndpoint* endpoint) {
  const auto now = std::chrono::steady_clock::now();
  if (!patient_until_) {
    patient_until_ = now;
    if (endpoint != nullptr)
      *patient_until_ +=
          endpoint->patience(lease_->receiver(), size_bytes(), packing_.typed().place);
  }
  return lease_->offer() != shared::Offer::Open || now >= *patient_until_;
}

/// Whether a receiver that has claimed the offer is dead, so that nobody reads the bytes any more.
/// True: the lease is released.
bool Transfer::is_abandoned(shared::ShmEndpoint* endpoint) {
  constexpr unsigned kAtATime = 4096;  // a system call
  if (endpoint == nullptr || ++turns_ % kAtATime != 0) return false;
  if (!endpoint->peer_segments().is_gone(lease_->receiver())) return false;
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
