/// \file  Whether one process may read another's memory, by trying it.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace strake::probe {

/// 0, or the errno with which process_vm_readv failed to read `value` at `address` of `process`;
/// ESRCH also if something else is there: `process` is a number of another namespace.
inline int read_of_process(pid_t process, std::uint64_t address, std::uint64_t value) noexcept {
  std::uint64_t found = 0;
  iovec mine{&found, sizeof(found)};
  iovec theirs{reinterpret_cast<void*>(address), sizeof(found)};
  const ssize_t got = process_vm_readv(process, &mine, 1, &theirs, 1, 0);
  if (got < 0) return errno;
  return got == static_cast<ssize_t>(sizeof(found)) && found == value ? 0 : ESRCH;
}

}  // namespace strake::probe
