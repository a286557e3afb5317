#include "exchange/staging.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "device/backend.hpp"
#include "exchange/backoff.hpp"
#include "exchange/mixed.hpp"
#include "mpi/wire.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

constexpr Place kHost = {MemoryKind::Host, -1};

/// Two queues of one device: kernels in one, copies in the other, so that a piece is copied while
/// the next is packed.
struct Queues {
  std::unique_ptr<Queue> kernels;
  std::unique_ptr<Queue> copies;
};

/// A queue serves one thread at a time; this lock is held for a call, and across a wait
/// only where enqueueing has failed.
std::mutex& queue_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

Queues& queues_of(int device) {
  static auto& all =
      *new std::map<int, Queues>;  // never destroyed: the device runtime may be gone by then
  Queues& queues = all[device];
  if (!queues.kernels) {
    DeviceBackend* backend = device_backend();
    if (backend == nullptr)
      throw Unsupported("device memory, but no device back end could be loaded");
    queues = {backend->make_queue(device), backend->make_queue(device)};  // both, or none
  }
  return queues;
}

bool ticket_done(int device, bool copies, Ticket ticket) {
  if (ticket.progress == nullptr) return true;
  const std::lock_guard lock(queue_mutex());
  Queues& queues = queues_of(device);
  return (copies ? queues.copies : queues.kernels)->done(ticket);
}

void ticket_wait(int device, bool copies, Ticket ticket) {
  Backoff backoff;
  while (!ticket_done(device, copies, ticket)) backoff.pause();
}

/// Where MPI's own end of the message lies.
Place wire_place(Method method, Place typed) {
  if (method == Method::Pack) return kHost;
  if (method == Method::Device) return {MemoryKind::Device, typed.device};
  return {MemoryKind::Pinned, typed.device};
}

/// The method that needs less, or other, memory. Staged needs device memory; one-shot only pinned.
Method fall_back(Method method, const Typed& typed, const std::exception& reason) {
  const Method next = method == Method::OneShot ? Method::Staged : Method::OneShot;
  if (typed.place.in_host_memory() || typed.mixed) throw;
  log::warn("{} instead of {} for {} bytes: {}", name_of(next), name_of(method),
            typed.elements->size_bytes(), reason.what());
  return next;
}

/// Runs `enqueue`; where it fails, waits for what it has enqueued, which uses the message's
/// buffers. The caller holds queue_mutex().
template <typename Enqueue>
void enqueue_all(Queues& queues, const Ticket& kernels, const Ticket& copies, Enqueue&& enqueue) {
  try {
    enqueue();
  } catch (...) {
    try {
      queues.kernels->wait(kernels);
      queues.copies->wait(copies);
    } catch (const Error&) {
      // The device has failed: nothing runs there any more.
    }
    throw;
  }
}

bool needs_device_buffer(Method method, const mpi::Elements& elements) {
  return method == Method::Staged && !elements.dense();
}

}  // namespace

Outgoing::Outgoing(const Typed& from, Method method) : from_(from), method_(method) {
  const std::int64_t bytes = from.elements->size_bytes();
  const auto acquire = [&] {
    buffer_ =
        PoolBlock(from.mixed ? kHost : wire_place(method_, from.place), bytes + mpi::kWireRoom);
    if (!from.mixed && needs_device_buffer(method_, *from.elements)) {
      packed_ = PoolBlock({MemoryKind::Device, from.place.device}, bytes);
    }
  };
  try {
    acquire();
  } catch (const OutOfMemory& error) {
    method_ = fall_back(method_, from, error);
    buffer_ = {};  // the next method may have to ask for the same
    acquire();
  }
}

void Outgoing::pack() {
  mpi::Elements& elements = *from_.elements;
  if (from_.mixed) {
    copy_mixed(Direction::Send, elements.layout(), from_.address, buffer_.data(), ByteRange::all());
    return;
  }
  if (method_ == Method::Pack) {
    plans_of(elements).plan(Direction::Send, kHost, kHost).run(buffer_.data(), from_.address);
    return;
  }
  const int device = from_.place.device;
  if (method_ != Method::Staged) {
    const CopyPlan& plan = plans_of(elements).plan(Direction::Send, from_.place, buffer_.place());
    const std::lock_guard lock(queue_mutex());
    ticket_ = plan.enqueue(*queues_of(device).kernels, buffer_.data(), from_.address);
    return;
  }
  const std::int64_t bytes = elements.size_bytes();
  copy_queue_ = true;
  if (elements.dense()) {
    const std::lock_guard lock(queue_mutex());
    ticket_ = queues_of(device).copies->copy(buffer_.data(),
                                             from_.address + elements.layout().offset(), bytes);
    return;
  }
  const CopyPlan& plan = plans_of(elements).plan(Direction::Send, from_.place, packed_.place());
  const std::int64_t chunk = settings::number(settings::Id::chunk);
  const std::lock_guard lock(queue_mutex());
  Queues& queues = queues_of(device);
  Ticket packed;
  ticket_ = {};
  enqueue_all(queues, packed, ticket_, [&] {
    for (std::int64_t begin = 0; begin < bytes; begin += chunk) {
      const std::int64_t end = std::min(begin + chunk, bytes);
      packed = plan.enqueue(*queues.kernels, packed_.data(), from_.address, {begin, end});
      queues.copies->wait_for(*queues.kernels, packed);
      ticket_ = queues.copies->copy(buffer_.data() + begin, packed_.data() + begin, end - begin);
    }
  });
}

const void* Outgoing::data() noexcept {
  if (method_ != Method::Device) mpi::prepare_send(buffer_.data(), size_bytes());
  return buffer_.data();
}

bool Outgoing::ready() { return ticket_done(from_.place.device, copy_queue_, ticket_); }
void Outgoing::wait() { ticket_wait(from_.place.device, copy_queue_, ticket_); }

Incoming::Incoming(const Typed& to, Method method) : to_(to), method_(method) {
  const std::int64_t bytes = to.elements->size_bytes();
  const auto acquire = [&] {
    buffer_ = PoolBlock(to.mixed ? kHost : wire_place(method_, to.place), bytes + mpi::kWireRoom);
    if (!to.mixed && needs_device_buffer(method_, *to.elements)) {
      packed_ = PoolBlock({MemoryKind::Device, to.place.device}, bytes);
    }
    // Compiled now: once the message has come it can't be left to the system any more.
    if (to.mixed || (method_ == Method::Staged && to.elements->dense())) return;
    plan_ = method_ == Method::Pack
                ? &plans_of(*to.elements).plan(Direction::Receive, kHost, kHost)
                : &plans_of(*to.elements)
                       .plan(Direction::Receive, to.place,
                             method_ == Method::Staged ? packed_.place() : buffer_.place());
  };
  try {
    acquire();
  } catch (const OutOfMemory& error) {
    method_ = fall_back(method, to, error);
    buffer_ = {};
    packed_ = {};
    acquire();
  }
}

void Incoming::unpack(std::int64_t bytes) {
  bytes = std::min(bytes, capacity_bytes());  // a truncated message reports its own length
  if (bytes <= 0) return;
  const ByteRange part = {0, bytes};
  if (to_.mixed) {
    copy_mixed(Direction::Receive, to_.elements->layout(), to_.address, data(), part);
    return;
  }
  if (method_ == Method::Pack) {
    plan_->run(to_.address, data(), part);
    return;
  }
  const int device = to_.place.device;
  if (method_ != Method::Staged) {
    const std::lock_guard lock(queue_mutex());
    ticket_ = plan_->enqueue(*queues_of(device).kernels, to_.address, buffer_.data(), part);
    return;
  }
  if (to_.elements->dense()) {
    copy_queue_ = true;
    const std::lock_guard lock(queue_mutex());
    ticket_ = queues_of(device).copies->copy(to_.address + to_.elements->layout().offset(),
                                             buffer_.data(), bytes);
    return;
  }
  const std::int64_t chunk = settings::number(settings::Id::chunk);
  const std::lock_guard lock(queue_mutex());
  Queues& queues = queues_of(device);
  Ticket copied;
  ticket_ = {};
  enqueue_all(queues, ticket_, copied, [&] {
    for (std::int64_t begin = 0; begin < bytes; begin += chunk) {
      const std::int64_t end = std::min(begin + chunk, bytes);
      copied = queues.copies->copy(packed_.data() + begin, buffer_.data() + begin, end - begin);
      queues.kernels->wait_for(*queues.copies, copied);
      ticket_ = plan_->enqueue(*queues.kernels, to_.address, packed_.data(), {begin, end});
    }
  });
}

bool Incoming::done() { return ticket_done(to_.place.device, copy_queue_, ticket_); }
void Incoming::wait() { ticket_wait(to_.place.device, copy_queue_, ticket_); }

}  // namespace strake::exchange
