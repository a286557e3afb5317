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
#include <string_view>
#include <vector>

#include "command/wrap.hpp"
#include "compared_runs.hpp"
#include "comparison.hpp"
#include "job.hpp"
#include "kinds.hpp"
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

/// How the output of a kind differs from that of the job alone.
std::optional<OutputDifference> difference_of(const Results& results, KindIndex kind) {
  for (const KindIndex which : {kAlone, kind}) {
    for (const std::string& output : results.kinds[which].outputs) {
      if (output.size() > kComparedBytes) return std::nullopt;
    }
  }
  return output_difference(results.kinds[kAlone].outputs, results.kinds[kind].outputs);
}

/// All that a comparison shows.
struct Findings {
  Comparison comparison;
  /// By KindIndex, from kUnder on.
  std::vector<std::optional<OutputDifference>> differences;

  explicit Findings(const Results& results)
      : comparison(measured(results), results.has_heap), differences(1) {
    for (std::size_t kind = kUnder; kind < results.kinds.size(); ++kind)
      differences.push_back(difference_of(results, static_cast<KindIndex>(kind)));
  }

 private:
  static std::vector<MeasuredRuns> measured(const Results& results) {
    std::vector<MeasuredRuns> runs;
    for (const Runs& kind : results.kinds) runs.push_back(kind.measured);
    return runs;
  }
};

/// False if it can't be written.
bool write_results(const std::string& file, const Options& options, const Arguments& command,
                   const Findings& findings, const std::vector<std::string>& doubts) {
  nlohmann::ordered_json json = {
      {"strake", STRAKE_VERSION}, {"command", command}, {"files", options.files}};
  json.update(findings.comparison.json());
  json["doubts"] = doubts;
  for (std::size_t kind = kUnder; kind < findings.differences.size(); ++kind) {
    const auto& difference = findings.differences[kind];
    const std::string key =
        kind == kUnder ? "output_differs" : std::string("output_differs_") + kKinds[kind].key;
    json[key] = nullptr;
    if (difference) {
      json[key] = {{kKinds[kAlone].key, difference->alone}, {kKinds[kind].key, difference->under}};
    }
  }
  std::ofstream out(file, std::ios::app);
  // A command and an output need not be UTF-8.
  out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
  return out.good();
}

/// The end of the sentence on a machine that makes it say less.
std::string doubtful(const std::vector<std::string>& doubts) {
  return doubts.empty() ? "" : fmt::format("; doubtful, as {}", fmt::join(doubts, ", and "));
}

/// A long sentence in lines that keep a number and its unit, or its error, together.
std::string in_lines(const std::string& sentence) {
  constexpr std::string_view kNoBreak = "\u00a0";
  std::string text;
  for (const char c : sentence) {
    const bool stays = c == ' ' && (text.ends_with("±") ||
                                    (!text.empty() && text.back() >= '0' && text.back() <= '9'));
    text += stays ? kNoBreak : std::string_view(&c, 1);
  }
  text = command::wrapped(text, 0, 0);
  for (std::size_t at = 0; (at = text.find(kNoBreak, at)) != std::string::npos;)
    text.replace(at, kNoBreak.size(), " ");
  return text;
}

void report_output(const OutputDifference& difference, const Kind& kind) {
  const auto line = [](const std::string& text) {
    return text.empty() ? std::string("no such line") : '"' + text + '"';
  };
  say("strake run: the program's output differs: alone {}, {} {}\n", line(difference.alone),
      kind.name, line(difference.under));
}

void report(const Options& options, const Arguments& command, const ComparedRuns& runs,
            const Findings& findings) {
  const Results& results = runs.results();
  const Comparison& comparison = findings.comparison;
  const bool three = comparison.kinds() > kHeap;
  if (isatty(STDERR_FILENO) != 0) say("\r\033[K");
  say("{}", results.kinds[kUnder].warnings);
  if (three && results.kinds[kHeap].warnings != results.kinds[kUnder].warnings)
    say("{}", results.kinds[kHeap].warnings);
  for (std::size_t kind = kUnder; kind < findings.differences.size(); ++kind) {
    if (findings.differences[kind]) report_output(*findings.differences[kind], kKinds[kind]);
  }
  if (!comparison.has_mpi_time() && !results.without_time.empty())
    say("strake run: compared by the time of the whole run alone: {}\n", results.without_time);
  const KindIndex best = comparison.best();
  const Runs& next = results.kinds[best == kHeap ? kHeap : kUnder];
  const std::string sentence = comparison.sentence() + doubtful(runs.doubts());
  const std::string title =
      three ? fmt::format("{} run{} of each kind", options.compare, options.compare == 1 ? "" : "s")
            : fmt::format("{} run{} alone and as many under Strake", options.compare,
                          options.compare == 1 ? "" : "s");
  say("strake run: {}, in turn; median (least to most)\n\n{}\n{}\n\n{}", title, comparison.table(),
      three ? in_lines(sentence) : sentence,
      next_steps(command, runs.launcher(), next.summary, best == kHeap));
  say("{}", python_advice(command, next.letters));
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
  const std::string json = options.json.empty() ? "" : emptied("--json", options.json);
  ComparedRuns runs(options, command, files);
  if (const int status = runs.run(); status != 0) return status;
  const Findings findings(runs.results());
  report(options, given, runs, findings);
  if (json.empty() || write_results(json, options, given, findings, runs.doubts())) return 0;
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
