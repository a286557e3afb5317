#include "run_command.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "checked_job.hpp"
#include "command/not_empty.hpp"
#include "compare.hpp"
#include "job/report.hpp"
#include "next_steps.hpp"
#include "program_check.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "statistics.hpp"
#include "summary_file.hpp"
#include "unreached.hpp"

namespace strake::run {
namespace {

void say_alone(const WhyAlone& why) {
  say("strake run: each rank of this job was a job of its own: {}. {}{}\n", why.text,
      why.remedy.empty() ? "" : "Instead: ", why.remedy);
}

}  // namespace

int run(const Options& options, const Arguments& command) try {
  if (options.compare > 0) return compare(options, command);
  const CheckedJob job(options, command);
  const Ended ended = job.start(options);
  if (ended.refused()) return kRefused;
  // Inside a rank of another job: the letters count there, too.
  for (const job::Letter letter : ended.letters)
    job::leave_letter(settings::text(settings::Id::job), letter);
  if (ended.letters.contains(job::Letter::Alone)) say_alone(job.why_alone());
  if (!options.quiet && !options.disable) {
    if (const std::string advice = python_advice(command, ended.letters); !advice.empty())
      say("strake run: {}", advice);
  }
  const std::string why = ended.status == 0 ? why_unreached(ended.letters, job.all_static()) : "";
  if (why.empty() || (!options.json.empty() && has_summary(options.json))) return ended.status;
  say("strake run: {}\n", why);
  if (!options.json.empty())
    write_empty_summary(options.json, settings::flag(settings::Id::disable) || options.disable,
                        why);
  return ended.status;
} catch (const NotExecutable& error) {
  say("strake run: {}\n", error.what());
  return NotExecutable::kStatus;
}

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      parent.add_subcommand("run", "Run an MPI job with Strake in each of its programs");
  app->footer("The job follows a double dash: strake run [OPTIONS] -- mpirun -n 4 ./program");
  CLI::Option* quiet = app->add_flag("--quiet", options->quiet, "Print no summary at the end");
  app->add_option("--json", options->json, "Write the summary to this file")
      ->type_name("FILE")
      ->check(not_empty());
  app->add_option("--mpi", options->mpi,
                  "Treat an MPI library that is not known by its name as this one (for those with "
                  "its interface)")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich"}))
      ->capture_default_str();
  CLI::Option* disable = app->add_flag("--disable", options->disable,
                                       "Load the interposer, but let it pass every call through");
  app->add_flag(
      "--shared-heap", options->shared_heap,
      "Take large blocks of malloc from memory that ranks of a node can share: nonblocking "
      "and persistent messages are copied once, not twice; with --compare, N runs more "
      "go with it");
  CLI::Option* graph =
      app->add_option("--record-graph", options->record_graph,
                      "Write to this file how many bytes the ranks send each other, for strake "
                      "plan --graph")
          ->type_name("FILE")
          ->check(not_empty())
          ->excludes(disable);
  CLI::Option* compare =
      app->add_option("--compare", options->compare,
                      "Run the job N times alone and N times under Strake, and compare the times")
          ->type_name("N")
          ->check(CLI::Range(1, kMostRuns))
          ->excludes(quiet)
          ->excludes(graph)
          ->excludes(disable);
  app->add_option("--files", options->files,
                  "Give each run of --compare a folder of its own with a copy of these files")
      ->type_name("PATTERN")
      ->check(not_empty())
      ->needs(compare);
  return {app, [options](const Arguments& job) { return run(*options, job); }, TakesJob::Needs};
}

}  // namespace strake::run
