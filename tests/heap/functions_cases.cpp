// The functions of malloc as programs call them: what they answer, and that large blocks, and no
// others, are in the heap.
#include <malloc.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "cases.hpp"

namespace {

using namespace heap_test;

constexpr std::size_t kLeast = 256 * kKiB;

CASE(malloc_takes_large_blocks) {
  CHECK(view().use == HeapUse::On);
  CHECK_EQ(view().version, HeapView::kVersion);
  const std::uint64_t before = view().blocks;
  for (const std::size_t bytes : {kLeast, kLeast + 1, kMiB, 100 * kMiB}) {
    char* const block = malloced(bytes);
    CHECK(in_heap(block));
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0U);
    CHECK(malloc_usable_size(block) >= bytes);
    fill(block, bytes, bytes);
    CHECK(is_filled(block, bytes, bytes));
    free(block);
  }
  CHECK_EQ(view().blocks - before, 4U);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 100 * kKiB, kLeast - 1}) {
    char* const block = malloced(bytes);
    CHECK(block != nullptr && !in_heap(block));
    CHECK(malloc_usable_size(block) >= bytes);
    free(block);
  }
  CHECK_EQ(view().blocks - before, 4U);
  CHECK_EQ(malloc_usable_size(nullptr), 0U);
  free(nullptr);
  CHECK(malloc(SIZE_MAX / 2) == nullptr);
  CHECK_EQ(errno, ENOMEM);
}

/// HEAP_THRESHOLD is what STRAKE_HEAP_LEAST means, in bytes.
CASE(threshold_is_as_set) {
  const char* const text = std::getenv("HEAP_THRESHOLD");
  const std::size_t threshold = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  for (const int shorter : {0, 1}) {
    const std::size_t bytes = threshold - static_cast<std::size_t>(shorter);
    void* const blocks[] = {malloc(bytes), calloc(bytes, 1), realloc(nullptr, bytes),
                            valloc(bytes)};
    for (void* block : blocks) {
      CHECK_EQ(in_heap(block), shorter == 0);
      free(block);
    }
  }
}

CASE(usable_bytes_are_the_blocks_own) {
  std::vector<char*> blocks;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(malloced(kLeast + static_cast<std::size_t>(i) * 10001));
    std::memset(blocks.back(), i, malloc_usable_size(blocks.back()));
  }
  for (int i = 0; i < 20; ++i) {
    const char* const block = blocks[static_cast<std::size_t>(i)];
    const std::size_t bytes = malloc_usable_size(blocks[static_cast<std::size_t>(i)]);
    CHECK_EQ(int{block[0]}, i);
    CHECK_EQ(std::memcmp(block, block + 1, bytes - 1), 0);
    free(blocks[static_cast<std::size_t>(i)]);
  }
}

CASE(blocks_are_in_the_memory_of_their_slices) {
  char* const block = malloced(3 * kMiB);
  fill(block, 3 * kMiB, 7);
  const auto at = reinterpret_cast<std::byte*>(block) - view().base;
  const auto slice = static_cast<std::size_t>(at / HeapView::kSliceBytes);
  const std::int64_t page = at % HeapView::kSliceBytes / 4096 * 4096;
  CHECK(view().descriptors[slice] > 0);
  auto* const mapped = static_cast<char*>(
      mmap(nullptr, 4 * kMiB, PROT_READ, MAP_SHARED, view().descriptors[slice] - 1, page));
  CHECK(mapped != MAP_FAILED);
  CHECK(is_filled(mapped + at % HeapView::kSliceBytes % 4096, 3 * kMiB, 7));
}

CASE(calloc_gives_zeroes) {
  for (int round = 0; round < 40; ++round) {
    char* const used = malloced(4 * kMiB);
    std::memset(used, 0xff, 4 * kMiB);
    free(used);
    auto* const block = static_cast<char*>(calloc(1024, 4 * kKiB));
    CHECK(in_heap(block));
    CHECK(is_zero(block, 4 * kMiB));
    std::memset(block, 0xff, 4 * kMiB);
    free(block);
  }
  errno = 0;
  CHECK(calloc(SIZE_MAX / 2, 4) == nullptr);
  CHECK_EQ(errno, ENOMEM);
}

/// Frees bytes that are not zero, in each way that a block can change; calloc then gets them.
CASE(calloc_gives_zeroes_after_realloc) {
  for (const std::size_t shrunk : {3 * kMiB, 5 * kMiB + 1, 2 * kMiB + 4097}) {
    for (const bool grows : {false, true}) {
      for (int colour = 0; colour < 15; ++colour) {
        char* block = malloced(8 * kMiB - 100 * kKiB);
        std::memset(block, 0xff, 8 * kMiB - 100 * kKiB);
        block = static_cast<char*>(realloc(block, shrunk));
        if (grows) block = static_cast<char*>(realloc(block, 7 * kMiB));
        free(block);
        auto* const all = static_cast<char*>(calloc(8 * kMiB - 100 * kKiB, 1));
        auto* const more = static_cast<char*>(calloc(3 * kMiB, 1));
        CHECK(is_zero(all, 8 * kMiB - 100 * kKiB));
        CHECK(is_zero(more, 3 * kMiB));
        free(all);
        free(more);
      }
    }
  }
}

/// Blocks that are too long for their pages to be kept: the bytes behind the last one, in a block's
/// last unit, go with it.
CASE(calloc_gives_zeroes_after_long_blocks) {
  const std::size_t most = affordable(300 * kMiB);
  for (const std::size_t bytes : {most + 60'000, most + 20'000}) {
    char* block = malloced(bytes);
    std::memset(block, 0xff, bytes);
    block = static_cast<char*>(realloc(block, most + 1000));
    free(block);
    block = malloced(bytes);
    std::memset(block, 0xff, bytes);
    free(block);
    char* const shorter = malloced(most + 5000);
    free(shorter);
    auto* const all = static_cast<char*>(calloc(most + 60'000, 1));
    CHECK(in_heap(all));
    CHECK(is_zero(all, most + 60'000));
    free(all);
  }
}

CASE(realloc_keeps_bytes) {
  char* block = static_cast<char*>(realloc(nullptr, 600 * kKiB));
  CHECK(in_heap(block));
  fill(block, 600 * kKiB, 1);
  char* const longer = static_cast<char*>(realloc(block, 900 * kKiB));
  CHECK(longer == block);  // 1 MiB is the least that holds 600 KiB
  CHECK(is_filled(longer, 600 * kKiB, 1));
  CHECK_EQ(malloc_usable_size(longer), 900 * kKiB);
  fill(longer, 900 * kKiB, 2);
  char* const shorter = static_cast<char*>(realloc(longer, 500 * kKiB));
  CHECK(shorter == block);
  CHECK(is_filled(shorter, 500 * kKiB, 2));
  char* const moved = static_cast<char*>(realloc(shorter, 30 * kMiB));
  CHECK(moved != shorter && in_heap(moved));
  CHECK(is_filled(moved, 500 * kKiB, 2));
  fill(moved, 30 * kMiB, 3);
  char* const less = static_cast<char*>(realloc(moved, kMiB));
  CHECK(in_heap(less));
  CHECK(is_filled(less, kMiB, 3));
  CHECK(shared_bytes() <= most_kept(kMiB) + kMiB);
  char* const small = static_cast<char*>(realloc(less, 1000));
  CHECK(!in_heap(small));
  CHECK(is_filled(small, 1000, 3));
  char* const middle = static_cast<char*>(realloc(small, 200 * kKiB));
  CHECK(!in_heap(middle));
  fill(middle, 200 * kKiB, 4);
  char* const again = static_cast<char*>(realloc(middle, 2 * kMiB));
  CHECK(in_heap(again));  // now it is long enough
  CHECK(is_filled(again, 200 * kKiB, 4));
  free(again);
  CHECK(realloc(malloc(kMiB), 0) == nullptr);
}

CASE(realloc_that_fails_keeps_the_block) {
  char* const block = malloced(kMiB);
  fill(block, kMiB, 5);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4}) {
    errno = 0;
    CHECK(realloc(block, bytes) == nullptr);
    CHECK_EQ(errno, ENOMEM);
  }
  errno = 0;
  CHECK(reallocarray(block, SIZE_MAX / 2, 3) == nullptr);
  CHECK_EQ(errno, ENOMEM);
  CHECK(is_filled(block, kMiB, 5));
  auto* const array = static_cast<char*>(reallocarray(block, 1024, 3 * kKiB));
  CHECK(in_heap(array));
  CHECK(is_filled(array, kMiB, 5));
  CHECK_EQ(malloc_usable_size(array), 3 * kMiB);
  free(array);
}

/// A block that takes all of its slice can't grow in it.
CASE(realloc_past_a_slice_moves) {
  void* whole = nullptr;
  constexpr auto kSlice = static_cast<std::size_t>(HeapView::kSliceBytes);
  if (posix_memalign(&whole, 4096, kSlice / 2 + kGiB) != 0 || !in_heap(whole))
    skip("the kernel grants no block of 17 GiB");
  fill(whole, kMiB, 6);
  void* const longer = realloc(whole, kSlice + kGiB);
  CHECK(longer != whole);
  CHECK(!in_heap(longer));
  CHECK(longer != nullptr || is_filled(whole, kMiB, 6));
}

CASE(free_keeps_errno) {
  for (const std::size_t bytes : {std::size_t{10}, kMiB, affordable(600 * kMiB)}) {
    char* const block = malloced(bytes);
    std::memset(block, 1, bytes);
    errno = 4321;
    free(block);
    CHECK_EQ(errno, 4321);
  }
}

CASE(new_takes_large_blocks) {
  std::vector<double> numbers(kMiB, 1.5);
  CHECK(in_heap(numbers.data()));
  numbers.resize(4 * kMiB, 2.5);
  CHECK(in_heap(numbers.data()));
  CHECK_EQ(numbers[kMiB - 1], 1.5);
  CHECK_EQ(numbers[4 * kMiB - 1], 2.5);
  auto* const large = new char[kMiB];
  auto* const small = new char[100];
  struct alignas(128 * kKiB) Aligned {
    char bytes[512 * kKiB];
  };
  auto* const aligned = new Aligned;
  CHECK(in_heap(large));
  CHECK(!in_heap(small));
  CHECK(in_heap(aligned));
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(aligned) % alignof(Aligned), 0U);
  delete aligned;
  delete[] small;
  delete[] large;
}

}  // namespace
