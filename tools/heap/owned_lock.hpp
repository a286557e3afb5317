/// \file  A lock of threads that a handler of a signal may ask whether its thread has it.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>

namespace strake::heap {

/// One word says that the lock is taken and by whom, so that a handler finds its thread inside or
/// outside, never between. (With a mutex and its owner beside it, a handler that interrupts the
/// thread between the two waits for its own thread.)
class OwnedLock {
 public:
  /// Not for the thread that has it. ~10 ns where it is free.
  void lock() noexcept {
    const std::uint64_t mine = self();
    std::uint64_t found = 0;
    if (owner_.compare_exchange_strong(found, mine, std::memory_order_acquire)) return;
    // A thread that had to wait sets kAwaited when it takes the lock: others may sleep, too, and
    // their number is not kept.
    while (true) {
      if (found == 0) {
        if (owner_.compare_exchange_weak(found, mine | kAwaited, std::memory_order_acquire)) return;
      } else if ((found & kAwaited) != 0 ||
                 owner_.compare_exchange_weak(found, found | kAwaited, std::memory_order_relaxed)) {
        wait_while(found | kAwaited);
        found = owner_.load(std::memory_order_relaxed);
      }
    }
  }
  void unlock() noexcept {
    if ((owner_.exchange(0, std::memory_order_release) & kAwaited) != 0) wake_one();
  }
  /// Whether the calling thread has the lock. A handler of a signal may ask.
  [[nodiscard]] bool is_mine() const noexcept {
    return (owner_.load(std::memory_order_relaxed) & ~kAwaited) == self();
  }

 private:
  static_assert(std::endian::native == std::endian::little, "a futex is the owner's lower half");
  static constexpr std::uint64_t kAwaited = 1;  // descriptors of threads have even addresses

  [[nodiscard]] static std::uint64_t self() noexcept { return std::uint64_t{pthread_self()}; }
  void wait_while(std::uint64_t owner) noexcept {
    const int kept = errno;
    (void)syscall(SYS_futex, &owner_, FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(owner),
                  nullptr);
    errno = kept;
  }
  void wake_one() noexcept {
    const int kept = errno;
    (void)syscall(SYS_futex, &owner_, FUTEX_WAKE_PRIVATE, 1);
    errno = kept;
  }

  std::atomic<std::uint64_t> owner_{0};
};

}  // namespace strake::heap
