/// \file  The programs that start MPI jobs, and their command lines: where a rank's program stands
/// in one, and how to set environment variables for the ranks alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strake::run {

enum class Launcher : std::uint8_t {
  OpenMpi,  ///< orterun, prterun and the names that link to them
  Hydra,    ///< MPICH's mpiexec
  Srun,     ///< Slurm's
};

/// Whether a program of this name is one that starts MPI jobs, of whichever library.
[[nodiscard]] bool is_launcher_name(std::string_view program) noexcept;

/// Which launcher prints this when asked for its --version; nothing where it is none of those.
[[nodiscard]] std::optional<Launcher> launcher_of_version(std::string_view version_output) noexcept;

using Arguments = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

/// A stretch of a command line between colons: one program of the job and its options.
struct Segment {
  std::size_t begin = 0;  ///< first option
  std::size_t end = 0;    ///< one past the program's last argument
  /// The program; nothing where an option that is not known here leaves open whether a word is its
  /// value.
  std::optional<std::size_t> program;
};

/// The segments of `command`, whose first word is the launcher.
[[nodiscard]] std::vector<Segment> segments_of(Launcher launcher, const Arguments& command);

/// `command` with options that set `variables` for the ranks, and only for them. LD_PRELOAD is put
/// before the value that the command line gives it, or Open MPI's list of variables in this
/// environment; of other variables the value given there stays. \throws InvalidArgument  a value
/// that the launcher has no way to pass on.
[[nodiscard]] Arguments with_environment(Launcher launcher, const Arguments& command,
                                         const Variables& variables);

}  // namespace strake::run
