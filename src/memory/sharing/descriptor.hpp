/// \file  A file descriptor that has an owner, and what kind of file it is.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace strake::sharing {

/// Closed with this object; negative: none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) noexcept : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

/// Whether a descriptor that came from another process is one of memory: of memfd_create(), or of a
/// device. All others may take long to close (a socket with SO_LINGER, a terminal, a file of NFS).
/// Asks no file system that might not answer.
[[nodiscard]] inline bool is_of_memory(int descriptor) noexcept {
  if (fcntl(descriptor, F_GET_SEALS) >= 0) return true;
  struct statx found {};
  constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (statx(descriptor, "", kFlags, STATX_TYPE, &found) != 0) return false;
  const auto kind = static_cast<mode_t>(found.stx_mode & S_IFMT);
  constexpr mode_t kAnonymous = 0;
  constexpr std::uint32_t kTerminals[] = {4, 5, 136, 137, 138, 139, 140, 141, 142, 143};
  return kind == kAnonymous ||
         (kind == S_IFCHR &&
          std::ranges::find(kTerminals, found.stx_rdev_major) == std::ranges::end(kTerminals));
}

}  // namespace strake::sharing
