// make_profile FILE PART…
// Writes a profile of this machine and this MPI library that nobody measured
// (tests/unit/summit_profile.hpp): a node of GPUs, where all whose name has one of these parts in
// it takes a million times as long.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <span>
#include <string>

#include "../unit/summit_profile.hpp"
#include "exchange/method.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::span<char*> parts(argv + 2, static_cast<std::size_t>(argc - 2));
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    strake::machine::Profile profile = strake::machine::summit::profile();
    profile.key = strake::machine::machine_key();
    for (strake::machine::Result& result : profile.results) {
      if (!result.mpi.empty()) result.mpi = strake::exchange::mpi_library();
      for (const char* part : parts)
        if (result.name.find(part) != std::string::npos) result.median *= 1e6;
    }
    strake::machine::write_compact(profile, argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  MPI_Finalize();
  return code;
}
