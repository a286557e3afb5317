/// \file  Whether this thread is inside a wrapped call, and whether calls are wrapped at all.
#pragma once

#include "settings/settings.hpp"

namespace strake::interpose {

/// How many wrapped calls this thread is inside. Calls from inside another one, such as those that
/// the MPI library makes itself, are passed on.
inline thread_local int t_depth = 0;

class Inside {
 public:
  Inside() noexcept { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int& depth_ = t_depth;  // a thread-local variable is looked up once
};

/// STRAKE_DISABLE: every call is passed on.
inline const bool g_disabled = settings::flag(settings::Id::disable);

}  // namespace strake::interpose
