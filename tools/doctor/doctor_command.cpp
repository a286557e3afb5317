#include "doctor_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <climits>
#include <filesystem>
#include <memory>

#include "find.hpp"
#include "preload/mpi_library.hpp"
#include "preload/own_program.hpp"
#include "run/program_check.hpp"
#include "strake/error.hpp"

namespace strake::doctor {
namespace fs = std::filesystem;

namespace {

constexpr int kBroken = 1;

/// The word that starts this command: "strake" if PATH leads to this program, otherwise its path.
std::string own_name() {
  char self[PATH_MAX];
  preload::own_program(self);
  const auto found = run::find_program("strake");
  std::error_code error;
  return found && fs::equivalent(*found, self, error) ? "strake" : self;
}

/// The MPI libraries that there are interposers for. Notes why there can be none.
void find_interposers(std::string& folder, Facts& facts) {
  try {
    folder = run::library_folder();
  } catch (const InvalidArgument& error) {
    facts.interposer_problem = error.what();
    return;
  }
  for (const auto library : {preload::MpiLibrary::OpenMpi, preload::MpiLibrary::Mpich}) {
    if (fs::exists(fmt::format("{}/libstrake-mpi-{}.so", folder, flavor_of(library))))
      facts.libraries.emplace_back(title_of(library));
  }
  if (facts.libraries.empty())
    facts.interposer_problem =
        fmt::format("there is no interposer (libstrake-mpi-*) in {}", folder);
}

int run(bool json, const run::Arguments& job) {
  Facts facts;
  std::string folder;
  find_interposers(folder, facts);
  facts.strake = own_name();
  facts.machine = find_machine();
  facts.gpus = find_gpus();
  facts.profile = find_profile();
  facts.environment = find_environment();
  if (!job.empty()) facts.job = find_job(job, folder, !facts.gpus.gpus.empty());
  const Report report = judge(facts);
  fmt::print("{}", json ? to_json(report) : to_text(report));
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const Finding& finding) { return finding.state == State::Broken; })
             ? kBroken
             : 0;
}

}  // namespace

Command command(CLI::App& parent) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* app =
      parent.add_subcommand("doctor", "Check whether Strake works in a job here, or why not");
  app->footer(
      "A job's whole line follows a double dash: strake doctor -- mpirun -n 4 ./program\n"
      "Its launcher is started with a probe in the program's place; without it, only the machine\n"
      "is checked. Ends with status 1 if something is broken.");
  app->add_flag("--json", *json, "Print JSON");
  return {app, [json](const run::Arguments& job) { return run(*json, job); }, TakesJob::MayTake};
}

}  // namespace strake::doctor
