/* Preloaded behind the interposer: the system call that FAILING names has no memory, or no
 * descriptor, left. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(const char* name, int error) {
  const char* failing = getenv("FAILING");
  if (failing == NULL || strcmp(failing, name) != 0) return 0;
  errno = error;
  return 1;
}

int memfd_create(const char* name, unsigned flags) {
  int (*real)(const char*, unsigned) =
      (int (*)(const char*, unsigned))dlsym(RTLD_NEXT, "memfd_create");
  return fails("memfd_create", EMFILE) ? -1 : real(name, flags);
}

int ftruncate(int descriptor, off_t bytes) {
  int (*real)(int, off_t) = (int (*)(int, off_t))dlsym(RTLD_NEXT, "ftruncate");
  return fails("ftruncate", ENOSPC) ? -1 : real(descriptor, bytes);
}

int madvise(void* begin, size_t bytes, int advice) {
  int (*real)(void*, size_t, int) = (int (*)(void*, size_t, int))dlsym(RTLD_NEXT, "madvise");
  const int populates = advice == 22 || advice == 23;
  return populates && fails("madvise", ENOMEM) ? -1 : real(begin, bytes, advice);
}

/* Fails for shared mappings that may only be read: of allocations of other ranks. */
void* mmap(void* begin, size_t bytes, int allowed, int flags, int descriptor, off_t offset) {
  if (allowed == PROT_READ && (flags & MAP_SHARED) != 0 && fails("mmap", ENOMEM)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, begin, bytes, allowed, flags, descriptor, offset);
}

/* Fails for messages that hand a descriptor on. */
ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
  ssize_t (*real)(int, const struct msghdr*, int) =
      (ssize_t(*)(int, const struct msghdr*, int))dlsym(RTLD_NEXT, "sendmsg");
  return message->msg_control != NULL && fails("sendmsg", ETOOMANYREFS)
             ? -1
             : real(socket, message, flags);
}
