/// \file  For programs that write a profile of this machine that nobody measured.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <exception>

#include "machine/profile.hpp"

namespace strake::machine {

/// Writes the profile that `make()` returns, which may ask MPI, to `path`, with this
/// machine's key. Returns the program's exit code.
template <typename Make>
int write_profile(int argc, char** argv, const char* path, const Make& make) {
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    Profile profile = make();
    profile.key = machine_key();
    write_compact(profile, path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  MPI_Finalize();
  return code;
}

}  // namespace strake::machine
