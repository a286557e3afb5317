/// \file  The short texts by which the kernel tells of itself. Uses only the C library.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

namespace strake {

/// Reads the first bytes of a file, as text. False: there are none.
template <std::size_t kBytes>
bool read_text(const char* path, char (&text)[kBytes]) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, text, kBytes - 1);
  close(file);
  text[got > 0 ? got : 0] = '\0';
  return got > 0;
}

}  // namespace strake
