#include "measure_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <tuple>
#include <vector>

#include "clocks.hpp"
#include "command/not_empty.hpp"
#include "command_line.hpp"
#include "cpu/cpu_cases.hpp"
#include "driver.hpp"
#include "end_note.hpp"
#include "host.hpp"
#include "machine/profile.hpp"
#include "noise.hpp"
#include "plugins.hpp"
#include "profile_file.hpp"
#include "progress.hpp"
#include "say.hpp"
#include "settings/counted.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"
#include "text.hpp"

namespace strake::measure {
namespace {

using Json = nlohmann::ordered_json;

int seconds_of(const Options& options) {
  if (options.seconds > 0) return options.seconds;
  return options.quick ? Options::kQuickSeconds : Options::kFullSeconds;
}

/// Time that the cases may take: the rest is for the last case, which may take longer than its
/// share, and for the end. [s]
double budget_of(const Options& options) {
  const double seconds = seconds_of(options);
  return seconds - std::max(10.0, seconds / 15);
}

// Work that an interrupted run loses, at most.
constexpr double kSaveSeconds = 2;

constexpr int kUsageError = 2;
constexpr int kWrongData = 1;

/// The plug-ins. The MPI plug-in goes last: it ends MPI.
struct Suites {
  LoadedPlugin mpi;
  LoadedPlugin cuda;
  std::vector<Case> mpi_cases;

  [[nodiscard]] Team* team() const { return mpi.plugin == nullptr ? nullptr : mpi.plugin->team(); }
};

std::vector<Entry> entries_of(Suites& suites) {
  std::vector<Entry> all;
  const auto add = [&](std::vector<Case> cases, const std::string& mpi) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      all.push_back({std::move(cases[i]), mpi, static_cast<std::int64_t>(i)});
    }
  };
  Cases of_cpu;
  const std::int64_t memory = memory_to_spend();
  add_cpu_packs(of_cpu, memory);
  add_memcpy(of_cpu, memory);
  add(std::move(of_cpu), "");
  if (suites.cuda.plugin != nullptr) add(suites.cuda.plugin->cases(), "");
  if (suites.mpi.plugin != nullptr) add(suites.mpi_cases, suites.team()->library());
  return all;
}

/// The entries that the options select.
std::vector<Entry> chosen(std::vector<Entry> entries, const Options& options) {
  const std::regex filter(options.filter);
  std::erase_if(entries, [&](const Entry& entry) {
    return (options.quick && !entry.what.quick) ||
           !std::regex_search(filter_text(entry.what), filter);
  });
  return entries;
}

void list(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    const std::string count =
        entry.what.count == 0 ? "" : fmt::format(" count {}", entry.what.count);
    fmt::print("{}{}{}\n", filter_text(entry.what), count, entry.what.quick ? " quick" : "");
  }
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Json facts(const Suites& suites, const std::string& clocks) {
  const Host& node = host();
  Json all = {{"cpu", node.cpu},
              {"sockets", node.sockets},
              {"numa_nodes", std::max<std::size_t>(node.numa_nodes.size(), 1)},
              {"cores", node.cores},
              {"threads", node.threads},
              {"memory_bytes", node.memory_bytes},
              {"clocks", clocks}};
  for (const LoadedPlugin* loaded : {&suites.mpi, &suites.cuda}) {
    if (loaded->plugin != nullptr) all.update(Json::parse(loaded->plugin->machine()));
  }
  return all;
}

/// The last words of a run that a signal ends, with `kept` results of it in the profile.
std::string note_of_end(std::size_t kept, const std::string& path) {
  const std::string results = counted(static_cast<std::int64_t>(kept), "result");
  return fmt::format(
      "\nstrake measure: ended by a signal; {} of this run {} kept, in {}. This goes on from "
      "there:\n    {}\n",
      kept == 0 ? "no result" : results, kept < 2 ? "is" : "are", path, command_to_resume());
}

/// Saves now and then, and at the end. A profile that can't be written is no reason to lose the
/// table: it is said, once.
class Saver {
 public:
  explicit Saver(ProfileFile& file) : file_(file) { EndNote::say(note_of_end(0, file_.path())); }
  /// One result more to save.
  void add() { ++results_; }
  void now_and_then() {
    if (last_.seconds() > kSaveSeconds) now();
  }
  void now() {
    last_ = Stopwatch();
    try {
      file_.save();
      error_.clear();
      EndNote::say(note_of_end(results_, file_.path()));
    } catch (const std::exception& error) {
      error_ = error.what();
      if (!said_) say("strake measure: {}\n", error_);
      said_ = true;
    }
  }
  [[nodiscard]] bool failed() const noexcept { return !error_.empty(); }

 private:
  ProfileFile& file_;
  std::size_t results_ = 0;
  Stopwatch last_;
  std::string error_;  // of the last attempt
  bool said_ = false;
};

/// \throws InvalidArgument  the two forms would be one file, or there is no place for them
std::string profile_path(const Options& options, const std::string& key) {
  if (!options.output.empty()) {
    if (std::filesystem::path(options.output).extension() == ".profile") {
      throw InvalidArgument(
          fmt::format("--output {}: .profile is for the compact form, which goes beside it; the "
                      "name should end with .json",
                      options.output));
    }
    return options.output;
  }
  const std::string folder = machine::profile_folder();
  if (folder.empty()) {
    throw InvalidArgument(
        "there is no place for the profile: set XDG_CACHE_HOME or HOME (an absolute path), or give "
        "--output FILE");
  }
  return fmt::format("{}/{}.json", folder, machine::hash_of_key(key));
}

void say_end(const Outcome& outcome, int seconds) {
  std::string text = counted(outcome.measured, "case") + " measured";
  if (outcome.failed > 0) text += fmt::format(", {} could not be measured", outcome.failed);
  if (outcome.wrong_data > 0) text += fmt::format(", {} MOVED WRONG DATA", outcome.wrong_data);
  say("{}\n", text);
  if (outcome.left_out.empty()) return;
  std::vector<std::string> names;
  for (const Entry* entry : outcome.left_out) {
    const std::string& name = entry->what.name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  say("Left out, as the {} s were over: {} of {} (--resume goes on with them)\n", seconds,
      counted(static_cast<std::int64_t>(outcome.left_out.size()), "case"), fmt::join(names, ", "));
}

/// The doubtful results that are in the profile now.
struct Doubtful {
  std::size_t count = 0;
  std::string reason;  ///< of the last
};

void say_doubtful(const Doubtful& doubtful, std::size_t measured) {
  if (doubtful.count == 0) return;
  say("{} of {} {} doubtful: {}. The profile marks such results, and choices do not go by "
      "them. This measures them again, when the machine is quiet:\n    {}\n",
      doubtful.count, counted(static_cast<std::int64_t>(measured), "result"),
      doubtful.count == 1 ? "is" : "are", doubtful.reason, command_to_resume());
}

/// Benchmark by benchmark, as they are listed, whatever the order in which they were measured.
void sort_by_name(std::vector<machine::Result>& results, const std::vector<Entry>& entries) {
  std::map<std::string, std::size_t> places;
  for (const Entry& entry : entries) places.emplace(entry.what.name, places.size());
  const auto key = [&](const machine::Result& r) {
    return std::tuple(places.at(r.name), r.bytes, r.block, r.pitch, r.count);
  };
  std::stable_sort(results.begin(), results.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

/// Takes out what the profile has by this mode.
void drop_measured(std::vector<Entry>& entries, const ProfileFile& file, const RunMode& mode) {
  const std::size_t all = entries.size();
  std::erase_if(entries, [&](const Entry& e) { return file.has(e.what, e.mpi, mode); });
  say("{} of {} {} measured already\n", all - entries.size(),
      counted(static_cast<std::int64_t>(all), "case"), all == 1 ? "is" : "are");
}

/// Keeps whether the MPI library takes device pointers.
void keep_awareness(const Suites& suites, ProfileFile& file) {
  if (suites.mpi.plugin == nullptr) return;
  const int aware = suites.mpi.plugin->gpu_aware();
  if (aware >= 0) file.set_aware(suites.team()->library(), aware == 1);
  const std::string problem = suites.mpi.plugin->gpu_aware_problem();
  if (!problem.empty()) {
    say("Whether {} takes device pointers could not be tried: {}\n", suites.team()->library(),
        problem);
  }
}

/// The measurements of a call, on their way to the profile and to the table.
struct Measuring {
  const Options& options;
  const RunMode& mode;
  ProfileFile& file;
  Saver saver{file};
  std::vector<machine::Result> results{};
  Doubtful doubtful{};

  void take(const machine::Result& result, bool last) {
    const bool taken = file.merge(result, mode);
    if (last && taken) saver.add();
    saver.now_and_then();
    if (!last) return;
    if (options.json) {
      fmt::print("{}\n", to_json(result, mode).dump());
      std::fflush(stdout);
    }
    results.push_back(result);
    if (!taken || result.doubtful.empty()) return;
    ++doubtful.count;
    doubtful.reason = result.doubtful;
  }
  Outcome run(Leader& leader, const std::vector<Entry>& entries, Watch& watch,
              const Stopwatch& begin) {
    const double budget = budget_of(options);
    Progress progress(budget - begin.seconds());
    Listener listener;
    listener.begins = [&](std::size_t done, std::size_t all, const Case& next) {
      progress.show(done, all, case_text(next));
    };
    listener.doubt = [&] { return watch.doubt(); };
    listener.measured = [&](const machine::Result& result, bool last) { take(result, last); };
    listener.failed = [&](const Case& what, const std::string& why) {
      progress.say(fmt::format("strake measure: {}: {}", case_text(what), why));
    };
    return measure_all(
        leader, entries, [&] { return budget - begin.seconds(); }, listener);
  }
};

/// Rank 0's part, with the ranks behind `leader`.
int lead(const Options& options, Suites& suites, Leader& leader, const Stopwatch& begin,
         const std::string& clocks, const std::string& binding, const std::vector<int>& processes) {
  std::vector<Entry> entries = chosen(entries_of(suites), options);
  if (entries.empty()) {
    say("strake measure: no case here matches --filter '{}'{} (--list shows them)\n",
        options.filter, options.quick ? " --quick" : "");
    return kUsageError;
  }
  if (options.list) {
    list(entries);
    return 0;
  }

  const std::string key = machine::machine_key();
  ProfileFile file(profile_path(options, key), key);
  if (!file.complaint().empty()) say("strake measure: {}\n", file.complaint());
  const RunMode mode{options.quick, STRAKE_VERSION, now_utc()};
  if (options.resume) drop_measured(entries, file, mode);
  say("Clocks: {}. Measuring thread: {}.\n", clocks, binding);
  file.describe(host_name(), mode, facts(suites, clocks));
  keep_awareness(suites, file);

  Watch watch(processes);
  if (!watch.at_start().empty()) {
    say("This machine is busy: {}. Results that this disturbs are marked doubtful.\n",
        watch.at_start());
  }
  Measuring measuring{options, mode, file};
  const Outcome outcome = measuring.run(leader, entries, watch, begin);
  measuring.saver.now();
  EndNote::say("");  // the end says what is kept
  sort_by_name(measuring.results, entries);
  if (!options.json) fmt::print("{}", table(measuring.results));
  say_end(outcome, seconds_of(options));
  say_doubtful(measuring.doubtful, outcome.measured);
  if (!measuring.saver.failed()) say("Profile: {}\n", file.path());
  return outcome.wrong_data > 0 || measuring.saver.failed() ? kWrongData : 0;
}

}  // namespace

int run(const Options& options) {
  const Stopwatch begin;
  constexpr std::size_t kLongest =
      4096;  // libstdc++'s expressions recurse, and longer ones end there
  if (options.filter.size() > kLongest) {
    throw InvalidArgument(
        fmt::format("--filter has {} characters, more than {}", options.filter.size(), kLongest));
  }
  try {
    static_cast<void>(std::regex(options.filter));  // on all ranks, before any waits for another
  } catch (const std::regex_error& error) {
    throw InvalidArgument(
        fmt::format("--filter '{}' is no regular expression: {}", options.filter, error.what()));
  }
  Suites suites;
  suites.mpi = load_mpi_plugin();
  Team* const team = suites.team();
  if (suites.mpi.plugin != nullptr) suites.mpi_cases = suites.mpi.plugin->cases();
  std::vector<int> processes;
  if (!options.list) processes = processes_of(team);
  const bool leads = team == nullptr || team->rank() == 0;
  std::optional<Leader> leader;  // from here on an exception lets the other ranks go
  if (leads) leader.emplace(team);
  std::string complaint;
  if (leads) suites.cuda = load_cuda_plugin(complaint);
  if (!complaint.empty()) say("strake measure: no GPU is measured: {}\n", complaint);

  std::optional<EndNote> note;
  if (leads && !options.list) note.emplace();
  // One rank a node; not for a mere list.
  std::optional<Clocks> clocks;
  if (!options.list && local_rank() == 0) clocks.emplace();
  std::string binding;
  if (!options.list) {
    binding = bind_thread(local_rank(), local_ranks(),
                          static_cast<int>(settings::number(settings::Id::threads)));
  }
  if (!leads) {
    serve(*team, suites.mpi_cases);
    return 0;
  }
  return lead(options, suites, *leader, begin, clocks ? clocks->summary() : "", binding, processes);
}

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      parent.add_subcommand("measure", "Measure this machine; under mpirun -n 2 or more, MPI too");
  app->add_flag("--quick", options->quick, "The most telling cases, in at most 60 s");
  app->add_option("--time", options->seconds,
                  "Measure for at most so long (default: 900 s, with --quick 60 s)")
      ->type_name("SECONDS")
      ->check(CLI::Range(Options::kLeastSeconds, 24 * 3600));
  app->add_option("--filter", options->filter,
                  "Only cases whose \"name bytes block pitch\" this regular expression finds")
      ->type_name("REGEX");
  CLI::Option* listed =
      app->add_flag("--list", options->list, "List the cases, and measure nothing");
  app->add_flag("--json", options->json, "Print results as JSON lines, not as a table")
      ->excludes(listed);
  app->add_flag("--resume", options->resume,
                "Leave out what the profile holds already, measured in the same way")
      ->excludes(listed);
  app->add_option("--output", options->output, "Write the profile here, not to the machine's place")
      ->type_name("FILE")
      ->check(not_empty())
      ->excludes(listed);
  return {app, [options](const auto&) { return run(*options); }};
}

}  // namespace strake::measure
