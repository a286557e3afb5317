/// \file  The private directory of a job on a node. Its processes reach each other by sockets in
/// it, and report to `strake run` by files in it. Its mode is 0700: the kernel lets no process of
/// another user in. The last process that leaves it removes it; a directory whose processes were
/// all killed is removed by the next one that is made. Uses only the C library.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

namespace strake::job {

/// Where a directory of the number `number` is, or would be.
class DirectoryPath {
 public:
  explicit DirectoryPath(std::uint64_t number) noexcept {
    std::snprintf(text_, sizeof(text_), "%s/strake-%u-%016llx", base(),
                  static_cast<unsigned>(geteuid()), static_cast<unsigned long long>(number));
  }
  [[nodiscard]] const char* text() const noexcept { return text_; }
  /// All processes of a user on a node find the same one: memory first, as it is never shared with
  /// other nodes.
  [[nodiscard]] static const char* base() noexcept {
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
  }

 private:
  char text_[64];
};

/// An open directory. All that is done in it goes by its descriptor, so that nobody can put another
/// one in its place.
class Directory {
 public:
  Directory() noexcept = default;
  /// Opens the directory, to look at it or to leave a file there. ~4 us, no memory but the stack.
  [[nodiscard]] static Directory visit(std::uint64_t number) noexcept {
    Directory made(number);
    made.open_private();
    return made;
  }
  /// Makes the directory, if it is not there, and stays in it until leave(). Whoever makes one
  /// removes those of this user that everybody has left. 20 us for who makes it, 7 for others.
  [[nodiscard]] static Directory join(std::uint64_t number) noexcept {
    constexpr int kTries = 100;
    Directory made(number);
    for (int i = 0; i < kTries && !made.joined_; ++i) made.try_to_join();
    return made;
  }
  ~Directory() { leave(); }
  Directory(Directory&& other) noexcept { swap(other); }
  Directory& operator=(Directory&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Whether it is open: it is there, and no other user can enter it.
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  /// The errno of what failed; EPERM: it belongs to another user, or others may enter it.
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Leaves an empty file there. False: it could not be made.
  bool put(const char* name) const noexcept {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    const int file = openat(descriptor_, name, kFlags, 0600);
    if (file >= 0) close(file);
    return file >= 0;
  }
  [[nodiscard]] bool has(const char* name) const noexcept {
    struct stat found {};
    return fstatat(descriptor_, name, &found, AT_SYMLINK_NOFOLLOW) == 0;
  }
  /// Closes it. The last process that had joined it removes it, with all that is still in it. Does
  /// no more than close it in a child of fork().
  void leave() noexcept {
    if (joined_ && getpid() == owner_) remove_if_last(descriptor_, DirectoryPath(number_).text());
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
    joined_ = false;
  }

 private:
  explicit Directory(std::uint64_t number) noexcept : number_(number) {}
  void swap(Directory& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(error_, other.error_);
    std::swap(joined_, other.joined_);
    std::swap(owner_, other.owner_);
  }
  /// A user whom this user namespace does not know has the number of all such users. The mode still
  /// tells: who can open a directory of mode 0700 owns it, or may open all.
  [[nodiscard]] static bool is_private(int descriptor) noexcept {
    struct stat found {};
    constexpr mode_t kPermissions = 0777;
    return fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
           (found.st_mode & kPermissions) == 0700;
  }
  [[nodiscard]] static int open_directory(const char* path) noexcept {
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  void open_private() noexcept {
    descriptor_ = open_directory(DirectoryPath(number_).text());
    error_ = descriptor_ < 0 ? errno : 0;
    if (descriptor_ < 0 || is_private(descriptor_)) return;
    close(descriptor_);
    descriptor_ = -1;
    error_ = EPERM;
  }
  void try_to_join() noexcept {
    const DirectoryPath path(number_);
    const bool made = mkdir(path.text(), 0700) == 0;
    if (!made && errno != EEXIST) {
      error_ = errno;
      return;
    }
    open_private();
    if (!is_open()) return;
    // Whoever removes it has it locked for itself, and then it has no name any more.
    struct stat found {};
    if (flock(descriptor_, LOCK_SH | LOCK_NB) == 0 && fstat(descriptor_, &found) == 0 &&
        found.st_nlink > 0) {
      joined_ = true;
      owner_ = getpid();
      if (made) sweep();
      return;
    }
    error_ = EAGAIN;
    close(descriptor_);
    descriptor_ = -1;
    const timespec moment{0, 1'000'000};
    (void)nanosleep(&moment, nullptr);
  }
  /// Removes a directory, if no process has joined it.
  static void remove_if_last(int descriptor, const char* path) noexcept {
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) return;
    // Its own descriptor, as closedir() closes it.
    const int own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (DIR* const all = own >= 0 ? fdopendir(own) : nullptr) {
      while (const dirent* const entry = readdir(all)) (void)unlinkat(descriptor, entry->d_name, 0);
      closedir(all);
    } else if (own >= 0) {
      close(own);
    }
    (void)rmdir(path);
  }
  /// Removes the directories of this user's jobs whose processes have all ended.
  static void sweep() noexcept {
    const char* const base = DirectoryPath::base();
    char begin[32];
    const auto length = static_cast<std::size_t>(
        std::snprintf(begin, sizeof(begin), "strake-%u-", static_cast<unsigned>(geteuid())));
    DIR* const all = opendir(base);
    if (all == nullptr) return;
    while (const dirent* const entry = readdir(all)) {
      if (std::strncmp(entry->d_name, begin, length) != 0) continue;
      char path[sizeof(entry->d_name) + 16];
      std::snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
      const int found = open_directory(path);
      if (found < 0) continue;
      if (is_private(found)) remove_if_last(found, path);
      close(found);
    }
    closedir(all);
  }

  std::uint64_t number_ = 0;
  int descriptor_ = -1;
  int error_ = 0;
  bool joined_ = false;
  pid_t owner_ = 0;
};

}  // namespace strake::job
