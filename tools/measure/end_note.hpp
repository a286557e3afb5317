/// \file  The note of `strake measure` if a signal ends it: what is kept, where, and how to go on.
#pragma once

#include <string>

namespace strake::measure {

/// While it exists, SIGINT, SIGTERM and SIGHUP (where they are not ignored) write the note to
/// standard error, before they end the process as without it. One at a time in a process.
class EndNote {
 public:
  EndNote();
  ~EndNote();
  EndNote(const EndNote&) = delete;
  EndNote& operator=(const EndNote&) = delete;
  /// The note from now on. Empty, as at first: nothing is written.
  static void say(const std::string& note);
};

}  // namespace strake::measure
