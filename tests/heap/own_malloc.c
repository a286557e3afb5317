/* The functions of malloc of a program that brings its own: they never give memory back. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

static _Alignas(4096) char memory[64 << 20];
static size_t used = 0;

static void* take(size_t bytes, size_t alignment) {
  const size_t head = 64; /* has the block's length */
  size_t at = used + head;
  at = (at + alignment - 1) / alignment * alignment;
  if (at + bytes > sizeof memory) {
    errno = ENOMEM;
    return NULL;
  }
  used = at + bytes;
  memcpy(memory + at - sizeof bytes, &bytes, sizeof bytes);
  return memory + at;
}

void* malloc(size_t bytes) { return take(bytes, 64); }
void* calloc(size_t count, size_t bytes) { return take(count * bytes, 64); }
void free(void* block) { (void)block; }
void* memalign(size_t alignment, size_t bytes) { return take(bytes, alignment); }
void* aligned_alloc(size_t alignment, size_t bytes) { return take(bytes, alignment); }
int posix_memalign(void** to, size_t alignment, size_t bytes) {
  *to = take(bytes, alignment < 64 ? 64 : alignment);
  return *to == NULL ? ENOMEM : 0;
}
void* realloc(void* block, size_t bytes) {
  void* const to = take(bytes, 64);
  size_t before = 0;
  if (block != NULL) memcpy(&before, (char*)block - sizeof before, sizeof before);
  if (to != NULL && block != NULL) memcpy(to, block, before < bytes ? before : bytes);
  return to;
}
