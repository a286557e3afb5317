// fork(): the child gets a copy of the heap, and the two no longer see what the other one writes.
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cases.hpp"

namespace {

using namespace heap_test;

/// Blocks of a few sizes, all with a pattern.
class Blocks {
 public:
  explicit Blocks(std::uint64_t seed) {
    for (const std::size_t bytes : kSizes) blocks_.push_back(filled(bytes, seed));
  }
  void write(std::uint64_t seed) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) fill(blocks_[i], kSizes[i], seed);
  }
  [[nodiscard]] bool have(std::uint64_t seed) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (!is_filled(blocks_[i], kSizes[i], seed)) return false;
    }
    return true;
  }
  /// Resizes each, checks it, and frees it.
  void resize_and_free(std::uint64_t seed) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      for (const std::size_t bytes : {kSizes[i] + 10 * kKiB, kSizes[i] * 3, kSizes[i]}) {
        blocks_[i] = static_cast<char*>(realloc(blocks_[i], bytes));
        CHECK(is_filled(blocks_[i], kSizes[i], seed));
      }
      free(blocks_[i]);
    }
  }

 private:
  static constexpr std::size_t kSizes[] = {100 * kKiB, 300 * kKiB, 5 * kMiB, 17 * kMiB};
  std::vector<char*> blocks_;
};

/// A word from one process to the other.
class Signal {
 public:
  Signal() { CHECK_EQ(pipe(ends_), 0); }
  void give() const { CHECK_EQ(write(ends_[1], "", 1), 1); }
  void wait() const {
    char none = 0;
    CHECK_EQ(read(ends_[0], &none, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

CASE(fork_copies) {
  Blocks blocks(1);
  auto* const sparse = static_cast<char*>(calloc(kGiB, 1));
  sparse[kGiB / 2] = 5;
  const Signal parent_wrote;
  const Signal child_wrote;
  const pid_t child = fork();
  blocks.write(child == 0 ? 3 : 2);  // at once, in both
  if (child == 0) {
    parent_wrote.wait();
    CHECK(blocks.have(3));
    CHECK(sparse[kGiB / 2] == 5 && sparse[kGiB / 2 + 8192] == 0);
    CHECK(view().use == HeapUse::Forked);
    CHECK_EQ(view().descriptors[0], 0);
    CHECK(mappings() < 100);
    sparse[kGiB / 2] = 6;
    child_wrote.give();
    end_child();
  }
  parent_wrote.give();
  child_wrote.wait();
  CHECK(blocks.have(2));
  CHECK_EQ(int{sparse[kGiB / 2]}, 5);
  CHECK_EQ(status_of(child), 0);
  CHECK(view().use == HeapUse::On);
  CHECK(view().descriptors[0] > 0);
}

CASE(fork_keeps_bytes_of_that_time) {
  Blocks blocks(1);
  const Signal parent_wrote;
  const pid_t child = fork();
  if (child == 0) {
    parent_wrote.wait();
    CHECK(blocks.have(1));
    end_child();
  }
  blocks.write(2);
  parent_wrote.give();
  CHECK_EQ(status_of(child), 0);
}

CASE(children_allocate_and_free) {
  Blocks blocks(1);
  Blocks more(2);
  const pid_t child = fork();
  if (child == 0) {
    Blocks own(3);
    blocks.resize_and_free(1);
    CHECK(own.have(3));
    CHECK(more.have(2));
    void* const large = malloc(kMiB);
    CHECK(large != nullptr && !in_heap(large));
    auto* const zeroes = static_cast<char*>(calloc(5 * kMiB, 1));
    CHECK(is_zero(zeroes, 5 * kMiB));
    const pid_t grandchild = fork();
    more.write(grandchild == 0 ? 5 : 4);
    if (grandchild == 0) {
      CHECK(own.have(3));
      more.resize_and_free(5);
      end_child();
    }
    CHECK_EQ(status_of(grandchild), 0);
    CHECK(more.have(4));
    end_child();
  }
  CHECK_EQ(status_of(child), 0);
  blocks.resize_and_free(1);
  CHECK(more.have(2));
  CHECK(in_heap(malloc(kMiB)));
}

CASE(fork_takes_memory_for_touched_blocks_only) {
  auto* const sparse = static_cast<char*>(malloc(kGiB));
  char* const freed = filled(40 * kMiB, 1);  // its pages are kept
  sparse[0] = 1;
  free(freed);
  const pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(int{sparse[0]}, 1);
    CHECK(proc_bytes("/proc/self/status", "RssAnon") < 16 * kMiB);
    end_child();
  }
  CHECK_EQ(status_of(child), 0);
}

CASE(many_children_one_after_another) {
  Blocks blocks(1);
  for (std::uint64_t i = 2; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      CHECK(blocks.have(i - 1));
      end_child();
    }
    blocks.write(i);
    CHECK_EQ(status_of(child), 0);
  }
}

/// Threads that allocate and free until they are told to end.
class Busy {
 public:
  Busy() {
    for (std::uint64_t i = 0; i < 2; ++i) threads_.emplace_back([this, i] { run(i); });
  }
  ~Busy() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void run(std::uint64_t seed) const {
    std::uint64_t random = seed + 1;
    while (!ends_) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      const std::size_t bytes = 10 * kKiB + (random >> 33) % (3 * kMiB);
      char* const block = filled(bytes, random);
      CHECK(is_filled(block, bytes, random));
      free(block);
    }
  }

  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

CASE(threads_fork_while_others_allocate) {
  Blocks blocks(1);
  const Busy busy;
  const auto forks = [&blocks] {
    for (int i = 0; i < 8; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
        CHECK(blocks.have(1));
        blocks.write(2);
        char* const own = filled(3 * kMiB, 3);
        free(own);
        blocks.resize_and_free(2);
        end_child();
      }
      CHECK_EQ(status_of(child), 0);
    }
  };
  std::thread first(forks);
  std::thread second(forks);
  first.join();
  second.join();
  CHECK(blocks.have(1));
}

constinit char* g_watched = nullptr;

CASE(handlers_of_the_program_write_blocks) {
  g_watched = filled(kMiB, 1);
  CHECK_EQ(pthread_atfork(
               [] {
                 fill(g_watched, kMiB, 2);
                 free(malloc(2 * kMiB));
               },
               [] {
                 CHECK(is_filled(g_watched, kMiB, 2));
                 fill(g_watched, kMiB, 3);
                 free(malloc(2 * kMiB));
               },
               [] {
                 usleep(20000);  // the parent has gone on
                 CHECK(is_filled(g_watched, kMiB, 2));
                 fill(g_watched, kMiB, 4);
                 free(malloc(2 * kMiB));
               }),
           0);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    CHECK(is_filled(g_watched, kMiB, child == 0 ? 4 : 3));
    if (child == 0) {
      usleep(20000);
      CHECK(is_filled(g_watched, kMiB, 4));
      end_child();
    }
    CHECK_EQ(status_of(child), 0);
    CHECK(is_filled(g_watched, kMiB, 3));
  }
}

}  // namespace
