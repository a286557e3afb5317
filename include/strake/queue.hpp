/// \file  Work that was enqueued on a device, and whether it is done.
#pragma once

#include <cstdint>

namespace strake {

class Queue;

/// A point in a queue's work. A ticket that was never issued is done.
struct Ticket {
  /// Counts up as the queue's work completes; lives as long as the queue.
  const volatile std::uint64_t* progress = nullptr;
  std::uint64_t value = 0;
};

}  // namespace strake
