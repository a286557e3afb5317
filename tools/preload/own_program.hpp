/// \file  The file that this process runs. Uses nothing but the C library.
#pragma once

#include <sys/auxv.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace strake::preload {

/// Absolute path of this process's program; empty if not known. Without /proc the path comes from
/// the name by which the program was started, so ask before the process changes its folder.
inline void own_program(char (&path)[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  path[length > 0 ? length : 0] = '\0';
  if (length > 0) return;
  const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (name == nullptr || realpath(name, path) == nullptr) path[0] = '\0';
}

}  // namespace strake::preload
