// Pointers that are no blocks end the process with the heap's message.
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "cases.hpp"

namespace {

using namespace heap_test;

char* large_block() { return static_cast<char*>(malloc(2 * kMiB)); }

PART(frees_twice) {
  char* const block = large_block();
  free(block);
  free(block);
}
PART(frees_an_inner_pointer) { free(large_block() + 64); }
PART(frees_an_inner_page) { free(large_block() + kMiB); }
PART(frees_past_all_blocks) { free(large_block() + kGiB); }
PART(frees_in_a_slice_that_is_not_there) { free(large_block() + 100 * kGiB); }
PART(resizes_an_inner_pointer) { CHECK(realloc(large_block() + 4 * kKiB, 3 * kMiB) == nullptr); }
PART(resizes_a_freed_block) {
  char* const block = large_block();
  free(block);
  CHECK(realloc(block, 10) == nullptr);
}
PART(asks_for_the_size_of_an_inner_pointer) { CHECK_EQ(malloc_usable_size(large_block() + 8), 0U); }

void check_aborts(const char* part) {
  const Started started = start(part);
  const std::string said = rest_of(started);
  const int status = status_of(started.process);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT ||
      said.find("strake: a block of memory is freed or resized") == std::string::npos)
    fail(__FILE__, __LINE__,
         std::string(part) + " ends with " + std::to_string(status) + ": " + said);
}

CASE(double_free_aborts) {
  check_aborts("frees_twice");
  check_aborts("resizes_a_freed_block");
}

CASE(pointers_that_are_no_blocks_abort) {
  check_aborts("frees_an_inner_pointer");
  check_aborts("frees_an_inner_page");
  check_aborts("frees_past_all_blocks");
  check_aborts("frees_in_a_slice_that_is_not_there");
  check_aborts("resizes_an_inner_pointer");
  check_aborts("asks_for_the_size_of_an_inner_pointer");
}

/// A handler may allocate, as one that prints a backtrace does.
PART(allocates_when_it_aborts) {
  signal(SIGABRT, [](int) { _exit(in_heap(malloc(kMiB)) ? 42 : 1); });
  free(large_block() + 64);
}

CASE(handlers_of_the_abort_may_allocate) {
  const Started started = start("allocates_when_it_aborts");
  const std::string said = rest_of(started);
  const int status = status_of(started.process);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
