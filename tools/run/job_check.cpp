#include "job_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "job.hpp"
#include "needed_libraries.hpp"
#include "program_check.hpp"
#include "strake/error.hpp"

namespace strake::run {
namespace fs = std::filesystem;
using preload::MpiLibrary;

namespace {

/// A program that is linked to MPI is no launcher, even if it has the name of one.
bool is_launcher(const std::string& program) {
  const auto path = is_launcher_name(program) ? find_program(program) : std::nullopt;
  preload::MpiUse use;
  if (path) preload::find_mpi(path->c_str(), nullptr, use);
  return path && use.library == MpiLibrary::None;
}

/// Whether the launcher looks for a segment's program elsewhere than this process would.
bool is_elsewhere(const Arguments& command, const Segment& segment) {
  const auto first = command.begin() + static_cast<std::ptrdiff_t>(segment.begin);
  const auto program = command.begin() + static_cast<std::ptrdiff_t>(*segment.program);
  return (*program)[0] != '/' && std::any_of(first, program, [](const std::string& word) {
           return std::string_view(" -wdir --wdir -wd --wd -path --path ")
                      .find(' ' + word.substr(0, word.find('=')) + ' ') != std::string_view::npos;
         });
}

}  // namespace

std::optional<std::size_t> launcher_in(const Arguments& command, const std::string& program,
                                       MpiLibrary forced) {
  if (is_launcher(program)) return 0;
  if (check_program(program, forced) != MpiLibrary::None) return std::nullopt;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (is_launcher(command[i])) return i;
  }
  throw InvalidArgument(
      fmt::format("{} is neither a launcher (mpirun, mpiexec, srun) nor an MPI program; `strake "
                  "run --` belongs before "
                  "mpirun itself, also inside a script",
                  command[0]));
}

Launcher ask_launcher(const std::string& program) {
  const std::string version = output_of({program, "--version"});
  const auto launcher = launcher_of_version(version);
  if (launcher) return *launcher;
  throw InvalidArgument(
      fmt::format("{} starts jobs of an MPI library that Strake does not know (its --version: {})",
                  program, version.substr(0, version.find('\n'))));
}

std::vector<JobProgram> programs_of(Launcher launcher, const Arguments& command) {
  std::vector<JobProgram> programs;
  for (const Segment& segment : segments_of(launcher, command)) {
    JobProgram program{segment, false, std::nullopt};
    program.elsewhere = segment.program && is_elsewhere(command, segment);
    if (segment.program && !program.elsewhere)
      program.path = find_program(command[*segment.program]);
    programs.push_back(program);
  }
  return programs;
}

std::string launcher_for(MpiLibrary library, const std::string& library_path) {
  const bool openmpi = library == MpiLibrary::OpenMpi;
  const fs::path beside = fs::path(library_path).parent_path().parent_path() / "bin";
  std::vector<std::string> candidates;
  for (const char* name : {"mpirun", "mpiexec"}) {
    if (beside.is_absolute()) candidates.push_back((beside / name).string());
  }
  candidates.emplace_back(openmpi ? "mpirun.openmpi" : "mpirun.mpich");
  candidates.emplace_back(openmpi ? "orterun" : "mpiexec.hydra");
  candidates.insert(candidates.end(), {"mpirun", "mpiexec"});
  for (const std::string& candidate : candidates) {
    if (!find_program(candidate)) continue;
    const auto launcher = launcher_of_version(output_of({candidate, "--version"}));
    if (launcher == (openmpi ? Launcher::OpenMpi : Launcher::Hydra)) return candidate;
  }
  return {};
}

std::string why_alone(const std::optional<std::string>& path, const std::string& launcher,
                      Launcher kind) {
  preload::MpiUse use;
  if (path) preload::find_mpi(path->c_str(), nullptr, use);
  const bool known = use.library == MpiLibrary::OpenMpi || use.library == MpiLibrary::Mpich;
  const std::string program = path ? *path : "the program";
  if (kind == Launcher::Srun) {
    return fmt::format(
        "{} starts ranks that {} does not connect; `srun --mpi=list` shows what it can do, and "
        "--mpi=pmix is what most MPI libraries need",
        launcher, known ? title_of(use.library) : "the MPI library");
  }
  const bool foreign = known && (use.library == MpiLibrary::OpenMpi) != (kind == Launcher::OpenMpi);
  if (!foreign) {
    return fmt::format(
        "{} is {}'s launcher, and {} uses {} that it does not connect: another MPI library, or "
        "another installation of it",
        launcher, title_of(kind), program, known ? use.path : "an MPI library");
  }
  const std::string right = launcher_for(use.library, use.path);
  return fmt::format(
      "{} is linked to {}, but {} is {}'s launcher. {}", program, title_of(use.library), launcher,
      title_of(kind),
      right.empty() ? fmt::format("No launcher of {} was found on the PATH", title_of(use.library))
                    : fmt::format("Start it with {}", right));
}

const char* title_of(Launcher launcher) noexcept {
  return launcher == Launcher::OpenMpi ? "Open MPI"
         : launcher == Launcher::Hydra ? "MPICH"
                                       : "Slurm";
}

}  // namespace strake::run
