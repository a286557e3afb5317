/// \file  Facts of a job that are known before it starts: its launcher, its programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher.hpp"
#include "mpi_library.hpp"
#include "needed_libraries.hpp"

namespace strake::run {

/// Which word of `command` is the launcher: the first, or a later one after a program such as
/// timeout or numactl. Nothing if the command is an MPI program itself.
/// \throws InvalidArgument  it is neither.
/// \param program  the path of the first word
[[nodiscard]] std::optional<std::size_t> launcher_in(const Arguments& command,
                                                     const std::string& program,
                                                     preload::MpiLibrary forced);

/// Runs it with --version. \throws InvalidArgument  it is the launcher of an unknown MPI library.
[[nodiscard]] Launcher ask_launcher(const std::string& program);

/// Name of the software that a launcher belongs to: "Open MPI", "MPICH" or "Slurm".
[[nodiscard]] const char* title_of(Launcher launcher) noexcept;

/// The program of one segment of a launcher's command line.
struct JobProgram {
  Segment segment;
  bool elsewhere = false;           ///< the launcher looks for it in a folder that its options name
  std::optional<std::string> path;  ///< as far as it can be found here
};
[[nodiscard]] std::vector<JobProgram> programs_of(Launcher launcher, const Arguments& command);

/// A launcher that belongs to `library`: one of the installation that the library's file is in, or
/// on the PATH. Empty: none was found. Runs each candidate with --version.
[[nodiscard]] std::string launcher_for(preload::MpiLibrary library,
                                       const std::string& library_path);

/// Why each rank of a job is a job of its own, for people.
struct WhyAlone {
  std::string text;
  std::string remedy;  ///< how to start it; empty: not known
};
/// \param command  begins with the launcher, which is of that kind
/// \param use  the MPI library of its first program
[[nodiscard]] WhyAlone why_alone(Launcher kind, const Arguments& command,
                                 const preload::MpiUse& use);
/// As above, with the MPI library that the program's file is linked to.
[[nodiscard]] WhyAlone why_alone(Launcher kind, const Arguments& command);

}  // namespace strake::run
