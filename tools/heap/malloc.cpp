/// \file  The functions of malloc as the program calls them: large blocks come from the shared
/// heap, all others from the allocator that the program has without it. A block that is freed or
/// resized goes where it came from.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "begin.hpp"
#include "heap.hpp"
#include "next.hpp"

#define STRAKE_EXPORT extern "C" __attribute__((visibility("default")))

using strake::heap::early_bytes;
using strake::heap::g_heap;
using strake::heap::g_least;
using strake::heap::g_next;
using strake::heap::is_early;

namespace {

/// A block of the heap, if it is long enough for that.
void* large(std::size_t bytes, std::size_t alignment) noexcept {
  return bytes < g_least ? nullptr : g_heap.take(bytes, alignment);
}

void* moved(void* to, const void* from, std::size_t bytes) noexcept {
  if (to != nullptr) std::memcpy(to, from, bytes);
  return to;
}

/// A block of the program's own allocator: one that gets long enough for the heap comes there. One
/// that is so long already is not in the heap for a reason.
void* resized_elsewhere(void* block, std::size_t bytes) noexcept {
  if (bytes >= g_least) {
    const std::size_t before = g_next.malloc_usable_size(block);
    void* const to = before < g_least ? g_heap.take(bytes, alignof(std::max_align_t)) : nullptr;
    if (to != nullptr) {
      std::memcpy(to, block, before);
      g_next.free(block);
      return to;
    }
  }
  return g_next.realloc(block, bytes);
}

}  // namespace

STRAKE_EXPORT void* malloc(std::size_t bytes) noexcept {
  void* const block = large(bytes, alignof(std::max_align_t));
  return block != nullptr ? block : g_next.malloc(bytes);
}

STRAKE_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all) && all >= g_least) {
    if (void* const block = g_heap.take_zeroes(all)) return block;
  }
  return g_next.calloc(count, bytes);
}

STRAKE_EXPORT void free(void* block) noexcept {
  if (g_heap.has(block)) {
    const int kept = errno;
    g_heap.give_back(block);
    errno = kept;
  } else if (!is_early(block)) {
    g_next.free(block);
  }
}

STRAKE_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return malloc(bytes);
  if (is_early(block)) return moved(malloc(bytes), block, std::min(bytes, early_bytes(block)));
  if (!g_heap.has(block)) return resized_elsewhere(block, bytes);
  if (bytes == 0) {
    free(block);
    return nullptr;
  }
  if (bytes >= g_least && g_heap.resize(block, bytes)) return block;
  void* const to = moved(malloc(bytes), block, std::min(bytes, g_heap.size_of(block)));
  if (to != nullptr) free(block);
  return to;
}

STRAKE_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, all);
}

STRAKE_EXPORT int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) noexcept {
  const bool right = std::has_single_bit(alignment) && alignment % sizeof(void*) == 0;
  void* const block = right ? large(bytes, alignment) : nullptr;
  if (block == nullptr) return g_next.posix_memalign(to, alignment, bytes);
  *to = block;
  return 0;
}

STRAKE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* const block = std::has_single_bit(alignment) ? large(bytes, alignment) : nullptr;
  return block != nullptr ? block : g_next.aligned_alloc(alignment, bytes);
}

STRAKE_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  void* const block = std::has_single_bit(alignment) ? large(bytes, alignment) : nullptr;
  return block != nullptr ? block : g_next.memalign(alignment, bytes);
}

STRAKE_EXPORT void* valloc(std::size_t bytes) noexcept {
  void* const block = large(bytes, static_cast<std::size_t>(getpagesize()));
  return block != nullptr ? block : g_next.valloc(bytes);
}

STRAKE_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(getpagesize());
  void* const block = bytes > ~page ? nullptr : large((bytes + page - 1) / page * page, page);
  return block != nullptr ? block : g_next.pvalloc(bytes);
}

STRAKE_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  if (g_heap.has(block)) return g_heap.size_of(block);
  return block == nullptr || is_early(block) ? 0 : g_next.malloc_usable_size(block);
}
