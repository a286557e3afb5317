/// \file  Which MPI library a file will bring into a process. Searches the objects that it needs,
/// and those that they need, found as the dynamic loader finds them. Uses only the C library.
#pragma once

#include <climits>

#include "mpi_library.hpp"

namespace strake::preload {

struct MpiUse {
  MpiLibrary library = MpiLibrary::None;
  char path[PATH_MAX] = {};  ///< path of that library, or its bare name if it was not found
  bool elf = false;          ///< the file is a program or shared object of this machine
  bool dynamic = false;      ///< ... that the dynamic loader handles
};

/// As identify(). A bare name (libmpi.so, as ctypes and mpi4py's wheels load it) is resolved first,
/// and `path` becomes the file that it leads to.
MpiLibrary identify_behind(char (&path)[PATH_MAX]);

/// Whether an object of this name need not be looked into (it is loaded already).
using Loaded = bool (*)(const char* name);

/// Searches `path` and what it needs. A name without a slash is looked for as by a dlopen from the
/// object `caller` (empty: the program itself). The search is breadth-first: of two MPI libraries
/// it finds the one whose symbols the loader would find. Cost: ~20 µs a file.
void find_mpi(const char* path, Loaded loaded, MpiUse& use, const char* caller = "");

}  // namespace strake::preload
