#include "job_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "job.hpp"
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

WhyAlone why_alone(Launcher kind, const Arguments& command, const preload::MpiUse& use) {
  const JobProgram program = programs_of(kind, command)[0];
  const bool known = use.library == MpiLibrary::OpenMpi || use.library == MpiLibrary::Mpich;
  const std::string name =
      program.segment.program ? command[*program.segment.program] : "its program";
  if (kind == Launcher::Srun) {
    return {fmt::format("{} does not connect ranks of {}", command[0],
                        known ? title_of(use.library) : "this MPI library"),
            "srun --mpi=pmix, or another way that `srun --mpi=list` shows"};
  }
  if (!known || (use.library == MpiLibrary::OpenMpi) == (kind == Launcher::OpenMpi)) {
    return {fmt::format("{} is {}'s launcher, and does not connect ranks of {} that {} uses",
                        command[0], title_of(kind), known ? use.path : "the MPI library", name),
            "start it with the launcher of the installation that it was built with"};
  }
  WhyAlone why{fmt::format("{} uses {}, but {} is {}'s launcher", name, title_of(use.library),
                           command[0], title_of(kind)),
               ""};
  const std::string right = launcher_for(use.library, use.path);
  if (right.empty()) {
    why.remedy =
        fmt::format("start it with {}'s launcher, which is not on the PATH", title_of(use.library));
    return why;
  }
  // -n is the same for all launchers; other options are not.
  const std::size_t at = program.segment.program.value_or(0);
  const bool plain = at == 1 || (at == 3 && (command[1] == "-n" || command[1] == "-np"));
  why.remedy = plain
                   ? fmt::format("{} {}", right, fmt::join(command.begin() + 1, command.end(), " "))
                   : fmt::format("start it with {}, whose options differ", right);
  return why;
}

WhyAlone why_alone(Launcher kind, const Arguments& command) {
  const JobProgram program = programs_of(kind, command)[0];
  preload::MpiUse use;
  if (program.path) preload::find_mpi(program.path->c_str(), nullptr, use);
  return why_alone(kind, command, use);
}

const char* title_of(Launcher launcher) noexcept {
  return launcher == Launcher::OpenMpi ? "Open MPI"
         : launcher == Launcher::Hydra ? "MPICH"
                                       : "Slurm";
}

}  // namespace strake::run
