#include "compare.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compared_runs.hpp"
#include "comparison.hpp"
#include "job.hpp"
#include "next_steps.hpp"
#include "output_difference.hpp"
#include "runs_folder.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"
#include "summary_file.hpp"

namespace strake::run {
namespace {

constexpr int kUnwritten = 1;

/// Outputs that are longer are not compared.
constexpr std::size_t kComparedBytes = std::size_t{16} << 20;

std::optional<OutputDifference> difference_of(const Results& results) {
  for (const Runs* kind : {&results.alone, &results.under}) {
    for (const std::string& output : kind->outputs) {
      if (output.size() > kComparedBytes) return std::nullopt;
    }
  }
  return output_difference(results.alone.outputs, results.under.outputs);
}

/// False if it can't be written.
bool write_results(const std::string& file, const Options& options, const Arguments& command,
                   const Comparison& comparison, const std::vector<std::string>& doubts,
                   const std::optional<OutputDifference>& difference) {
  nlohmann::ordered_json json = {
      {"strake", STRAKE_VERSION}, {"command", command}, {"files", options.files}};
  json.update(comparison.json());
  json["doubts"] = doubts;
  json["output_differs"] = nullptr;
  if (difference)
    json["output_differs"] = {{"alone", difference->alone}, {"under_strake", difference->under}};
  std::ofstream out(file, std::ios::app);
  // A command and an output need not be UTF-8.
  out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
  return out.good();
}

/// The end of the sentence on a machine that makes it say less.
std::string doubtful(const std::vector<std::string>& doubts) {
  return doubts.empty() ? "" : fmt::format("; doubtful, as {}", fmt::join(doubts, ", and "));
}

void report(const Options& options, const Arguments& command, const ComparedRuns& runs,
            const Comparison& comparison, const std::optional<OutputDifference>& difference) {
  const Results& results = runs.results();
  if (isatty(STDERR_FILENO) != 0) say("\r\033[K");
  say("{}", results.warnings);
  if (difference) {
    const auto line = [](const std::string& text) {
      return text.empty() ? std::string("no such line") : '"' + text + '"';
    };
    say("strake run: the program's output differs: alone {}, under Strake {}\n",
        line(difference->alone), line(difference->under));
  }
  if (!comparison.in_mpi() && !results.without_time.empty())
    say("strake run: compared by the time of the whole run alone: {}\n", results.without_time);
  say("strake run: {} run{} alone and as many under Strake, in turn; median (least to most)\n\n{}\n"
      "{}\n\n{}",
      options.compare, options.compare == 1 ? "" : "s", comparison.table(),
      comparison.sentence() + doubtful(runs.doubts()),
      next_steps(command, runs.launcher(), results.summary));
  say("{}", python_advice(command, results.letters));
}

/// A relative STRAKE_PROFILE is also found from a run's own folder.
void make_profile_absolute() {
  const std::string file(settings::text(settings::Id::profile));
  std::error_code error;
  if (std::filesystem::exists(file, error))
    setenv("STRAKE_PROFILE", std::filesystem::absolute(file).c_str(), 1);
}

int compared(const Options& options, const Arguments& given) {
  RunFiles files;
  files.copied = matches_of(options.files);
  const Arguments command = options.files.empty() ? given : reachable(given, files);
  make_profile_absolute();
  const std::string json = options.json.empty() ? "" : emptied_summary(options.json);
  ComparedRuns runs(options, command, files);
  if (const int status = runs.run(); status != 0) return status;
  const Results& results = runs.results();
  const Comparison comparison(results.alone.measured, results.under.measured);
  const auto difference = difference_of(results);
  report(options, given, runs, comparison, difference);
  if (json.empty() || write_results(json, options, given, comparison, runs.doubts(), difference))
    return 0;
  say("strake run: --json: {} can't be written\n", json);
  return kUnwritten;
}

}  // namespace

int compare(const Options& options, const Arguments& command) {
  if (settings::flag(settings::Id::disable))
    throw InvalidArgument("--compare: STRAKE_DISABLE=1 would also disable the runs under Strake");
  const Interruptions interruptions;
  try {
    return compared(options, command);
  } catch (const Interrupted&) {
    say("strake run: nothing is compared: ended by a signal ({})\n",
        strsignal(Interruptions::signal()));
    return 128 + Interruptions::signal();
  }
}

}  // namespace strake::run
