// Preloaded beside the interposer: counts the allocations that it makes, by the address that each
// call returns to. The MPI library's and the program's own are not counted.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

std::atomic<std::uint64_t> g_count{0};
/// Where the interposer's code lies; empty until count_allocations_start().
std::atomic<std::uintptr_t> g_begin{0};
std::atomic<std::uintptr_t> g_end{0};

void note(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address >= g_begin.load(std::memory_order_relaxed) &&
      address < g_end.load(std::memory_order_relaxed)) {
    g_count.fetch_add(1, std::memory_order_relaxed);
  }
}

int find_interposer(dl_phdr_info* info, std::size_t /*size*/, void* /*state*/) {
  if (std::strstr(info->dlpi_name, "libstrake-mpi") == nullptr) return 0;
  std::uintptr_t end = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const std::uintptr_t last = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_addr + last > end) {
      end = info->dlpi_addr + last;
    }
  }
  g_begin = info->dlpi_addr;
  g_end = end;
  return 1;
}

void* for_new(std::size_t size, std::size_t alignment, const void* caller) {
  note(caller);
  void* const memory =
      alignment == 0 ? __libc_malloc(size) : __libc_memalign(alignment, size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

/// Counts from here on, from 0. False: the interposer is not loaded.
bool count_allocations_start() {
  const bool found = dl_iterate_phdr(find_interposer, nullptr) != 0;
  g_count = 0;
  return found;
}
std::uint64_t count_allocations_now() { return g_count; }

void* malloc(std::size_t size) {
  note(CALLER);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note(CALLER);
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  note(CALLER);
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note(CALLER);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(CALLER);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  note(CALLER);
  void* const made = __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

}  // extern "C"

// The C++ runtime's would return to the runtime. What these give, its operator delete frees.
void* operator new(std::size_t size) { return for_new(size, 0, CALLER); }
void* operator new[](std::size_t size) { return for_new(size, 0, CALLER); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return for_new(size, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return for_new(size, static_cast<std::size_t>(alignment), CALLER);
}
