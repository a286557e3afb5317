/// \file  How the processes of a job report to `strake run`: each leaves an empty file, named by a
/// letter, in the job's directory, so that no other user can. Uses only the C library, and no
/// memory but the stack.
#pragma once

#include <string_view>

#include "job/directory.hpp"
#include "job/names.hpp"

namespace strake::job {

enum class Letter : char {
  WithoutMpi = 'p',  ///< a process without an MPI library
  WithMpi = 'm',     ///< a process with an MPI library and the interposer before it
  Started = 's',     ///< MPI was started, or ended, through the interposer
  Alone = 'a',       ///< the launcher started several ranks, but MPI a job of one
  Refused = 'e',     ///< the process had to end: no interposer can serve it
  Emptied = 'v',     ///< a program was started without the job's environment variables
  Threads = 't',     ///< several threads may be in MPI at a time (MPI_THREAD_MULTIPLE)
};
inline constexpr Letter kLetters[] = {Letter::WithoutMpi, Letter::WithMpi, Letter::Started,
                                      Letter::Alone,      Letter::Refused, Letter::Emptied,
                                      Letter::Threads};

/// The name of a letter's file.
struct LetterName {
  char text[2];
  explicit constexpr LetterName(Letter letter) noexcept : text{static_cast<char>(letter), '\0'} {}
};

/// Leaves the letter for the `strake run` of this job; does nothing if that is on another machine.
inline void leave_letter(std::string_view job, Letter letter) noexcept {
  if (job.empty()) return;
  const Directory directory = Directory::visit(hash_of(job));
  if (directory.is_open()) (void)directory.put(LetterName(letter).text);
}

}  // namespace strake::job
