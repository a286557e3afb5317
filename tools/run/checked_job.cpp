#include "checked_job.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "job_check.hpp"
#include "job_report.hpp"
#include "needed_libraries.hpp"
#include "program_check.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"
#include "summary_file.hpp"

namespace strake::run {
using preload::MpiLibrary;

namespace {

std::string random_id() {
  std::array<std::uint64_t, 2> words{};
  if (getrandom(words.data(), sizeof(words), 0) != sizeof(words)) throw Error("getrandom failed");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

/// The environment variables for the ranks: the preloaded object, this run's own variables, all
/// settings of this environment, and the folder of the profile.
Variables rank_variables(const Options& options, const std::string& folder, const std::string& job,
                         const std::string& launcher) {
  const char* before = std::getenv("LD_PRELOAD");
  std::string preload = folder + "/libstrake-preload.so";
  const bool heap = options.shared_heap && !options.disable;
  if (heap) preload += ":" + folder + "/libstrake-heap.so";
  if (before != nullptr && before[0] != '\0') preload += std::string(":") + before;
  Variables variables = {{"LD_PRELOAD", preload}};
  const auto set = [&](settings::Id id, const std::string& value) {
    variables.emplace_back(settings::all()[static_cast<std::size_t>(id)].name, value);
  };
  set(settings::Id::job, job);
  set(settings::Id::summary, options.quiet ? "0" : "1");
  if (!options.json.empty()) set(settings::Id::summary_json, emptied("--json", options.json));
  if (!options.record_graph.empty())
    set(settings::Id::record_graph, emptied("--record-graph", options.record_graph));
  if (options.mpi != settings::text(settings::Id::mpi)) set(settings::Id::mpi, options.mpi);
  if (options.disable) set(settings::Id::disable, "1");
  if (options.shared_heap || settings::flag(settings::Id::shared_heap))
    set(settings::Id::shared_heap, heap ? "1" : "0");
  if (!launcher.empty()) set(settings::Id::launcher, launcher);
  // Also wrong settings: rank 0 reports them.
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("STRAKE_") || name.size() == text.size()) continue;
    if (std::any_of(variables.begin(), variables.end(),
                    [&](const auto& v) { return v.first == name; }))
      continue;
    variables.emplace_back(name, text.substr(name.size() + 1));
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] != '\0') variables.emplace_back("XDG_CACHE_HOME", cache);
  return variables;
}

/// Checks the programs of a launcher's command line, as far as they can be found here. The program
/// decides which MPI library it is, not the launcher: Open MPI's launcher starts an MPICH built for
/// PMIx. True: all programs are static, so their processes will not report to this command.
bool check_job(Launcher launcher, const Arguments& command, const std::string& folder,
               MpiLibrary forced) {
  const std::vector<JobProgram> programs = programs_of(launcher, command);
  bool all_static = !programs.empty();
  for (const JobProgram& program : programs) {
    const MpiLibrary library =
        program.path ? check_program(*program.path, forced) : MpiLibrary::None;
    if (library != MpiLibrary::None) check_interposer(folder, library);
    if (program.path && insists_on_first(*program.path, command))
      say("strake run: {} {}; {}\n", *program.path, kFirstProblem, kFirstRemedy);
    all_static = all_static && program.path && is_static(*program.path);
  }
  return all_static;
}

}  // namespace

CheckedJob::CheckedJob(const Options& options, const Arguments& command) : command_(command) {
  const std::string program = required_program(command[0]);
  const MpiLibrary forced = options.mpi == "openmpi" ? MpiLibrary::OpenMpi
                            : options.mpi == "mpich" ? MpiLibrary::Mpich
                                                     : MpiLibrary::None;
  folder_ = library_folder();
  if (options.shared_heap) check_heap(folder_);
  if (const auto at = launcher_in(command, program, forced)) {
    at_ = *at;
    const Arguments job_command(command.begin() + static_cast<std::ptrdiff_t>(at_), command.end());
    launcher_ = ask_launcher(job_command[0]);
    all_static_ = check_job(*launcher_, job_command, folder_, forced);
  } else {
    // Without a launcher: one rank, which is the program itself.
    check_interposer(folder_, check_program(program, forced));
  }
}

Ended CheckedJob::start(const Options& options, const Surroundings& where) const {
  const std::string id = random_id();
  JobReport report(id);
  const Variables variables = rank_variables(options, folder_, id, launcher());
  Arguments whole = command_;
  if (launcher_) {
    const auto launcher = command_.begin() + static_cast<std::ptrdiff_t>(at_);
    whole = with_environment(*launcher_, Arguments(launcher, command_.end()), variables);
    whole.insert(whole.begin(), command_.begin(), launcher);
  }
  const auto begin = std::chrono::steady_clock::now();
  Ended ended;
  static_cast<ProcessEnd&>(ended) = run_job(whole, launcher_ ? Variables{} : variables, where);
  ended.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ended.letters = report.letters();
  return ended;
}

WhyAlone CheckedJob::why_alone() const {
  if (!launcher_) return {"a launcher inside it started them", ""};
  return run::why_alone(*launcher_,
                        {command_.begin() + static_cast<std::ptrdiff_t>(at_), command_.end()});
}

std::optional<int> CheckedJob::ranks_here() const {
  if (!launcher_) return 1;
  return ranks_of(*launcher_,
                  {command_.begin() + static_cast<std::ptrdiff_t>(at_), command_.end()});
}

std::string CheckedJob::launcher() const { return launcher_ ? command_[at_] : std::string(); }

}  // namespace strake::run
