#include "exchange/staging.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "copy/device_backend.hpp"
#include "exchange/backoff.hpp"
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

/// A queue serves one thread at a time; this lock is held for a call, never across a wait.
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
    queues.kernels = backend->make_queue(device);
    queues.copies = backend->make_queue(device);
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

bool on_host(Place place) {
  return place.kind == MemoryKind::Host || place.kind == MemoryKind::Pinned;
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
  if (on_host(typed.place) || typed.mixed) throw;
  log::warn("{} instead of {} for {} bytes: {}", name_of(next), name_of(method),
            typed.shape->size_bytes(), reason.what());
  return next;
}

bool needs_device_buffer(Method method, const Shape& shape) {
  return method == Method::Staged && !shape.dense();
}

}  // namespace

Outgoing::Outgoing(const Typed& from, Method method)
    : method_(method), bytes_(from.shape->size_bytes()) {
  try {
    start(from);
  } catch (const OutOfMemory& error) {
    method_ = fall_back(method, from, error);
    start(from);
  }
}

void Outgoing::start(const Typed& from) {
  const std::int64_t bytes = bytes_;
  buffer_ = PoolBlock(from.mixed ? kHost : wire_place(method_, from.place), bytes);
  if (from.mixed) {
    copy_mixed(Direction::Send, from.shape->layout(), from.address, buffer_.data(),
               ByteRange::all());
    return;
  }
  if (method_ == Method::Pack) {
    from.shape->plan(Direction::Send, kHost, kHost).run(buffer_.data(), from.address);
    return;
  }
  device_ = from.place.device;
  if (method_ != Method::Staged) {
    const CopyPlan& plan = from.shape->plan(Direction::Send, from.place, buffer_.place());
    const std::lock_guard lock(queue_mutex());
    ticket_ = plan.enqueue(*queues_of(device_).kernels, buffer_.data(), from.address);
    return;
  }
  copy_queue_ = true;
  if (from.shape->dense()) {
    const std::lock_guard lock(queue_mutex());
    ticket_ = queues_of(device_).copies->copy(buffer_.data(),
                                              from.address + from.shape->layout().offset(), bytes);
    return;
  }
  packed_ = PoolBlock({MemoryKind::Device, device_}, bytes);
  const CopyPlan& plan = from.shape->plan(Direction::Send, from.place, packed_.place());
  const std::int64_t chunk = settings::number(settings::Id::chunk);
  const std::lock_guard lock(queue_mutex());
  Queues& queues = queues_of(device_);
  for (std::int64_t begin = 0; begin < bytes; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, bytes);
    const Ticket packed = plan.enqueue(*queues.kernels, packed_.data(), from.address, {begin, end});
    queues.copies->wait_for(*queues.kernels, packed);
    ticket_ = queues.copies->copy(buffer_.data() + begin, packed_.data() + begin, end - begin);
  }
}

bool Outgoing::ready() { return ticket_done(device_, copy_queue_, ticket_); }
void Outgoing::wait() { ticket_wait(device_, copy_queue_, ticket_); }

Incoming::Incoming(const Typed& to, Method method) : to_(to), method_(method) {
  const std::int64_t bytes = to.shape->size_bytes();
  const auto acquire = [&] {
    buffer_ = PoolBlock(to.mixed ? kHost : wire_place(method_, to.place), bytes);
    if (!to.mixed && needs_device_buffer(method_, *to.shape)) {
      packed_ = PoolBlock({MemoryKind::Device, to.place.device}, bytes);
    }
  };
  try {
    acquire();
  } catch (const OutOfMemory& error) {
    method_ = fall_back(method, to, error);
    acquire();
  }
}

void Incoming::unpack(std::int64_t bytes) {
  if (bytes <= 0) return;
  const ByteRange part = {0, bytes};
  if (to_.mixed) {
    copy_mixed(Direction::Receive, to_.shape->layout(), to_.address, buffer_.data(), part);
    return;
  }
  if (method_ == Method::Pack) {
    to_.shape->plan(Direction::Receive, kHost, kHost).run(to_.address, buffer_.data(), part);
    return;
  }
  const int device = to_.place.device;
  if (method_ != Method::Staged) {
    const CopyPlan& plan = to_.shape->plan(Direction::Receive, to_.place, buffer_.place());
    const std::lock_guard lock(queue_mutex());
    ticket_ = plan.enqueue(*queues_of(device).kernels, to_.address, buffer_.data(), part);
    return;
  }
  if (to_.shape->dense()) {
    copy_queue_ = true;
    const std::lock_guard lock(queue_mutex());
    ticket_ = queues_of(device).copies->copy(to_.address + to_.shape->layout().offset(),
                                             buffer_.data(), bytes);
    return;
  }
  const CopyPlan& plan = to_.shape->plan(Direction::Receive, to_.place, packed_.place());
  const std::int64_t chunk = settings::number(settings::Id::chunk);
  const std::lock_guard lock(queue_mutex());
  Queues& queues = queues_of(device);
  for (std::int64_t begin = 0; begin < bytes; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, bytes);
    const Ticket copied =
        queues.copies->copy(packed_.data() + begin, buffer_.data() + begin, end - begin);
    queues.kernels->wait_for(*queues.copies, copied);
    ticket_ = plan.enqueue(*queues.kernels, to_.address, packed_.data(), {begin, end});
  }
}

bool Incoming::done() { return ticket_done(to_.place.device, copy_queue_, ticket_); }
void Incoming::wait() { ticket_wait(to_.place.device, copy_queue_, ticket_); }

}  // namespace strake::exchange
