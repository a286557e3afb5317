/// \file  How the processes of a job tell `strake run` of themselves: a letter each, in a file of
/// the job's. Uses nothing but the C library.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace strake::preload {

/// Adds a letter to the file; nothing where there is none, as on another machine.
inline void leave_letter(const char* path, char letter) noexcept {
  const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  if (write(fd, &letter, 1) != 1) errno = 0;  // then strake run only knows less
  close(fd);
}

}  // namespace strake::preload
