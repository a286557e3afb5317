/// \file  The private directory of a job on a node. Its processes reach each other by sockets in
/// it, and report to `strake run` by files in it. Its mode is 0700: the kernel lets no process of
/// another user in. The last process that leaves it removes it; a directory whose processes were
/// all killed is removed when the next one is made. Uses only the C library.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

namespace strake::job {

/// Where this user's directory of the number `number` is, or would be.
class DirectoryPath {
 public:
  DirectoryPath() noexcept = default;
  explicit DirectoryPath(std::uint64_t number) noexcept {
    std::snprintf(text_, sizeof(text_), "%s/strake-%u-%016llx", base(),
                  static_cast<unsigned>(geteuid()), static_cast<unsigned long long>(number));
  }
  [[nodiscard]] const char* text() const noexcept { return text_; }
  /// All processes of a user on a node find the same one: memory first, as it is never shared with
  /// other nodes.
  [[nodiscard]] static const char* base() noexcept {
    return faccessat(AT_FDCWD, "/dev/shm", W_OK | X_OK, AT_EACCESS) == 0 ? "/dev/shm" : "/tmp";
  }
  /// Whether a file in base() has the name of a directory of this user.
  [[nodiscard]] static bool is_name(const char* name) noexcept {
    char begin[32];
    constexpr std::size_t kDigits = 16;
    const auto length = static_cast<std::size_t>(
        std::snprintf(begin, sizeof(begin), "strake-%u-", static_cast<unsigned>(geteuid())));
    return std::strncmp(name, begin, length) == 0 && std::strlen(name + length) == kDigits &&
           std::strspn(name + length, "0123456789abcdef") == kDigits;
  }

 private:
  char text_[64] = {};
};

/// An open directory. Files and sockets in it are reached by its descriptor, so that nobody can put
/// another directory in its place. Only to make and to remove it takes its path.
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
  /// removes those of this user that all processes have left. 20 us for who makes it, 7 for others.
  [[nodiscard]] static Directory join(std::uint64_t number) noexcept {
    constexpr int kTries = 100;
    Directory made(number);
    made.error_ = EAGAIN;
    for (int i = 0; i < kTries && made.error_ == EAGAIN; ++i) made.try_to_join();
    return made;
  }
  ~Directory() { leave(); }
  Directory(Directory&& other) noexcept { swap(other); }
  Directory& operator=(Directory&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Whether the directory is open: it is there, and no other user can enter it.
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  /// The errno of what failed; EPERM: it belongs to another user, or others may enter it.
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const char* path() const noexcept { return path_.text(); }
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
  /// Closes it. The last process that had joined it removes it, with all that is still in it. A
  /// child of fork() only closes it.
  void leave() noexcept {
    if (joined_ && getpid() == owner_) {
      remove_if_last(descriptor_, path_.text());
    } else if (descriptor_ >= 0) {
      close(descriptor_);
    }
    descriptor_ = -1;
    joined_ = false;
  }

 private:
  explicit Directory(std::uint64_t number) noexcept : path_(number) {}
  void swap(Directory& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(error_, other.error_);
    std::swap(joined_, other.joined_);
    std::swap(owner_, other.owner_);
  }
  /// A user namespace shows all users that it does not know as one, so the owner alone proves
  /// nothing there. The mode does: a process that can open a directory of mode 0700 owns it, or may
  /// open everything.
  [[nodiscard]] static bool is_private(int descriptor) noexcept {
    struct stat found {};
    constexpr mode_t kPermissions = 0777;
    return fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
           (found.st_mode & kPermissions) == 0700;
  }
  /// Opens a directory of this user; negative, and errno: it is none. What belongs to another user
  /// is not even opened, as it may be of a file system that does not answer.
  [[nodiscard]] static int open_own(int base, const char* name) noexcept {
    struct statx found {};
    constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    if (statx(base, name, kFlags, STATX_UID | STATX_TYPE, &found) != 0) return -1;
    if (found.stx_uid != geteuid() || !S_ISDIR(found.stx_mode)) {
      errno = EPERM;
      return -1;
    }
    return openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  void open_private() noexcept {
    descriptor_ = open_own(AT_FDCWD, path_.text());
    error_ = descriptor_ < 0 ? errno : 0;
    if (descriptor_ < 0 || is_private(descriptor_)) return;
    close(descriptor_);
    descriptor_ = -1;
    error_ = EPERM;
  }
  /// error_ is EAGAIN if it was removed meanwhile: then to try again may help.
  void try_to_join() noexcept {
    const bool made = mkdir(path_.text(), 0700) == 0;
    error_ = errno;
    if (!made && error_ != EEXIST) return;
    if (made) (void)chmod(path_.text(), 0700);  // whatever the umask is
    open_private();
    if (!is_open()) {
      if (made) (void)rmdir(path_.text());
      if (error_ == ENOENT) error_ = EAGAIN;
      return;
    }
    // A process that removes it holds the lock alone. No name is left then: the count of links.
    struct stat found {};
    if (flock(descriptor_, LOCK_SH | LOCK_NB) == 0 && fstat(descriptor_, &found) == 0 &&
        found.st_nlink > 0) {
      joined_ = true;
      owner_ = getpid();
      if (made) sweep();
      return;
    }
    close(descriptor_);
    descriptor_ = -1;
    error_ = EAGAIN;
    const timespec moment{0, 1'000'000};
    (void)nanosleep(&moment, nullptr);
  }
  /// Removes a directory, if no other process has joined it. Closes its descriptor.
  static void remove_if_last(int descriptor, const char* path) noexcept {
    struct stat found {};
    // Without a link it is removed already, and the path may be another one's by now.
    const bool last = flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &found) == 0 &&
                      found.st_nlink > 0;
    DIR* const all = last ? fdopendir(descriptor) : nullptr;
    if (all == nullptr) {
      close(descriptor);
      return;
    }
    while (const dirent* const entry = readdir(all)) (void)unlinkat(descriptor, entry->d_name, 0);
    (void)rmdir(path);
    closedir(all);
  }
  /// Removes the directories of this user's jobs whose processes have all ended. Looks at a limited
  /// number of names, since another user may make any number.
  static void sweep() noexcept {
    constexpr int kMostNames = 4096;
    DIR* const all = opendir(DirectoryPath::base());
    if (all == nullptr) return;
    for (int i = 0; i < kMostNames; ++i) {
      const dirent* const entry = readdir(all);
      if (entry == nullptr) break;
      if (!DirectoryPath::is_name(entry->d_name)) continue;
      const int found = open_own(dirfd(all), entry->d_name);
      if (found < 0) continue;
      if (!is_private(found)) {
        close(found);
        continue;
      }
      char path[sizeof(entry->d_name) + 16];
      std::snprintf(path, sizeof(path), "%s/%s", DirectoryPath::base(), entry->d_name);
      remove_if_last(found, path);
    }
    closedir(all);
  }

  DirectoryPath path_;
  int descriptor_ = -1;
  int error_ = 0;
  bool joined_ = false;
  pid_t owner_ = 0;
};

}  // namespace strake::job
