#include "compared_runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "follower.hpp"
#include "job.hpp"
#include "machine_doubts.hpp"
#include "say.hpp"
#include "strake/error.hpp"
#include "unreached.hpp"

namespace strake::run {

namespace {

/// Number of bytes that are shown of each output of a failed run, the last ones.
constexpr std::size_t kShownBytes = std::size_t{16} << 10;

void check_interruption() {
  if (Interruptions::signal() != 0) throw Interrupted();
}

/// Standard input of this process, in a file, so that each run can read it. A terminal is not read:
/// nobody types the same several times.
std::string kept_input(const RunsFolder& runs) {
  constexpr int kPatience_ms = 2000;
  if (isatty(STDIN_FILENO) != 0) return "/dev/null";
  const std::string file = runs.file("input");
  std::ofstream kept(file, std::ios::binary);
  bool told = false;
  std::array<char, 1 << 16> part{};
  for (ssize_t got = 1; got > 0;) {
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    // Signals end poll(), but not read().
    const int found = poll(&ready, 1, told ? -1 : kPatience_ms);
    check_interruption();
    if (found == 0) {
      say("strake run: reads standard input, which each run is given, to its end; if the program "
          "needs none: < /dev/null\n");
      told = true;
    }
    if (found <= 0) continue;
    got = read(STDIN_FILENO, part.data(), part.size());
    if (got > 0) kept.write(part.data(), got);
  }
  if (!kept.flush()) throw Error(fmt::format("{} can't be written", file));
  return file;
}

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The part of a summary that --compare reads; nothing if it has none.
std::optional<MpiTime> mpi_time_of(const nlohmann::json& summary) {
  const auto time = summary.is_object() ? summary.find("time") : summary.end();
  if (time == summary.end() || !time->is_object()) return std::nullopt;
  const auto seconds = time->find("in_mpi_s");
  const auto share = time->find("in_mpi_share");
  if (seconds == time->end() || share == time->end() || !seconds->is_number() ||
      !share->is_number())
    return std::nullopt;
  return MpiTime{seconds->get<double>(), share->get<double>()};
}

/// The ranks by what they made of the shared heap, in a summary of a run that was to have one.
std::map<std::string, std::int64_t> heap_uses(const nlohmann::json& summary) {
  std::map<std::string, std::int64_t> uses;
  const auto heap = summary.is_object() ? summary.find("shared_heap") : summary.end();
  if (heap == summary.end() || !heap->is_object() || !heap->contains("ranks")) return uses;
  for (const auto& [use, ranks] : (*heap)["ranks"].items()) {
    if (ranks.is_number_integer() && ranks != 0) uses[use] = ranks.get<std::int64_t>();
  }
  return uses;
}

/// Warnings and errors that Strake logged.
std::string warnings_in(const std::string& errors) {
  std::string lines;
  std::istringstream stream(errors);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("strake warning") || line.starts_with("strake error"))
      lines += line + "\n";
  }
  return lines;
}

/// Says what a status means, as far as that is known. `output`: the run's own. A launcher's status
/// above 128 may be a program's own: it is a signal's if the launcher or a shell has named that.
std::string meaning_of(const ProcessEnd& end, const Arguments& command, const std::string& output) {
  const int status = end.status;
  constexpr int kTimeout = 124;
  if (status == kTimeout) {
    const bool limited = std::any_of(command.begin(), command.end(), [](const auto& word) {
      return word.find("timeout") != std::string::npos;
    });
    if (limited) return " (it ran past its time limit)";
  }
  const char* signal = status > 128 && status < 128 + NSIG ? strsignal(status - 128) : nullptr;
  const bool known =
      signal != nullptr && (end.by_signal || output.find(signal) != std::string::npos);
  return known ? fmt::format(" ({})", signal) : "";
}

void show_end_of(const std::string& title, const std::string& text) {
  if (text.empty()) return;
  const bool all = text.size() <= kShownBytes;
  say("--- its {}{}\n{}{}", title, all ? "" : ", the last 16 KiB",
      all ? text : text.substr(text.size() - kShownBytes), text.ends_with('\n') ? "" : "\n");
}

}  // namespace

int ComparedRuns::run() {
  input_ = kept_input(runs_);
  doubts_ = machine_doubts();
  const auto note_crowding = [this](int ranks) {
    if (const std::string crowd = crowding(ranks); !crowd.empty()) doubts_.push_back(crowd);
  };
  const std::optional<int> ranks = job_.ranks_here();
  note_crowding(ranks.value_or(0));
  check_interruption();
  if (!doubts_.empty()) say("strake run: the times will say less: {}\n", fmt::join(doubts_, "; "));
  const std::size_t kinds = results_.kinds.size();
  for (int turn = 1; turn <= options_.compare; ++turn) {
    // The order rotates, so that a machine that becomes slower harms all kinds.
    for (std::size_t place = 0; place < kinds; ++place) {
      const std::size_t which = (static_cast<std::size_t>(turn - 1) + place) % kinds;
      const int status = run_one(static_cast<KindIndex>(which), turn);
      if (status != 0) return status;
    }
  }
  const nlohmann::json& summary = results_.kinds[kUnder].summary;
  if (ranks == 0 && summary.is_object()) note_crowding(summary.value("ranks", 0));
  if (kinds > kHeap) note_heap_uses();
  return 0;
}

void ComparedRuns::note_heap_uses() {
  const std::string used = "in use";
  const auto uses = heap_uses(results_.kinds[kHeap].summary);
  results_.has_heap = uses.empty() || uses.contains(used);
  for (const auto& [use, count] : uses) {
    if (use != used) {
      doubts_.push_back(
          fmt::format("{} rank{} had no shared heap: {}", count, count == 1 ? "" : "s", use));
    }
  }
}

int ComparedRuns::run_one(KindIndex which, int turn) {
  const Kind& kind = kKinds[which];
  Runs& results = results_.kinds[which];
  check_interruption();
  const std::string name = kind.prefix + std::to_string(turn);
  Surroundings where;
  if (!options_.files.empty()) where.folder = runs_.folder(name, files_);
  where.in = input_;
  where.out = runs_.file(name + ".out");
  where.err = runs_.file(name + ".err");
  Options one = options_;
  one.quiet = true;
  one.disable = kind.disable;
  one.shared_heap = kind.shared_heap;
  one.json = runs_.file(name + ".json");
  check_interruption();
  show_progress(kind, turn);
  Ended ended;
  {
    std::array<std::unique_ptr<Follower>, 2> followers;
    if (first_) {
      followers = {std::make_unique<Follower>(where.out, STDOUT_FILENO),
                   std::make_unique<Follower>(where.err, STDERR_FILENO)};
    }
    ended = job_.start(one, where);
  }
  check_interruption();
  if (ended.refused()) static_cast<ProcessEnd&>(ended) = {kRefused, false};
  const int status = ended.status;
  if (status != 0) {
    report_failure(kind, turn,
                   meaning_of(ended, command_, contents(where.out) + contents(where.err)), status);
    if (!first_) {
      show_end_of("standard output", contents(where.out));
      show_end_of("standard error", contents(where.err));
    }
    return status;
  }
  first_ = false;
  if (!where.folder.empty()) std::filesystem::remove_all(where.folder);
  results.outputs.push_back(contents(where.out));
  if (!kind.disable && turn == 1) results.warnings = warnings_in(contents(where.err));
  read_summary(which, one.json, ended);
  return 0;
}

/// The first run's output goes to the terminal, so nothing is written over it.
void ComparedRuns::show_progress(const Kind& kind, int turn) const {
  if (first_ || isatty(STDERR_FILENO) == 0) return;
  say("\r\033[Krun {} of {} {}", turn, options_.compare, kind.name);
}

void ComparedRuns::report_failure(const Kind& kind, int turn, const std::string& meaning,
                                  int status) const {
  if (!first_ && isatty(STDERR_FILENO) != 0) say("\r\033[K");
  const auto succeeded = [](const char* where, std::size_t runs) {
    return fmt::format("{} run{} {} succeeded before", runs, runs == 1 ? "" : "s", where);
  };
  std::string before;
  for (std::size_t other = 0; other < results_.kinds.size(); ++other) {
    const std::size_t runs = results_.kinds[other].outputs.size();
    if (runs != 0) before += "; " + succeeded(kKinds[other].name, runs);
  }
  say("strake run: nothing is compared: run {} of {} {} ended with status {}{}{}\n", turn,
      options_.compare, kind.name, status, meaning, before);
}

void ComparedRuns::read_summary(KindIndex which, const std::string& file, const Ended& ended) {
  Runs& results = results_.kinds[which];
  const auto summary = nlohmann::json::parse(contents(file), nullptr, false);
  MeasuredRun run{ended.wall_s, mpi_time_of(summary)};
  if (!run.in_mpi && results_.without_time.empty()) {
    results_.without_time = why_unreached(ended.letters, job_.all_static());
    if (results_.without_time.empty())
      results_.without_time = "rank 0 wrote no summary of it to " + file;
  }
  if (!kKinds[which].disable) {
    results.letters = ended.letters;
    if (!summary.is_discarded()) results.summary = summary;
  }
  results.measured.push_back(run);
}

}  // namespace strake::run
