// make_profile FILE PART…
// Writes a profile of this machine and this MPI library that nobody measured
// (tests/unit/summit_profile.hpp): a node of GPUs, where all whose name has one of these parts in
// it takes a million times as long.
#include <span>
#include <string>

#include "../support/write_profile.hpp"
#include "../unit/summit_profile.hpp"
#include "exchange/choice/choice.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::span<char*> parts(argv + 2, static_cast<std::size_t>(argc - 2));
  return strake::machine::write_profile(argc, argv, argv[1], [&] {
    strake::machine::Profile profile = strake::machine::summit::profile();
    for (strake::machine::Result& result : profile.results) {
      if (!result.mpi.empty()) result.mpi = strake::exchange::mpi_library();
      for (const char* part : parts)
        if (result.name.find(part) != std::string::npos) result.median *= 1e6;
    }
    return profile;
  });
}
