/// \file  The programs that start MPI jobs, and their command lines: where the rank's program
/// stands in it, and how to set environment variables only for the ranks.
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

/// The launcher whose --version prints this; nothing if it is none of these.
[[nodiscard]] std::optional<Launcher> launcher_of_version(std::string_view version_output) noexcept;

using Arguments = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

/// A stretch of a command line between colons: one program of the job and its options.
struct Segment {
  std::size_t begin = 0;  ///< first option
  std::size_t end = 0;    ///< one past the program's last argument
  /// The program. Nothing after an unknown option, since the next word may be its value.
  std::optional<std::size_t> program;
};

/// The segments of `command`, whose first word is the launcher.
[[nodiscard]] std::vector<Segment> segments_of(Launcher launcher, const Arguments& command);

/// `command` with options that set `variables` for the ranks, and only for them. If the command
/// line, or Open MPI's list of variables in this environment, sets LD_PRELOAD, the value given here
/// is put before that one; other variables that are set there keep that value.
/// \throws InvalidArgument  a value that the launcher can't pass on.
[[nodiscard]] Arguments with_environment(Launcher launcher, const Arguments& command,
                                         const Variables& variables);

/// The number of ranks that a launcher's command line names; 0: it leaves that to the launcher.
/// Nothing: they may be on several nodes.
[[nodiscard]] std::optional<int> ranks_of(Launcher launcher, const Arguments& command);

}  // namespace strake::run
