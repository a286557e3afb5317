// state_profile FILE measured|doubtful|other
// Writes a profile of this machine that nobody measured: with this MPI library, with this one while
// the machine was busy, or with another one.
#include <cstring>

#include "../support/write_profile.hpp"
#include "exchange/method.hpp"

namespace {

strake::machine::Profile profile_of(const char* state) {
  strake::machine::Profile profile;
  profile.host = "node1";
  profile.date = "2026-11-27";
  for (const char* name : {"mpi/node/system/box", "mpi/node/pack/box", "mpi/node/packed",
                           "mpi/node/host", "pack/cpu/box", "unpack/cpu/box"}) {
    for (const std::int64_t bytes : {64, 1 << 24}) {
      strake::machine::Result result;
      result.name = name;
      if (result.name.starts_with("mpi/"))
        result.mpi =
            std::strcmp(state, "other") == 0 ? "Other MPI 1" : strake::exchange::mpi_library();
      result.bytes = bytes;
      result.block = result.name.ends_with("/box") ? 8 : 0;
      result.pitch = 2 * result.block;
      result.median = result.name == "mpi/node/pack/box" ? 1e-3 : 1e-6;
      if (std::strcmp(state, "doubtful") == 0)
        result.doubtful = "other processes used 1.3 of 2 CPUs";
      profile.results.push_back(result);
      for (const std::int64_t pitch : {128, 2056}) {
        if (result.block == 0) break;
        result.pitch = pitch;
        profile.results.push_back(result);
      }
    }
  }
  return profile;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return strake::machine::write_profile(argc, argv, argv[1], [&] { return profile_of(argv[2]); });
}
