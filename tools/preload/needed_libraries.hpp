/// \file  Which MPI library a file will bring into a process: a walk over the objects that it
/// needs, and those that they need, found as the dynamic loader finds them. Uses nothing but the C
/// library.
#pragma once

#include <climits>

#include "mpi_library.hpp"

namespace strake::preload {

struct MpiUse {
  MpiLibrary library = MpiLibrary::None;
  char path[PATH_MAX] = {};  ///< where that library lies, or its bare name where it was not found
  bool elf = false;          ///< the file is a program or shared object of this machine
  bool dynamic = false;      ///< ... that the dynamic loader handles
};

/// As identify(); a library by its bare name (libmpi.so, as ctypes and mpi4py's wheels load it) is
/// what that name leads to, which `path` becomes.
MpiLibrary identify_behind(char (&path)[PATH_MAX]);

/// Whether an object of this name need not be looked into (it is loaded already).
using Loaded = bool (*)(const char* name);

/// Looks at `path` (a name without a slash is searched for as dlopen does when the object `caller`
/// asks; empty: the program itself). Nearest first, so that of two MPI libraries the one is found
/// whose symbols the loader would find. Cost: ~20 µs a file.
void find_mpi(const char* path, Loaded loaded, MpiUse& use, const char* caller = "");

}  // namespace strake::preload
