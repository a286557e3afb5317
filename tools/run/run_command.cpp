#include "run_command.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "command/not_empty.hpp"
#include "job.hpp"
#include "job/report.hpp"
#include "job_check.hpp"
#include "job_report.hpp"
#include "program_check.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"
#include "summary_file.hpp"
#include "unreached.hpp"

namespace strake::run {
namespace fs = std::filesystem;
using preload::MpiLibrary;

namespace {

constexpr int kRefused = 2;

std::string random_id() {
  std::array<std::uint64_t, 2> words{};
  if (getrandom(words.data(), sizeof(words), 0) != sizeof(words)) throw Error("getrandom failed");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

/// The environment variables for the ranks: the preloaded object, this run's own variables, all
/// settings of this environment, and the folder of the profile.
Variables rank_variables(const Options& options, const std::string& folder,
                         const std::string& job) {
  const char* before = std::getenv("LD_PRELOAD");
  std::string preload = folder + "/libstrake-preload.so";
  if (before != nullptr && before[0] != '\0') preload += std::string(":") + before;
  Variables variables = {{"LD_PRELOAD", preload}};
  const auto set = [&](settings::Id id, const std::string& value) {
    variables.emplace_back(settings::all()[static_cast<std::size_t>(id)].name, value);
  };
  set(settings::Id::job, job);
  set(settings::Id::summary, options.quiet ? "0" : "1");
  if (!options.json.empty()) set(settings::Id::summary_json, emptied_summary(options.json));
  if (options.mpi != settings::text(settings::Id::mpi)) set(settings::Id::mpi, options.mpi);
  if (options.disable) set(settings::Id::disable, "1");
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

void say_alone(const WhyAlone& why) {
  say("strake run: each rank of this job was a job of its own: {}. {}{}\n", why.text,
      why.remedy.empty() ? "" : "Instead: ", why.remedy);
}

}  // namespace

int run(const Options& options, const Arguments& command) {
  const auto program = find_program(command[0]);
  if (!program) throw InvalidArgument(fmt::format("{}: command not found", command[0]));
  const MpiLibrary forced = options.mpi == "openmpi" ? MpiLibrary::OpenMpi
                            : options.mpi == "mpich" ? MpiLibrary::Mpich
                                                     : MpiLibrary::None;
  const std::string folder = library_folder();
  const std::string id = random_id();
  JobReport report(id);
  Variables variables = rank_variables(options, folder, id);

  int status = 0;
  bool all_static = false;
  std::function<WhyAlone()> alone = [] {
    return WhyAlone{"a launcher inside it started them", ""};
  };
  if (const auto at = launcher_in(command, *program, forced)) {
    const Arguments before(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(*at));
    const Arguments job_command(command.begin() + static_cast<std::ptrdiff_t>(*at), command.end());
    const Launcher launcher = ask_launcher(job_command[0]);
    all_static = check_job(launcher, job_command, folder, forced);
    alone = [=] { return why_alone(launcher, job_command); };
    variables.emplace_back(settings::all()[static_cast<std::size_t>(settings::Id::launcher)].name,
                           job_command[0]);
    Arguments whole = with_environment(launcher, job_command, variables);
    whole.insert(whole.begin(), before.begin(), before.end());
    status = run_job(whole, {});
  } else {
    // Without a launcher: one rank, which is the program itself.
    check_interposer(folder, check_program(*program, forced));
    status = run_job(command, variables);
  }

  const std::set<job::Letter>& letters = report.letters();
  if (letters.contains(job::Letter::Refused)) return kRefused;
  // Inside a rank of another job: the letters count there, too.
  for (const job::Letter letter : letters)
    job::leave_letter(settings::text(settings::Id::job), letter);
  if (letters.contains(job::Letter::Alone)) say_alone(alone());
  const std::string why = status == 0 ? why_unreached(letters, all_static) : "";
  if (why.empty() || (!options.json.empty() && has_summary(options.json))) return status;
  say("strake run: {}\n", why);
  if (!options.json.empty())
    write_empty_summary(options.json, settings::flag(settings::Id::disable) || options.disable,
                        why);
  return status;
}

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("run", "Run an MPI job with its data movement accelerated");
  app->footer("The job follows a double dash: strake run [OPTIONS] -- mpirun -n 4 ./program");
  app->add_flag("--quiet", options->quiet, "Print no summary at the end");
  app->add_option("--json", options->json, "Write the summary to this file")
      ->type_name("FILE")
      ->check(not_empty());
  app->add_option("--mpi", options->mpi,
                  "Treat an MPI library that is not known by its name as this one (for those with "
                  "its interface)")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich"}))
      ->capture_default_str();
  app->add_flag("--disable", options->disable,
                "Load the interposer, but let it pass every call through (to compare)");
  return {app, [options](const Arguments& job) { return run(*options, job); }, TakesJob::Needs};
}

}  // namespace strake::run
