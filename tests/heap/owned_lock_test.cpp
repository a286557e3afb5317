/// \file  The shared heap's lock by itself. The heap around it has fork_cases.cpp and the others.
#include "heap/owned_lock.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace strake::heap {
namespace {

/// A process that waits for a lock for ever is ended after this time: SIGALRM. [s]
constexpr unsigned kMostSeconds = 60;

class OwnedLockTest : public testing::Test {
 protected:
  void SetUp() override { alarm(kMostSeconds); }
  void TearDown() override { alarm(0); }
};

/// A thread that takes the lock once.
class Waiter {
 public:
  explicit Waiter(OwnedLock& lock) : thread_([this, &lock] { run(lock); }) {}
  /// Returns once the thread waits in the kernel. The lock has to be taken.
  void wait_until_asleep() const {
    while (!is_asleep()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  /// Waits for the thread's end, and checks what it has seen.
  void join() {
    thread_.join();
    EXPECT_TRUE(was_owner_);
    EXPECT_EQ(errno_after_, kErrno);
  }

 private:
  static constexpr int kErrno = E2BIG;  // no futex call sets it

  void run(OwnedLock& lock) {
    number_ = static_cast<pid_t>(syscall(SYS_gettid));
    errno = kErrno;
    lock.lock();
    errno_after_ = errno;
    was_owner_ = lock.is_mine();
    lock.unlock();
  }
  /// Whether the kernel's line of the thread, "123 (name) S …", says that it sleeps.
  [[nodiscard]] bool is_asleep() const {
    std::ifstream file("/proc/self/task/" + std::to_string(number_) + "/stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = line.rfind(')');
    return name_end != std::string::npos && line.substr(name_end, 3) == ") S";
  }

  std::atomic<pid_t> number_{0};  // no thread has this one
  bool was_owner_ = false;
  int errno_after_ = 0;
  std::thread thread_;
};

TEST_F(OwnedLockTest, threads_take_turns) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  OwnedLock lock;
  std::int64_t count = 0;  // the lock alone protects it
  std::atomic<bool> is_inside{false};
  std::atomic<int> overlaps{0};
  const auto run = [&] {
    for (int i = 0; i < kRounds; ++i) {
      lock.lock();
      if (is_inside.exchange(true, std::memory_order_relaxed)) ++overlaps;
      ++count;
      if (i % 16 == 0) sched_yield();  // others find the lock taken, and sleep
      is_inside.store(false, std::memory_order_relaxed);
      lock.unlock();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(count, std::int64_t{kThreads} * kRounds);
}

TEST_F(OwnedLockTest, is_of_the_thread_that_took_it) {
  OwnedLock lock;
  EXPECT_FALSE(lock.is_mine());
  lock.lock();
  EXPECT_TRUE(lock.is_mine());
  std::thread([&lock] { EXPECT_FALSE(lock.is_mine()); }).join();
  lock.unlock();
  EXPECT_FALSE(lock.is_mine());
}

TEST_F(OwnedLockTest, each_of_several_waiters_is_woken) {
  OwnedLock lock;
  lock.lock();
  std::array<Waiter, 3> waiters{Waiter(lock), Waiter(lock), Waiter(lock)};
  for (const Waiter& waiter : waiters) waiter.wait_until_asleep();
  EXPECT_TRUE(lock.is_mine());
  lock.unlock();
  for (Waiter& waiter : waiters) waiter.join();
  EXPECT_FALSE(lock.is_mine());
}

/// \{ The handler does as at_fork.cpp: it takes the lock only if its thread has not.
constinit OwnedLock g_lock;
constinit std::atomic<bool> g_is_owner{false};  // from after lock() to before unlock()
constinit std::atomic<int> g_found_inside{0};
constinit std::atomic<int> g_found_outside{0};
constinit std::atomic<int> g_mistakes{0};
/// \}

void on_signal(int /*number*/) {
  if (g_lock.is_mine()) {
    ++g_found_inside;
    return;
  }
  if (g_is_owner) ++g_mistakes;
  g_lock.lock();
  g_lock.unlock();
  ++g_found_outside;
}

/// Handles SIGUSR1 until the end of the scope, and begins to count.
class Handled {
 public:
  Handled() {
    g_found_inside = g_found_outside = g_mistakes = 0;
    struct sigaction mine {};
    mine.sa_handler = on_signal;
    EXPECT_EQ(sigaction(SIGUSR1, &mine, &before_), 0);
  }
  ~Handled() { EXPECT_EQ(sigaction(SIGUSR1, &before_, nullptr), 0); }
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

 private:
  struct sigaction before_ {};
};

TEST_F(OwnedLockTest, a_handler_knows_whether_its_thread_has_it) {
  const Handled handled;
  g_lock.lock();
  raise(SIGUSR1);
  EXPECT_EQ(g_found_inside, 1);
  EXPECT_EQ(g_found_outside, 0);
  EXPECT_TRUE(g_lock.is_mine());
  g_lock.unlock();
  raise(SIGUSR1);
  EXPECT_EQ(g_found_inside, 1);
  EXPECT_EQ(g_found_outside, 1);
  EXPECT_FALSE(g_lock.is_mine());
}

TEST_F(OwnedLockTest, a_handler_never_waits_for_its_own_thread) {
  constexpr int kSignals = 1000;
  const Handled handled;
  std::atomic<bool> ends{false};
  std::thread owner([&ends] {
    while (!ends) {
      g_lock.lock();
      g_is_owner = true;
      g_is_owner = false;
      g_lock.unlock();
    }
  });
  const auto found = [] { return g_found_inside + g_found_outside; };
  for (int i = 0; i < kSignals; ++i) {
    EXPECT_EQ(pthread_kill(owner.native_handle(), SIGUSR1), 0);
    g_lock.lock();  // at times the signal finds its thread waiting
    g_lock.unlock();
    while (found() <= i) sched_yield();
  }
  ends = true;
  owner.join();
  EXPECT_EQ(found(), kSignals);
  EXPECT_EQ(g_mistakes, 0);
}

/// The number of the first thing that is wrong with the lock in a child that was made by the
/// lock's owner; 0: none.
int fault_in_child(OwnedLock& lock) {
  if (!lock.is_mine()) return 1;
  lock.unlock();
  if (lock.is_mine()) return 2;
  lock.lock();
  if (!lock.is_mine()) return 3;
#ifdef __SANITIZE_THREAD__
  return 0;  // ThreadSanitizer ends a child of several threads that starts one
#else
  bool was_owner = false;
  std::thread other([&] {
    lock.lock();
    was_owner = lock.is_mine();
    lock.unlock();
  });
  lock.unlock();
  other.join();
  return was_owner ? 0 : 4;
#endif
}

TEST_F(OwnedLockTest, a_child_of_its_owner_has_one_of_its_own) {
  OwnedLock lock;
  lock.lock();
  Waiter waiter(lock);  // the child gets the mark that somebody waits, but no waiter
  waiter.wait_until_asleep();
  const pid_t child = fork();
  if (child == 0) {
    alarm(kMostSeconds);
    _exit(fault_in_child(lock));
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(lock.is_mine());
  lock.unlock();
  waiter.join();
}

}  // namespace
}  // namespace strake::heap
