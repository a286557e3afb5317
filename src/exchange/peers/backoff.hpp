/// \file  How Strake waits: spins for a while, then yields the core, since ranks may outnumber
/// cores; and how often it tries again what may never succeed.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>

namespace strake::exchange {

/// STRAKE_SPIN_US, or by itself: 1 ms where the ranks of this node have a core each (yielding then
/// only lets strangers in), 20 us where they do not (the peer may need this very core).
[[nodiscard]] std::chrono::microseconds spin_time() noexcept;

/// Whether something is to be tried at the `time`-th of its occasions: the first, second, fourth,
/// eighth and so on. (std::has_single_bit is a call where the processor may lack an instruction.)
[[nodiscard]] constexpr bool ever_more_rarely(std::uint32_t time) noexcept {
  return (time & (time - 1)) == 0;
}

class Backoff {
 public:
  void pause() {
    if (yielding_) {
      sched_yield();
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    // The clock costs ~20 ns: looked at every 16th time.
    if ((++spins_ & 15U) != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (spins_ == 16) begin_ = now;
    yielding_ = now - begin_ > spin_time();
  }

 private:
  unsigned spins_ = 0;
  bool yielding_ = false;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace strake::exchange
