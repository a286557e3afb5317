// Other allocators behind the heap: small blocks are theirs, large ones the heap's.
#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cases.hpp"

namespace {

using namespace heap_test;

/// jemalloc or tcmalloc, as HEAP_NEXT names its file.
class Allocator {
 public:
  explicit Allocator(int flags) {
    file_ = std::getenv("HEAP_NEXT");
    if (file_ == nullptr) skip("no allocator is given");
    handle_ = dlopen(file_, RTLD_NOW | flags);
    if (handle_ == nullptr) return;
    mallctl_ = reinterpret_cast<Mallctl*>(dlsym(handle_, "mallctl"));
    owns_ = reinterpret_cast<Owns*>(dlsym(handle_, "MallocExtension_GetOwnership"));
    property_ = reinterpret_cast<Property*>(dlsym(handle_, "MallocExtension_GetNumericProperty"));
    CHECK(mallctl_ != nullptr || (owns_ != nullptr && property_ != nullptr));
  }
  [[nodiscard]] bool is_loaded() const { return handle_ != nullptr; }
  /// jemalloc can be asked for blocks of its own or of the heap only.
  [[nodiscard]] bool has(const void* block) const {
    if (mallctl_ == nullptr) return owns_(block) == 1;
    unsigned arena = 0;
    std::size_t size = sizeof arena;
    return mallctl_("arenas.lookup", &arena, &size, &block, sizeof block) == 0;
  }
  /// The bytes that are in its blocks; of this thread's, where it is jemalloc.
  [[nodiscard]] std::int64_t used() const {
    if (mallctl_ == nullptr) {
      std::size_t bytes = 0;
      CHECK_EQ(property_("generic.current_allocated_bytes", &bytes), 1);
      return static_cast<std::int64_t>(bytes);
    }
    std::uint64_t got = 0;
    std::uint64_t given = 0;
    std::size_t size = sizeof got;
    CHECK_EQ(mallctl_("thread.allocated", &got, &size, nullptr, 0), 0);
    CHECK_EQ(mallctl_("thread.deallocated", &given, &size, nullptr, 0), 0);
    return static_cast<std::int64_t>(got - given);
  }

 private:
  using Mallctl = int(const char*, void*, std::size_t*, const void*, std::size_t);
  using Owns = int(const void*);
  using Property = int(const char*, std::size_t*);

  const char* file_ = nullptr;
  void* handle_ = nullptr;
  Mallctl* mallctl_ = nullptr;
  Owns* owns_ = nullptr;
  Property* property_ = nullptr;
};

std::vector<void*> blocks_of(std::size_t bytes) {
  std::vector<void*> blocks{malloc(bytes), calloc(bytes, 1), realloc(nullptr, bytes),
                            aligned_alloc(64, bytes), memalign(64, bytes)};
  void* aligned = nullptr;
  CHECK_EQ(posix_memalign(&aligned, 64, bytes), 0);
  blocks.push_back(aligned);
  for (void* block : blocks) {
    CHECK(malloc_usable_size(block) >= bytes);
    std::memset(block, 1, bytes);
  }
  return blocks;
}

CASE(next_allocator_has_small_blocks) {
  const Allocator next(RTLD_NOLOAD);
  CHECK(next.is_loaded());
  CHECK(view().use == HeapUse::On);
  { (void)blocks_of(100); }
  const std::int64_t before = next.used();
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> small = blocks_of(100000);
    for (void* block : small) CHECK(next.has(block) && !in_heap(block));
    CHECK(next.used() >= before + 600000);
    for (void* block : small) free(block);
    std::vector<void*> large = blocks_of(kMiB);
    for (void*& block : large) {
      CHECK(in_heap(block));
      block = realloc(block, 1000);
      CHECK(next.has(block));
      block = realloc(block, 4000);
      CHECK(next.has(block));
    }
    std::thread([&] {
      for (void* block : large) free(block);
    }).join();
  }
  CHECK(next.used() <= before + 600000);
}

/// C++ allocates through the allocator's own operators, where it has them.
CASE(next_allocator_and_new) {
  const Allocator next(RTLD_NOLOAD);
  CHECK(next.is_loaded());
  std::vector<std::vector<char>> vectors;
  for (std::size_t i = 1; i < 200; ++i) vectors.emplace_back(i * 10000, 'a');
  for (const auto& each : vectors) CHECK(in_heap(each.data()) || next.has(each.data()));
}

CASE(allocator_that_is_loaded_late) {
  std::vector<void*> before = blocks_of(1000);
  std::vector<void*> large = blocks_of(kMiB);
  const Allocator late(RTLD_GLOBAL);
  if (!late.is_loaded()) skip(dlerror());
  const std::int64_t used = late.used();
  for (const std::size_t bytes : {std::size_t{1000}, kMiB}) {
    for (void* block : blocks_of(bytes)) {
      CHECK_EQ(in_heap(block), bytes == kMiB);
      before.push_back(block);
    }
  }
  for (void*& block : before) block = realloc(block, 2 * kMiB);
  for (void*& block : large) block = realloc(block, 100);
  for (void* block : before) free(block);
  for (void* block : large) free(block);
  CHECK_EQ(late.used(), used);  // nothing is its own
  std::vector<char> more(10 * kMiB, 'a');
  CHECK(in_heap(more.data()));
}

}  // namespace
