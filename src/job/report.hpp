/// \file  How the processes of a job tell `strake run` of themselves: a letter each, to a socket
/// that the job's id names. The name is no file's, so the kernel forgets it with `strake run`,
/// however that ends. Uses nothing but the C library, and no memory but the stack's.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace strake::job {

enum class Letter : char {
  WithoutMpi = 'p',  ///< a process without an MPI library
  WithMpi = 'm',     ///< one with an MPI library, before which the interposer was loaded
  Started = 's',     ///< MPI was started, or ended, through the interposer
  Refused = 'e',     ///< the process had to end: no interposer can serve it
  Emptied = 'v',     ///< a program was started without the job's environment variables
};
inline constexpr Letter kLetters[] = {Letter::WithoutMpi, Letter::WithMpi, Letter::Started,
                                      Letter::Refused, Letter::Emptied};

/// Where the letter goes.
struct Address {
  sockaddr_un name{};
  socklen_t size = 0;  ///< 0: the id is too long for a name

  Address(std::string_view job, Letter letter) noexcept {
    name.sun_family = AF_UNIX;
    // The leading zero makes it a name outside the file system.
    constexpr std::size_t kRoom = sizeof(name.sun_path) - 1;
    const int written =
        std::snprintf(name.sun_path + 1, kRoom, "strake-%.*s-%c", static_cast<int>(job.size()),
                      job.data(), static_cast<char>(letter));
    const auto length = static_cast<std::size_t>(written);
    if (written > 0 && length < kRoom)
      size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&name);
  }
};

/// A socket for letters that no exec hands on; negative where there is none.
inline int letter_socket() noexcept {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// Leaves the letter for the `strake run` of this job; nothing where that is on another machine. To
/// come is enough. Where it can't, the same letter was left before.
inline void leave_letter(std::string_view job, Letter letter) noexcept {
  const Address address(job, letter);
  const int fd = job.empty() || address.size == 0 ? -1 : letter_socket();
  if (fd < 0) return;
  (void)connect(fd, address.get(), address.size);
  close(fd);
}

}  // namespace strake::job
