#include "exchange/queues.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "strake/error.hpp"

namespace strake::exchange {
namespace {

/// The pairs that nobody borrows, by device.
struct Idle {
  std::mutex mutex;
  std::map<int, Queues*> first;
};
Idle& idle() {
  static auto& made = *new Idle;
  return made;
}

Queues* take(int device) {
  const std::lock_guard lock(idle().mutex);
  Queues*& first = idle().first[device];
  Queues* const taken = first;
  if (taken != nullptr) first = std::exchange(taken->next, nullptr);
  return taken;
}

Queues* make(int device) {
  DeviceBackend* const backend = device_backend();
  if (backend == nullptr) {
    throw Unsupported("device memory, but no device back end could be loaded");
  }
  std::unique_ptr<Queue> kernels = backend->make_queue(device);
  std::unique_ptr<Queue> copies = backend->make_queue(device);
  auto queues = std::make_unique<Queues>();
  queues->kernels = kernels.release();
  queues->copies = copies.release();
  return queues.release();
}

}  // namespace

BorrowedQueues::BorrowedQueues(int device) : device_(device), queues_(take(device)) {
  if (queues_ == nullptr) queues_ = make(device);
}

BorrowedQueues::~BorrowedQueues() {
  const std::lock_guard lock(idle().mutex);
  Queues*& first = idle().first[device_];  // take() has made the entry
  queues_->next = first;
  first = queues_;
}

}  // namespace strake::exchange
