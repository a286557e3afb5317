// Stands for a driver: calls the C library by slots of its own.
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cstddef>

extern "C" {

using Map = void* (*)(void*, std::size_t, int, int, int, off_t);
Map g_pointer = mmap;
// Without these a compiler would see that nobody changes it.
extern const Map kPointer;
const Map kPointer = mmap;

/// Any memory, or, if `at` is not null, that at this address.
void* map_memory(void* at, std::size_t bytes, int protection) {
  const int fixed = at != nullptr ? MAP_FIXED : 0;
  return mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
}
void* map_by_pointer(std::size_t bytes) {
  return g_pointer(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void* map_anew(void* old, std::size_t old_bytes, std::size_t bytes) {
  return mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
}
int control(int file, unsigned long request, void* argument) {
  return ioctl(file, request, argument);
}
int unmap(void* address, std::size_t bytes) { return munmap(address, bytes); }

}  // extern "C"
