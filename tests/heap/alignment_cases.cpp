// Aligned blocks: large ones are in the heap, and alignments that are none are answered as the C
// library answers them.
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cases.hpp"

namespace {

using namespace heap_test;

bool is_aligned(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

CASE(alignments_up_to_a_gibibyte) {
  for (std::size_t alignment = sizeof(void*); alignment <= kGiB; alignment *= 2) {
    for (const std::size_t bytes : {300 * kKiB, 5 * kMiB}) {
      void* blocks[3] = {nullptr, aligned_alloc(alignment, bytes), memalign(alignment, bytes)};
      CHECK_EQ(posix_memalign(&blocks[0], alignment, bytes), 0);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(in_heap(blocks[i]));
        CHECK(is_aligned(blocks[i], alignment));
        CHECK(malloc_usable_size(blocks[i]) >= bytes);
        fill(blocks[i], bytes, alignment + i);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(is_filled(blocks[i], bytes, alignment + i));
        blocks[i] = realloc(blocks[i], bytes + kMiB);
        CHECK(is_filled(blocks[i], bytes, alignment + i));
        free(blocks[i]);
      }
    }
    void* small = nullptr;
    if (alignment <= 4 * kKiB) {
      CHECK_EQ(posix_memalign(&small, alignment, 100), 0);
      CHECK(!in_heap(small));
      CHECK(is_aligned(small, alignment));
      free(small);
    }
  }
}

CASE(greater_alignments_come_from_elsewhere) {
  void* block = nullptr;
  CHECK_EQ(posix_memalign(&block, 2 * kGiB, kMiB), 0);
  CHECK(!in_heap(block));
  CHECK(is_aligned(block, 2 * kGiB));
  CHECK_EQ(declined(HeapDeclined::Full), 1U);
  free(block);
}

CASE(pages) {
  const auto page = static_cast<std::size_t>(getpagesize());
  void* const plain = valloc(kMiB + 1);
  CHECK(in_heap(plain));
  CHECK(is_aligned(plain, page));
  void* const whole = pvalloc(kMiB + 1);
  CHECK(in_heap(whole));
  CHECK(is_aligned(whole, page));
  CHECK_EQ(malloc_usable_size(whole), kMiB + page);
  void* const small = pvalloc(1);
  CHECK(!in_heap(small));
  CHECK(malloc_usable_size(small) >= page);
  CHECK(pvalloc(SIZE_MAX - 10) == nullptr);
  CHECK(valloc(SIZE_MAX - 10) == nullptr);
  for (void* block : {plain, whole, small}) free(block);
}

/// The heap's function and the C library's, which the heap stands before.
template <typename Function>
Function* of_c_library(const char* name) {
  void* const library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) skip("the C library is not glibc");
  return reinterpret_cast<Function*>(dlsym(library, name));
}

CASE(alignments_that_are_none) {
  const auto their_posix = of_c_library<int(void**, std::size_t, std::size_t)>("posix_memalign");
  const auto their_aligned = of_c_library<void*(std::size_t, std::size_t)>("aligned_alloc");
  const auto their_memalign = of_c_library<void*(std::size_t, std::size_t)>("memalign");
  CHECK(their_memalign != &memalign);
  const auto answer = [](auto function, std::size_t alignment) {
    errno = 0;
    void* const block = function(alignment, kMiB);
    const int error = block == nullptr ? errno : 0;
    free(block);
    return error;
  };
  for (const std::size_t alignment :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4},
        std::size_t{12}, std::size_t{24}, std::size_t{100}, 3 * kKiB, SIZE_MAX, SIZE_MAX / 2 + 2}) {
    void* ours = &ours;
    void* theirs = &theirs;
    CHECK_EQ(posix_memalign(&ours, alignment, kMiB), their_posix(&theirs, alignment, kMiB));
    CHECK(ours == &ours && theirs == &theirs);
    CHECK_EQ(answer(aligned_alloc, alignment), answer(their_aligned, alignment));
    CHECK_EQ(answer(memalign, alignment), answer(their_memalign, alignment));
  }
}

}  // namespace
