// Processes and blocks that the heap is not for: the program goes on with its own allocator.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>

#include "cases.hpp"

namespace {

using namespace heap_test;

/// HEAP_EXPECTED is the number of a HeapUse.
CASE(use_is_as_expected) {
  const char* const expected = std::getenv("HEAP_EXPECTED");
  CHECK(expected != nullptr);
  CHECK_EQ(static_cast<int>(view().use.load()), std::atoi(expected == nullptr ? "-1" : expected));
  const bool on = view().use == HeapUse::On;
  // In a program whose addresses are fixed the address is one of the program.
  void* (*volatile const allocate)(std::size_t) = &malloc;
  char* block = static_cast<char*>(allocate(kMiB));
  CHECK(block != nullptr);
  CHECK_EQ(in_heap(block), on);
  fill(block, kMiB, 1);
  block = static_cast<char*>(realloc(block, 3 * kMiB));
  CHECK_EQ(in_heap(block), on);
  CHECK(is_filled(block, kMiB, 1));
  free(block);
  block = static_cast<char*>(calloc(3, kMiB));
  CHECK_EQ(in_heap(block), on);
  CHECK(is_zero(block, 3 * kMiB));
  free(block);
  void* aligned = nullptr;
  CHECK_EQ(posix_memalign(&aligned, 4096, kMiB), 0);
  CHECK_EQ(in_heap(aligned), on);
  free(aligned);
  CHECK_EQ(view().base != nullptr, on);
  CHECK_EQ(view().blocks, on ? 4U : 0U);
  CHECK_EQ(declined(HeapDeclined::Memory) + declined(HeapDeclined::Full), 0U);
}

void check_comes_from_elsewhere(HeapDeclined why) {
  const std::uint64_t before = declined(why);
  auto* const block = static_cast<char*>(malloc(kMiB));
  CHECK(block != nullptr && !in_heap(block));
  CHECK_EQ(declined(why), before + 1);
  fill(block, kMiB, 2);
  auto* const zeroes = static_cast<char*>(calloc(kMiB, 1));
  CHECK(zeroes != nullptr && !in_heap(zeroes));
  CHECK(is_zero(zeroes, kMiB));
  auto* const longer = static_cast<char*>(realloc(block, 2 * kMiB));
  CHECK(is_filled(longer, kMiB, 2));
  CHECK_EQ(declined(why), before + 2);  // realloc leaves it to the allocator that has the block
  free(longer);
  free(zeroes);
}

bool refuse_memfd_create() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

CASE(no_memory_file) {
  if (!refuse_memfd_create()) skip("the kernel takes no seccomp filter");
  CHECK(view().use == HeapUse::On);
  check_comes_from_elsewhere(HeapDeclined::Memory);
  check_comes_from_elsewhere(HeapDeclined::Memory);
  CHECK_EQ(view().blocks, 0U);
}

CASE(no_descriptor) {
  const rlimit none{3, 3};
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  check_comes_from_elsewhere(HeapDeclined::Memory);
}

/// A limit that the program sets by itself: a slice would be a file that is too long.
CASE(limit_of_files_at_run_time) {
  const rlimit limit{kMiB, RLIM_INFINITY};
  CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  CHECK(view().use == HeapUse::On);
  check_comes_from_elsewhere(HeapDeclined::Memory);
}

CASE(blocks_longer_than_a_slice) {
  constexpr auto kSlice = static_cast<std::size_t>(HeapView::kSliceBytes);
  void* const block = malloc(kSlice + 1);  // which may be null: few machines have as much memory
  CHECK(!in_heap(block));
  CHECK_EQ(declined(HeapDeclined::Full), 1U);
  free(block);
  void* const zeroes = calloc(2, kSlice);
  CHECK(!in_heap(zeroes));
  CHECK_EQ(declined(HeapDeclined::Full), 2U);
  free(zeroes);
  void* const next = malloc(kMiB);
  CHECK(in_heap(next));
  free(next);
}

/// The kernel would not grant private memory of that size either.
CASE(blocks_longer_than_memory) {
  if (proc_bytes("/proc/meminfo", "MemTotal") + proc_bytes("/proc/meminfo", "SwapTotal") >
      31 * kGiB)
    skip("the machine has more memory than a slice");
  CHECK(malloc(31 * kGiB) == nullptr);
  CHECK_EQ(errno, ENOMEM);
  CHECK_EQ(declined(HeapDeclined::Memory), 1U);
}

}  // namespace
