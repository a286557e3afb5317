/// \file  The allocator that the program has without the shared heap: the C library's, or the one
/// that the program or its user put before it (jemalloc, tcmalloc).
#pragma once

#include <cstddef>

namespace strake::heap {

/// Functions of that allocator. The first call of any of them looks all of them up.
struct Next {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
};
extern Next g_next;

/// Whether a block was given before the functions were known: by malloc inside of the very search
/// for them. Such a block is never freed.
[[nodiscard]] bool is_early(const void* block) noexcept;
/// How many bytes may be read from such a block on: no fewer than it has.
[[nodiscard]] std::size_t early_bytes(const void* block) noexcept;

}  // namespace strake::heap
