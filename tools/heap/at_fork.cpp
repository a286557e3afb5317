/// The parent waits inside of fork() until the child has copied what the heap has pages of: before,
/// what either writes would show in the other. vfork() and posix_spawn(), and with them system()
/// and popen(), call no handlers, and need none: the child runs in its parent's memory until it
/// starts another program.
#include "at_fork.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "descriptors.hpp"
#include "heap.hpp"

namespace strake::heap {
namespace {

/// \{ Under the heap's lock.
/// The child writes a byte when it has its copy. Its end closes the pipe, too, unless other
/// processes have inherited it.
constinit std::array<int, 2> g_pipe{-1, -1};
/// A pipe that is closed for the other one, where the process has all descriptors in use.
constinit std::array<int, 2> g_spare{-1, -1};
constinit FileId g_spare_file;
/// Whether the thread in fork() could be cancelled, and whether it has the lock by itself: a
/// handler of a signal forks, which has interrupted the thread in the heap. The blocks that there
/// are hold all the same.
constinit int g_cancellation = PTHREAD_CANCEL_ENABLE;
constinit bool g_interrupted = false;
/// Signals that the thread in fork() has blocked by itself. All are blocked meanwhile: no handler
/// forks within fork().
sigset_t g_blocked;
/// \}

void close_one(int& descriptor) noexcept {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

bool has_spare() noexcept {
  return g_spare[0] >= 0 && file_of(g_spare[0]) == g_spare_file &&
         file_of(g_spare[1]) == g_spare_file;
}

void keep_spare() noexcept {
  if (has_spare()) return;
  if (pipe2(g_spare.data(), O_CLOEXEC) == 0) {
    for (int& end : g_spare) end = moved_high(end);
    g_spare_file = file_of(g_spare[0]);
  } else {
    g_spare = {-1, -1};
  }
}

bool open_pipe() noexcept {
  if (pipe2(g_pipe.data(), O_CLOEXEC) == 0) return true;
  if (has_spare()) {
    for (int& end : g_spare) close_one(end);
    if (pipe2(g_pipe.data(), O_CLOEXEC) == 0) return true;
  }
  // The program may have lowered its limit, below the spare numbers.
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const rlimit most{limit.rlim_max, limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &most) != 0) return false;
  const bool is_open = pipe2(g_pipe.data(), O_CLOEXEC) == 0;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  return is_open;
}

/// The end of each handler.
void unlock() noexcept {
  const int cancellation = g_cancellation;
  const sigset_t blocked = g_blocked;
  if (!g_interrupted) g_heap.unlock();
  restore_cancellation(cancellation);
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

[[noreturn]] void end_child(std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(1);
}

void prepare() noexcept {
  const int kept = errno;
  sigset_t all;
  sigset_t blocked;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &blocked);
  const int cancellation = stop_cancellation();
  const bool interrupted = g_heap.is_locked_here();
  if (!interrupted) g_heap.lock();
  g_interrupted = interrupted;
  g_cancellation = cancellation;
  g_blocked = blocked;
  if (g_heap.is_shared() && !open_pipe()) g_pipe = {-1, -1};
  errno = kept;
}

void in_parent() noexcept {
  const int kept = errno;
  close_one(g_pipe[1]);
  char none = 0;
  while (g_pipe[0] >= 0 && read(g_pipe[0], &none, 1) < 0 && errno == EINTR) {
  }
  close_one(g_pipe[0]);
  keep_spare();
  unlock();
  errno = kept;
}

void in_child() noexcept {
  const int kept = errno;
  if (g_heap.is_shared()) {
    if (g_pipe[1] < 0)
      end_child("strake: fork: the process has no descriptor left to share its heap's copy by\n");
    if (!g_heap.make_private())
      end_child("strake: fork: there is no memory for the child's copy of the shared heap\n");
    // The child has both ends: a parent that was killed meanwhile ends no child by SIGPIPE.
    while (write(g_pipe[1], "", 1) < 0 && errno == EINTR) {
    }
    for (int& end : g_pipe) close_one(end);
  }
  unlock();
  errno = kept;
}

}  // namespace

bool watch_forks() noexcept {
  keep_spare();
  return pthread_atfork(prepare, in_parent, in_child) == 0;
}

}  // namespace strake::heap
