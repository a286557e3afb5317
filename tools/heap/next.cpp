#include "next.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace strake::heap {
namespace {

/// \{ Memory for what the loader allocates while it looks the functions up.
constexpr std::size_t kEarlyBytes = 64 << 10;
alignas(64) std::byte g_early[kEarlyBytes];
constinit std::atomic<std::size_t> g_early_used{0};
constinit std::atomic<bool> g_looking{false};

void* take_early(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t room = (bytes + 63) / 64 * 64 + (alignment > 64 ? alignment : 0);
  const std::size_t at = room < bytes ? kEarlyBytes : g_early_used.fetch_add(room);
  if (at + room > kEarlyBytes || at + room < at) {
    errno = ENOMEM;
    return nullptr;
  }
  std::byte* const begin = g_early + at;
  const auto over = alignment > 64 ? reinterpret_cast<std::uintptr_t>(begin) % alignment : 0;
  return begin + (over == 0 ? 0 : alignment - over);
}
/// \}

template <typename Function>
void find(Function& function, const char* name) noexcept {
  if (void* const found = dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function>(found);
}

/// False: this call comes from inside of the search, or of another thread's.
bool look_up() noexcept {
  if (g_looking.exchange(true)) return false;
  const int kept = errno;
  Next found = g_next;
  find(found.malloc, "malloc");
  find(found.calloc, "calloc");
  find(found.realloc, "realloc");
  find(found.posix_memalign, "posix_memalign");
  find(found.aligned_alloc, "aligned_alloc");
  find(found.memalign, "memalign");
  find(found.valloc, "valloc");
  find(found.pvalloc, "pvalloc");
  find(found.malloc_usable_size, "malloc_usable_size");
  find(found.free, "free");
  g_next = found;
  errno = kept;
  return true;
}

/// \{ The functions until they are looked up. The loader calls malloc before any
/// constructor has run, while the process has one thread.
void* first_malloc(std::size_t bytes) {
  return look_up() ? g_next.malloc(bytes) : take_early(bytes, 0);
}
void* first_calloc(std::size_t count, std::size_t bytes) {
  if (look_up()) return g_next.calloc(count, bytes);
  std::size_t all = 0;
  return __builtin_mul_overflow(count, bytes, &all) ? nullptr : take_early(all, 0);
}
void* first_realloc(void* block, std::size_t bytes) {
  if (look_up()) return g_next.realloc(block, bytes);
  return block == nullptr ? take_early(bytes, 0) : nullptr;
}
void first_free(void* block) {
  if (look_up()) g_next.free(block);
}
int first_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  if (look_up()) return g_next.posix_memalign(block, alignment, bytes);
  *block = take_early(bytes, alignment);
  return *block == nullptr ? ENOMEM : 0;
}
void* first_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return look_up() ? g_next.aligned_alloc(alignment, bytes) : take_early(bytes, alignment);
}
void* first_memalign(std::size_t alignment, std::size_t bytes) {
  return look_up() ? g_next.memalign(alignment, bytes) : take_early(bytes, alignment);
}
void* first_valloc(std::size_t bytes) {
  return look_up() ? g_next.valloc(bytes) : take_early(bytes, 4096);
}
void* first_pvalloc(std::size_t bytes) {
  return look_up() ? g_next.pvalloc(bytes) : take_early((bytes + 4095) / 4096 * 4096, 4096);
}
std::size_t first_usable_size(void* block) {
  return look_up() ? g_next.malloc_usable_size(block) : 0;
}
/// \}

}  // namespace

constinit Next g_next{first_malloc,         first_calloc,        first_realloc,  first_free,
                      first_posix_memalign, first_aligned_alloc, first_memalign, first_valloc,
                      first_pvalloc,        first_usable_size};

bool is_early(const void* block) noexcept {
  return static_cast<std::size_t>(static_cast<const std::byte*>(block) - g_early) < kEarlyBytes;
}

std::size_t early_bytes(const void* block) noexcept {
  return static_cast<std::size_t>(g_early + kEarlyBytes - static_cast<const std::byte*>(block));
}

}  // namespace strake::heap
