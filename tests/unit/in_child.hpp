/// \file  A piece of a test in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace strake {

/// Runs `body` in a child, which must return 0. \returns the number that it had
template <typename Body>
pid_t in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return child;
}

/// The user `nobody`, whose processes stand for those of all other users.
inline constexpr uid_t kNobody = 65534;

/// Runs `body` as that user. Needs root.
template <typename Body>
void as_nobody(const Body& body) {
  in_child([&] { return setgid(kNobody) == 0 && setuid(kNobody) == 0 ? body() : 99; });
}

}  // namespace strake
