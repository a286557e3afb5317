/// \file  Descriptors that the program does not know of.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace strake::heap {

/// Gives a descriptor a high number, where there is one: programs count on low ones, and close
/// those that they did not open.
inline int moved_high(int descriptor) noexcept {
  constexpr int kHigh = 512;
  const int high = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, kHigh);
  if (high >= 0) close(descriptor);
  return high >= 0 ? high : descriptor;
}

}  // namespace strake::heap
