/// The parent waits inside of fork() until the child has copied what the heap has pages of: before,
/// what either writes would show in the other. vfork() and posix_spawn(), and with them system()
/// and popen(), call no handlers, and need none: the child runs in its parent's memory until it
/// starts another program.
#include "at_fork.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "descriptors.hpp"
#include "heap.hpp"

namespace strake::heap {
namespace {

/// The child holds the end for writing, and closes it when it has its copy, or ends. Under the
/// heap's lock.
constinit std::array<int, 2> g_pipe{-1, -1};
/// Two descriptors that are kept for the pipe, where the process has all others in use.
constinit std::array<int, 2> g_spare{-1, -1};

void close_one(int& descriptor) noexcept {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

void keep_spare() noexcept {
  for (int& spare : g_spare) {
    if (spare < 0) spare = moved_high(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
}

[[noreturn]] void end_child(std::string_view text) noexcept {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(1);
  _exit(1);
}

void prepare() noexcept {
  const int kept = errno;
  g_heap.lock();
  if (g_heap.is_shared() && pipe2(g_pipe.data(), O_CLOEXEC) != 0) {
    for (int& spare : g_spare) close_one(spare);
    if (pipe2(g_pipe.data(), O_CLOEXEC) != 0) g_pipe = {-1, -1};
  }
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
  g_heap.unlock();
  errno = kept;
}

void in_child() noexcept {
  const int kept = errno;
  if (g_heap.is_shared()) {
    if (g_pipe[1] < 0)
      end_child("strake: fork: the process has no descriptor left to share its heap's copy by\n");
    close_one(g_pipe[0]);
    if (!g_heap.make_private())
      end_child("strake: fork: there is no memory for the child's copy of the shared heap\n");
    close_one(g_pipe[1]);
  }
  g_heap.unlock();
  errno = kept;
}

}  // namespace

bool watch_forks() noexcept {
  keep_spare();
  return pthread_atfork(prepare, in_parent, in_child) == 0;
}

}  // namespace strake::heap
