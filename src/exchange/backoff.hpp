/// \file  How Strake waits: spins for STRAKE_SPIN_US, then yields the core, since ranks may
/// outnumber cores.
#pragma once

#include <sched.h>

#include <chrono>

#include "settings/settings.hpp"

namespace strake::exchange {

class Backoff {
 public:
  void pause() {
    if (yielding_) {
      sched_yield();
      return;
    }
    __builtin_ia32_pause();
    // The clock costs ~20 ns: looked at every 16th time.
    if ((++spins_ & 15U) != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (spins_ == 16) begin_ = now;
    yielding_ = now - begin_ > std::chrono::microseconds(settings::number(settings::Id::spin_us));
  }

 private:
  unsigned spins_ = 0;
  bool yielding_ = false;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace strake::exchange
