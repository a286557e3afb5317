#include "memory/sharing/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cerrno>

#include "memory/small_file.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif
#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif

namespace strake::sharing {

int memory_seals() noexcept { return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL; }

int make_memory_file(const char* name, std::int64_t bytes, std::int64_t huge_page) noexcept {
  // Past this limit ftruncate() would end the process.
  rlimit longest{};
  if (getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur < static_cast<rlim_t>(bytes)) {
    errno = EFBIG;
    return -1;
  }
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  if (huge_page > 0) {
    const auto exponent =
        static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(huge_page)));
    flags |= MFD_HUGETLB | exponent << MFD_HUGE_SHIFT;
  }
  int made = memfd_create(name, flags | MFD_NOEXEC_SEAL);
  // Kernels before 6.3 know no such flag.
  if (made < 0 && errno == EINVAL) made = memfd_create(name, flags);
  if (made < 0) return -1;
  if (ftruncate(made, bytes) == 0 && fcntl(made, F_ADD_SEALS, memory_seals()) == 0) return made;
  const int why = errno;
  close(made);
  errno = why;
  return -1;
}

bool is_granted(std::int64_t bytes) noexcept {
  const auto size = static_cast<std::size_t>(bytes);
  void* const tried =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return tried != MAP_FAILED && munmap(tried, size) == 0;
}

bool touches_may_fail() noexcept {
  char mode[4];
  return read_text("/proc/sys/vm/overcommit_memory", mode) && mode[0] == '2';
}

}  // namespace strake::sharing
