/// \file  The shared objects with benchmarks: found beside the command, loaded if they can work
/// here.
#pragma once

#include <memory>
#include <string>

#include "case.hpp"

namespace strake::measure {

struct LoadedPlugin {
  std::string name;                ///< "openmpi", "mpich", "cuda"
  std::unique_ptr<Plugin> plugin;  ///< ends MPI when it goes: after its cases
};

/// The MPI library of the launcher that started this process, "openmpi" or "mpich" (STRAKE_MPI says
/// which where one launcher starts both); empty for none.
[[nodiscard]] std::string launcher_flavor();

/// The plug-in of the launcher's MPI library. With `name` empty there is no launcher.
/// \throws Error  this process is a rank, but the plug-in of its library can't be loaded: the ranks
/// would not know of each other, and all would measure and write at once
[[nodiscard]] LoadedPlugin load_mpi_plugin();

/// The CUDA plug-in, if this machine has a driver; `complaint` says why there is none in spite of a
/// driver.
[[nodiscard]] LoadedPlugin load_cuda_plugin(std::string& complaint);

}  // namespace strake::measure
