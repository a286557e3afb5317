// state_profile FILE measured|doubtful|other|shared|packed|left
// Writes a profile of this machine that nobody measured: with this MPI library, with this one while
// the machine was busy, or with another one; or one by which messages by shared memory, packed ones
// or the MPI library's own are the fastest.
#include <string>

#include "../../support/write_profile.hpp"
#include "exchange/choice/choice.hpp"

namespace {

using strake::machine::Result;

/// Microseconds of any message.
double time_of(const std::string& name, const std::string& state) {
  if (name == "mpi/node/shared/box") return state == "shared" ? 0.1 : 1e4;
  if (name == "mpi/node/pack/box") return state == "packed" ? 0.1 : 1e3;
  return 1;
}

strake::machine::Profile profile_of(const std::string& state) {
  strake::machine::Profile profile;
  profile.host = "node1";
  profile.date = "2026-11-27";
  const bool has_shared = state == "shared" || state == "packed" || state == "left";
  for (const std::string name :
       {"mpi/node/system/box", "mpi/node/pack/box", "mpi/node/shared/box", "mpi/node/packed",
        "mpi/node/host", "pack/cpu/box", "unpack/cpu/box"}) {
    if (name == "mpi/node/shared/box" && !has_shared) continue;
    for (const std::int64_t bytes : {64, 1 << 24}) {
      Result result;
      result.name = name;
      if (name.starts_with("mpi/"))
        result.mpi = state == "other" ? "Other MPI 1" : strake::exchange::mpi_library();
      result.bytes = bytes;
      result.block = name.ends_with("/box") ? 8 : 0;
      result.pitch = 2 * result.block;
      result.median = time_of(name, state) * 1e-6;
      if (state == "doubtful") result.doubtful = "other processes used 1.3 of 2 CPUs";
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
