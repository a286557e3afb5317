/// \file  The queues of a device that transfers enqueue their copies in.
#pragma once

#include "device/backend.hpp"

namespace strake::exchange {

/// Two queues of one device: kernels in one, copies in the other, so that a piece is copied while
/// the next is packed.
struct Queues {
  Queue* kernels = nullptr;
  Queue* copies = nullptr;
  Queues* next = nullptr;
};

/// A pair that no other thread enqueues in meanwhile. One thread always gets the same pair; each
/// thread that enqueues at the same time as another gets one more.
class BorrowedQueues {
 public:
  /// Both of that order.
  /// \throws Unsupported  no device back end is loaded; OutOfMemory; CudaError (the device was
  /// reset, too)
  BorrowedQueues(int device, QueueOrder order);
  ~BorrowedQueues();
  BorrowedQueues(const BorrowedQueues&) = delete;
  BorrowedQueues& operator=(const BorrowedQueues&) = delete;
  [[nodiscard]] Queue& kernels() const noexcept { return *queues_->kernels; }
  [[nodiscard]] Queue& copies() const noexcept { return *queues_->copies; }

 private:
  int device_;
  QueueOrder order_;
  Queues* queues_ = nullptr;
};

}  // namespace strake::exchange
