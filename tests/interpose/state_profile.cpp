// state_profile FILE measured|doubtful|other
// Writes a profile of this machine that nobody measured: with this MPI library, with this one while
// the machine was busy, or with another one.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "exchange/method.hpp"
#include "machine/profile.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    strake::machine::Profile profile;
    profile.key = strake::machine::machine_key();
    profile.host = "node1";
    profile.date = "2026-11-27";
    for (const char* name : {"mpi/node/system/box", "mpi/node/pack/box", "mpi/node/packed",
                             "mpi/node/host", "pack/cpu/box", "unpack/cpu/box"}) {
      for (const std::int64_t bytes : {64, 1 << 24}) {
        strake::machine::Result result;
        result.name = name;
        if (result.name.starts_with("mpi/"))
          result.mpi =
              std::strcmp(argv[2], "other") == 0 ? "Other MPI 1" : strake::exchange::mpi_library();
        result.bytes = bytes;
        result.block = result.name.ends_with("/box") ? 8 : 0;
        result.pitch = 2 * result.block;
        result.median = result.name == "mpi/node/pack/box" ? 1e-3 : 1e-6;
        if (std::strcmp(argv[2], "doubtful") == 0)
          result.doubtful = "other processes used 1.3 of 2 CPUs";
        profile.results.push_back(result);
        for (const std::int64_t pitch : {128, 2056}) {
          if (result.block == 0) break;
          result.pitch = pitch;
          profile.results.push_back(result);
        }
      }
    }
    strake::machine::write_compact(profile, argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  MPI_Finalize();
  return code;
}
