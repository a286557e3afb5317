// fork() where descriptors are missing or not the heap's, where children are killed, and beside
// other ways to start processes.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "cases.hpp"

extern char** environ;

namespace {

using namespace heap_test;
using std::chrono::steady_clock;

/// Forks; the child must find the block as it is, and the parent's next writes must not show there.
void check_fork(char* block, std::size_t bytes, std::uint64_t seed) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(20000);
    CHECK(is_filled(block, bytes, seed));
    std::memset(block, 0, bytes);
    end_child();
  }
  CHECK(child > 0);
  std::memset(block, 1, bytes);
  CHECK_EQ(status_of(child), 0);
  CHECK_EQ(int{block[bytes / 2]}, 1);
  fill(block, bytes, seed);
}

int opened(const char* path) { return open(path, O_RDONLY | O_CLOEXEC); }

char* g_forked_block = nullptr;
constinit std::atomic<int> g_handler_forks{0};
constinit std::atomic<int> g_most_forks{200};

/// One signal, and no further one before its handler has ended: however long that takes, the thread
/// goes on in between.
void signal_soon() {
  constexpr int kMicroseconds = 300;
  const itimerval once{{0, 0}, {0, kMicroseconds}};
  CHECK_EQ(setitimer(ITIMER_REAL, &once, nullptr), 0);
}
void fork_in_handler(int) {
  const pid_t child = fork();
  if (child == 0) _exit(is_filled(g_forked_block, kMiB, 9) ? 0 : 1);
  CHECK_EQ(status_of(child), 0);
  if (++g_handler_forks < g_most_forks) signal_soon();
}

/// A signal interrupts the thread wherever it is: in the heap, too.
CASE(handlers_of_signals_fork) {
  g_forked_block = filled(kMiB, 9);
  struct sigaction action {};
  action.sa_handler = fork_in_handler;
  action.sa_flags = SA_RESTART;
  CHECK_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  signal_soon();
  while (g_handler_forks < g_most_forks) {
    free(realloc(calloc(1, 600 * kKiB), 3 * kMiB));
    free(malloc(70 * kMiB));
    for (int i = 0; i < 1000; ++i) free(malloc(600 * kKiB));  // asks the system for nothing
  }
  CHECK(is_filled(g_forked_block, kMiB, 9));
  // In fork() itself, which copies for some milliseconds.
  char* const long_block = filled(60 * kMiB, 3);
  g_most_forks += 30;
  signal_soon();
  while (g_handler_forks < g_most_forks) check_fork(long_block, 60 * kMiB, 3);
  check_fork(g_forked_block, kMiB, 9);
  CHECK(in_heap(malloc(kMiB)));
}

CASE(fork_with_all_descriptors_in_use) {
  const rlimit limit{600, 600};
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  char* const block = filled(3 * kMiB, 1);
  std::vector<int> open_ones;
  for (int each = 0; (each = opened("/dev/null")) >= 0;) open_ones.push_back(each);
  CHECK(open_ones.size() > 500);
  for (int i = 0; i < 3; ++i) check_fork(block, 3 * kMiB, 1);
  close(open_ones.back());
  for (int i = 0; i < 3; ++i) check_fork(block, 3 * kMiB, 1);
}

CASE(fork_under_a_lowered_limit_of_descriptors) {
  char* const block = filled(3 * kMiB, 1);
  rlimit limit{};
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 20;
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  while (opened("/dev/null") >= 0) {
  }
  for (int i = 0; i < 3; ++i) check_fork(block, 3 * kMiB, 1);
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  CHECK_EQ(limit.rlim_cur, 20U);
}

/// A program closes all descriptors but the first three, as daemons do, and opens its own files,
/// some of them under the numbers that the heap had.
CASE(program_closes_the_heaps_descriptors) {
  const rlimit limit{700, 700};
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  char* const block = filled(3 * kMiB, 1);
  CHECK(in_heap(block));
  const int of_heap = view().descriptors[0] - 1;
  CHECK(of_heap >= 3);
  for (int each = 3; each < 700; ++each) close(each);
  char name[] = "heap-file-XXXXXX";
  const int file = mkstemp(name);
  CHECK_EQ(file, 3);
  CHECK_EQ(unlink(name), 0);
  const std::string text(64 * kKiB, 'x');
  CHECK_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  while (dup(file) >= 0) {
  }
  // The child can't get its copy, and says so; the program's files must not be closed for it.
  const pid_t refused = fork();
  if (refused == 0) _exit(0);
  CHECK_EQ(WEXITSTATUS(status_of(refused)), 1);
  constexpr int kLast = 690;  // a fork needs two of the others
  for (int each = kLast; each < 700; ++each) close(each);
  struct stat expected {};
  CHECK_EQ(fstat(file, &expected), 0);

  check_fork(block, 3 * kMiB, 1);
  std::vector<char*> grown;
  for (int i = 0; i < 10; ++i) grown.push_back(filled(30 * kMiB, 10));
  CHECK(!in_heap(grown.back()));
  CHECK(declined(HeapDeclined::Memory) > 0);
  check_fork(block, 3 * kMiB, 1);
  for (char* each : grown) {
    CHECK(is_filled(each, 30 * kMiB, 10));
    free(each);
  }
  for (int each = 3; each < kLast; ++each) {
    struct stat found {};
    CHECK_EQ(fstat(each, &found), 0);
    CHECK_EQ(found.st_ino, expected.st_ino);
    CHECK_EQ(found.st_size, static_cast<off_t>(text.size()));
  }
  free(block);
}

/// Kills each child as soon as it is there.
class Killer {
 public:
  Killer() : thread_([this] { run(); }) {}
  ~Killer() {
    ends_ = true;
    thread_.join();
  }

 private:
  void run() const {
    const std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/children";
    while (!ends_) {
      const int file = opened(path.c_str());
      char text[64] = "";
      if (read(file, text, sizeof text - 1) > 0) kill(std::atoi(text), SIGKILL);
      close(file);
    }
  }

  std::atomic<bool> ends_{false};
  std::thread thread_;
};

CASE(children_that_are_killed_while_they_copy) {
  const std::size_t bytes = affordable(256 * kMiB);
  char* const block = filled(bytes, 1);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  int killed_inside = 0;
  {
    const Killer killer;
    for (int i = 0; i < 5; ++i) {
      const pid_t child = fork();  // returns, or the watchdog ends the case
      if (child == 0) {
        if (write(ends[1], "", 1) == 1) pause();
        _exit(0);
      }
      CHECK_EQ(status_of(child), SIGKILL);
      char none = 0;
      CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
      killed_inside += read(ends[0], &none, 1) != 1;
    }
  }
  std::printf("%d of 5 children were killed while they copied\n", killed_inside);
  CHECK(is_filled(block, bytes, 1));
  CHECK(in_heap(malloc(kMiB)));
  check_fork(block, kMiB, 1);
  if (killed_inside == 0) skip("no child was killed in time");
}

void* forks_when_cancelled(void* block) {
  pthread_cancel(pthread_self());
  check_fork(static_cast<char*>(block), kMiB, 1);
  void* const more = malloc(500 * kMiB);
  free(more);
  pthread_testcancel();
  return nullptr;
}

/// fork() and malloc() are no places where a thread is cancelled.
CASE(cancelled_threads_fork) {
  char* const block = filled(kMiB, 1);
  pthread_t thread{};
  CHECK_EQ(pthread_create(&thread, nullptr, forks_when_cancelled, block), 0);
  void* result = nullptr;
  CHECK_EQ(pthread_join(thread, &result), 0);
  CHECK(result == PTHREAD_CANCELED || failures() > 0);
  CHECK(in_heap(malloc(kMiB)));
}

void* allocates_when_cancelled(void*) {
  pthread_cancel(pthread_self());
  void* const block = malloc(kMiB);
  const bool right = in_heap(block);
  free(block);
  return right ? block : nullptr;
}

CASE(cancelled_threads_allocate) {
  pthread_t thread{};
  CHECK_EQ(pthread_create(&thread, nullptr, allocates_when_cancelled, nullptr), 0);
  void* result = nullptr;
  CHECK_EQ(pthread_join(thread, &result), 0);
  CHECK(in_heap(result) && result != PTHREAD_CANCELED);
  CHECK(in_heap(malloc(kMiB)));
}

/// Starts a process as posix_spawn() does, that waits before it runs its program.
void start_waiting(const char* fifo) {
  const pid_t child = vfork();
  if (child == 0) _exit(open(fifo, O_RDONLY) >= 0 ? 0 : 1);
  CHECK_EQ(status_of(child), 0);
}

/// A process that another thread starts while this one is in fork() inherits all descriptors. It
/// must not matter how long it takes until it runs its program.
CASE(fork_beside_processes_that_wait_to_begin) {
  // The kernel copies the page tables of private memory in fork(): for so much, several ms.
  const std::size_t tables = affordable(kGiB);
  void* const memory =
      mmap(nullptr, tables, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  (void)madvise(memory, tables, MADV_NOHUGEPAGE);
  std::memset(memory, 1, tables);
  char* const block = filled(3 * kMiB, 1);
  char name[] = "heap-fifo-XXXXXX";
  CHECK(mkdtemp(name) != nullptr);
  const std::string fifo = std::string(name) + "/fifo";
  CHECK_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::atomic<bool> begun{false};
  std::atomic<int> ended{0};
  constexpr int kStarters = 6;
  std::vector<std::thread> starters;
  for (unsigned i = 0; i < kStarters; ++i) {
    starters.emplace_back([&, i] {
      while (!begun) std::this_thread::yield();
      usleep(300 * i);
      start_waiting(fifo.c_str());
      ++ended;
    });
  }
  std::atomic<bool> returned{false};
  std::thread opener([&] {
    const auto latest = steady_clock::now() + std::chrono::seconds(10);
    while (!returned && steady_clock::now() < latest) usleep(1000);
    CHECK(returned);
    const int file = open(fifo.c_str(), O_RDWR | O_CLOEXEC);
    while (ended < kStarters) usleep(1000);
    close(file);
  });
  begun = true;
  const pid_t child = fork();
  if (child == 0) _exit(is_filled(block, 3 * kMiB, 1) ? 0 : 1);
  returned = true;
  CHECK_EQ(status_of(child), 0);
  for (std::thread& starter : starters) starter.join();
  opener.join();
  CHECK_EQ(unlink(fifo.c_str()), 0);
  CHECK_EQ(rmdir(name), 0);
}

CASE(other_ways_to_start_programs) {
  char* const block = filled(3 * kMiB, 1);
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 3", static_cast<char*>(nullptr));
    _exit(9);
  }
  CHECK_EQ(WEXITSTATUS(status_of(child)), 3);
  char shell[] = "/bin/sh";
  char flag[] = "-c";
  char command[] = "exit 4";
  char* const arguments[] = {shell, flag, command, nullptr};
  pid_t spawned = -1;
  CHECK_EQ(posix_spawn(&spawned, shell, nullptr, nullptr, arguments, environ), 0);
  CHECK_EQ(WEXITSTATUS(status_of(spawned)), 4);
  CHECK_EQ(WEXITSTATUS(std::system("exit 5")), 5);
  FILE* const from = popen("echo words", "r");
  char text[16] = "";
  CHECK(from != nullptr && std::fgets(text, sizeof text, from) != nullptr);
  CHECK_EQ(std::string(text), "words\n");
  CHECK_EQ(pclose(from), 0);
  // The heap's descriptors end with the program that has them.
  CHECK_EQ(std::system("! ls -l /proc/self/fd | grep memfd:strake-heap"), 0);
  CHECK(is_filled(block, 3 * kMiB, 1));
  CHECK(view().use == HeapUse::On);
  free(block);
}

}  // namespace
