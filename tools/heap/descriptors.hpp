/// \file  Descriptors that the program does not know of.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
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

/// The file that a descriptor is of. A program may close descriptors that it did not open, and get
/// their numbers for its own files.
struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};
inline FileId file_of(int descriptor) noexcept {
  struct stat found {};
  return fstat(descriptor, &found) == 0 ? FileId{found.st_dev, found.st_ino} : FileId{};
}

/// \{ Calls on descriptors are places where a thread may be cancelled; malloc and fork are none.
inline int stop_cancellation() noexcept {
  int before = PTHREAD_CANCEL_ENABLE;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}
inline void restore_cancellation(int before) noexcept {
  (void)pthread_setcancelstate(before, nullptr);
}
/// \}

}  // namespace strake::heap
