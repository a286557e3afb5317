/// \file  How the processes of a job report to `strake run`: each connects to a socket named by the
/// job's id and a letter. The name is not in the file system, so the kernel removes it when
/// `strake run` ends, however it ends. Uses only the C library, and no memory but the stack.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string_view>

#include "job/names.hpp"

namespace strake::job {

enum class Letter : char {
  WithoutMpi = 'p',  ///< a process without an MPI library
  WithMpi = 'm',     ///< a process with an MPI library and the interposer before it
  Started = 's',     ///< MPI was started, or ended, through the interposer
  Alone = 'a',       ///< the launcher started several ranks, but MPI a job of one
  Refused = 'e',     ///< the process had to end: no interposer can serve it
  Emptied = 'v',     ///< a program was started without the job's environment variables
};
inline constexpr Letter kLetters[] = {Letter::WithoutMpi, Letter::WithMpi, Letter::Started,
                                      Letter::Alone,      Letter::Refused, Letter::Emptied};

/// The socket's address for a letter; of size 0 if the id is too long for a name.
inline Address address_of(std::string_view job, Letter letter) noexcept {
  char name[sizeof(sockaddr_un::sun_path)];
  const int written =
      std::snprintf(name, sizeof(name), "strake-%.*s-%c", static_cast<int>(job.size()), job.data(),
                    static_cast<char>(letter));
  return Address(
      std::string_view(name, written > 0 ? static_cast<std::size_t>(written) : sizeof(name)));
}

/// A socket for letters, closed by exec; negative if it can't be made.
inline int letter_socket() noexcept {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// Leaves the letter for the `strake run` of this job; does nothing if that is on another machine.
/// The connection itself is the message. If the socket's queue is full, the same letter is there
/// already.
inline void leave_letter(std::string_view job, Letter letter) noexcept {
  const Address address = address_of(job, letter);
  const int fd = job.empty() || address.size == 0 ? -1 : letter_socket();
  if (fd < 0) return;
  (void)connect(fd, address.get(), address.size);
  close(fd);
}

}  // namespace strake::job
