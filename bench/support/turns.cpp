#include "support/turns.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace bench {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{120'000};
constexpr milliseconds kLongestStep{64};

[[noreturn]] void fail(const char* what, const std::string& name) {
  std::fprintf(stderr, "%s %s: %s\n", what, name.c_str(), std::strerror(errno));
  std::exit(1);
}

// One for each rank of each job; whoever comes first makes it. Job 0 begins.
sem_t* open_semaphore(const std::string& ring, int job, int rank) {
  const std::string name = "/" + ring + "." + std::to_string(job) + "." + std::to_string(rank);
  sem_t* const semaphore = sem_open(name.c_str(), O_CREAT, 0600, job == 0 ? 1 : 0);
  if (semaphore == SEM_FAILED) fail("cannot open the semaphore", name);
  return semaphore;
}

bool comes_within(sem_t* semaphore, milliseconds time) {
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  const long ns = deadline.tv_nsec + static_cast<long>(time.count()) * 1'000'000;
  deadline.tv_sec += ns / 1'000'000'000;
  deadline.tv_nsec = ns % 1'000'000'000;
  return sem_timedwait(semaphore, &deadline) == 0;
}

}  // namespace

Turns& Turns::instance() {
  static Turns turns;
  return turns;
}

void Turns::join(int rank, void (*meanwhile)()) {
  meanwhile_ = meanwhile;
  const char* const ring = std::getenv("BENCH_TURNS");
  if (ring == nullptr) return;
  char name[64];
  int job = 0;
  int jobs = 0;
  if (std::sscanf(ring, "%63[^,],%d,%d", name, &job, &jobs) != 3 || jobs < 1 || job >= jobs) {
    errno = EINVAL;
    fail("BENCH_TURNS is NAME,JOB,JOBS, not", ring);
  }
  mine_ = open_semaphore(name, job, rank);
  theirs_ = open_semaphore(name, (job + 1) % jobs, rank);
  take();
  next();  // comes back once every other job has arrived
}

void Turns::next() {
  pass();
  take();
}

void Turns::leave() { pass(); }

void Turns::take() {
  if (mine_ == nullptr) return;
  milliseconds waited{0};
  for (milliseconds step{1}; !comes_within(mine_, step); step = std::min(2 * step, kLongestStep)) {
    waited += step;
    if (waited > kPatience) fail("no turn came:", std::getenv("BENCH_TURNS"));
    meanwhile_();
  }
}

void Turns::pass() {
  if (theirs_ != nullptr) sem_post(theirs_);
}

}  // namespace bench
