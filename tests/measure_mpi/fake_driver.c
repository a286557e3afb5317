/* A stand-in for NVIDIA's driver, libcuda.so.1, with one device whose memory is the host's: to test
 * what needs a device where there is none. FAKE_DEVICE=hidden: the CPU can't touch the memory but
 * through the driver, so that an MPI library which takes the pointer for the host's dies of it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

enum { kMostBlocks = 64 };
static struct {
  char* memory;
  size_t bytes;
} blocks[kMostBlocks];

static int hidden(void) {
  const char* mode = getenv("FAKE_DEVICE");
  return mode != NULL && strcmp(mode, "hidden") == 0;
}

/* Sets the access to the block that holds `memory`. */
static void protect(uint64_t memory, int access) {
  for (int i = 0; i < kMostBlocks; ++i) {
    const uint64_t begin = (uint64_t)(uintptr_t)blocks[i].memory;
    if (blocks[i].bytes != 0 && memory >= begin && memory < begin + blocks[i].bytes) {
      mprotect(blocks[i].memory, blocks[i].bytes, access);
    }
  }
}

static void copy(void* to, const void* from, size_t bytes, uint64_t device) {
  if (hidden()) protect(device, PROT_READ | PROT_WRITE);
  memcpy(to, from, bytes);
  if (hidden()) protect(device, PROT_NONE);
}

EXPORT int cuInit(unsigned flags) { return (int)flags; }
EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
EXPORT int cuGetErrorString(int code, const char** text) {
  *text = code == 0 ? "no error" : "out of memory";
  return 0;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? 0 : 101; /* CUDA_ERROR_INVALID_DEVICE */
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = blocks;
  return device;
}
EXPORT int cuCtxSetCurrent(void* context) {
  return context == blocks ? 0 : 201; /* INVALID_CONTEXT */
}
EXPORT int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  for (int i = 0; i < kMostBlocks; ++i) {
    if (blocks[i].bytes != 0) continue;
    const int access = hidden() ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* mapped = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) break;
    blocks[i].memory = mapped;
    blocks[i].bytes = bytes;
    *memory = (uint64_t)(uintptr_t)mapped;
    return 0;
  }
  return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
}
EXPORT int cuMemFree_v2(uint64_t memory) {
  for (int i = 0; i < kMostBlocks; ++i) {
    if (blocks[i].bytes == 0 || (uint64_t)(uintptr_t)blocks[i].memory != memory) continue;
    munmap(blocks[i].memory, blocks[i].bytes);
    blocks[i].bytes = 0;
    return 0;
  }
  return 1; /* CUDA_ERROR_INVALID_VALUE */
}
EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  copy((void*)(uintptr_t)to, from, bytes, to);
  return 0;
}
EXPORT int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  copy(to, (const void*)(uintptr_t)from, bytes, from);
  return 0;
}
