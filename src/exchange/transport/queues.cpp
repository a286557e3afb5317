#include "exchange/transport/queues.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

/// The pairs that nobody borrows.
struct Idle {
  std::mutex mutex;
  std::map<std::pair<int, QueueOrder>, Queues*> first;
};
Idle& idle() { return ProcessState::part<Idle>(); }

Queues* take(int device, QueueOrder order) {
  const std::lock_guard lock(idle().mutex);
  Queues*& first = idle().first[{device, order}];
  Queues* const taken = first;
  if (taken != nullptr) first = std::exchange(taken->next, nullptr);
  return taken;
}

Queues* make(int device, QueueOrder order) {
  DeviceBackend& backend = required_device_backend();
  std::unique_ptr<Queue> kernels = backend.make_queue(device, order);
  std::unique_ptr<Queue> copies = backend.make_queue(device, order);
  auto queues = std::make_unique<Queues>();
  queues->kernels = kernels.release();
  queues->copies = copies.release();
  return queues.release();
}

}  // namespace

BorrowedQueues::BorrowedQueues(int device, QueueOrder order) : device_(device), order_(order) {
  required_device_backend().require_intact(device);
  queues_ = take(device, order);
  if (queues_ == nullptr) queues_ = make(device, order);
}

BorrowedQueues::~BorrowedQueues() {
  const std::lock_guard lock(idle().mutex);
  Queues*& first = idle().first[{device_, order_}];  // take() has made the entry
  queues_->next = first;
  first = queues_;
}

}  // namespace strake::exchange
