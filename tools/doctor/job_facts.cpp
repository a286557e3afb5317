// Facts of a job: from its command line, and from a probe that is started in the place of its
// programs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "find.hpp"
#include "preload/needed_libraries.hpp"
#include "preload/own_program.hpp"
#include "probe/gpu_aware.hpp"
#include "program_facts.hpp"
#include "run/job_check.hpp"
#include "run/program_check.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::doctor {
namespace fs = std::filesystem;

namespace {

using preload::MpiLibrary;
using run::Arguments;
using run::JobProgram;
using run::Launcher;

constexpr int kMostRanks = 4;       // of the probe, in a segment
constexpr int kLaunchSeconds = 60;  // a launcher that reaches many nodes takes its time

/// A job's command line: what stands before the launcher, and from the launcher on.
struct Line {
  Arguments before;
  Arguments command;
  bool launched = false;  ///< otherwise `command` is the program itself, as one rank
  Launcher kind = Launcher::OpenMpi;
  std::vector<JobProgram> programs;
};

/// The program after options that Strake does not know, or of srun, which has too many of them: the
/// first word that is a file which can be executed.
void guess_program(const Arguments& command, JobProgram& program) {
  for (std::size_t i = program.segment.begin; i < program.segment.end && !program.segment.program;
       ++i) {
    program.path = command[i].starts_with('-') ? std::nullopt : run::find_program(command[i]);
    if (program.path) program.segment.program = i;
  }
}

/// Where the number of ranks stands in a segment's options: a word, and where it begins in that.
struct Count {
  std::size_t word;
  std::size_t at;
};

std::optional<Count> count_in(const Line& line, const JobProgram& program) {
  const bool srun = line.kind == Launcher::Srun;
  const std::size_t end = program.segment.program.value_or(program.segment.end);
  for (std::size_t i = program.segment.begin; i < end; ++i) {
    const std::string& word = line.command[i];
    const auto is = [&](std::initializer_list<const char*> names) {
      return std::find(names.begin(), names.end(), word) != names.end();
    };
    const bool named = srun ? is({"-n", "--ntasks"})
                            : is({"-n", "-np", "--n", "--np"}) ||
                                  (line.kind == Launcher::OpenMpi && is({"-c", "--c"}));
    if (named && i + 1 < end) return Count{i + 1, 0};
    if (srun && word.starts_with("--ntasks=")) return Count{i, word.find('=') + 1};
    if (srun && word.size() > 2 && word.starts_with("-n")) return Count{i, 2};
  }
  return std::nullopt;
}

int ranks_of(const Line& line, const JobProgram& program) {
  const auto count = count_in(line, program);
  int ranks = 0;
  if (count) {
    const std::string& word = line.command[count->word];
    std::from_chars(word.data() + count->at, word.data() + word.size(), ranks);
  }
  return ranks;
}

std::string probe_of(const std::string& flavor, const std::string& folder) {
  return probe::probe_program(flavor, {folder, folder + "/../bin"});
}

/// The probe, with the MPI library of the program it stands for, if that is another file than the
/// probe would find by itself.
Arguments probe_words(const std::string& program, const std::string& library, const char* mode) {
  preload::MpiUse use;
  preload::find_mpi(program.c_str(), nullptr, use);
  std::error_code error;
  Arguments words;
  if (fs::path(library).is_absolute() && !fs::equivalent(library, use.path, error)) {
    const char* before = std::getenv("LD_LIBRARY_PATH");
    words = {"env", fmt::format("LD_LIBRARY_PATH={}:{}", fs::path(library).parent_path().string(),
                                before == nullptr ? "" : before)};
  }
  words.insert(words.end(), {program, mode});
  return words;
}

/// A segment's options, for `ranks` ranks at most (exactly, if `exact`).
Arguments options_of(const Line& line, const JobProgram& program, int ranks, bool exact) {
  const auto at = [&](std::size_t i) {
    return line.command.begin() + static_cast<std::ptrdiff_t>(i);
  };
  Arguments words(at(program.segment.begin), at(*program.segment.program));
  const auto count = count_in(line, program);
  const int asked = ranks_of(line, program);
  if (count && (exact || asked > ranks)) {
    std::string& word = words[count->word - program.segment.begin];
    word = word.substr(0, count->at) + std::to_string(ranks);
  } else if (!count && exact) {
    words.insert(words.begin(), {"-n", std::to_string(ranks)});
  }
  return words;
}

/// The command with probes in the place of its programs. Empty: there is none for one of them.
Arguments probing(const Line& line, const Job& job, const std::string& folder) {
  Arguments words = line.before;
  if (line.launched) words.push_back(line.command[0]);
  for (std::size_t i = 0; i < line.programs.size(); ++i) {
    const ProgramFacts& facts = job.programs[i];
    const std::string probe =
        probe_of(facts.has_library() ? flavor_of(facts.library) : job.probe, folder);
    if (probe.empty() || !line.programs[i].segment.program) return {};
    if (i > 0) words.emplace_back(":");
    const Arguments options = options_of(line, line.programs[i], kMostRanks, false);
    const Arguments program = probe_words(probe, facts.library_path, "ranks");
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), program.begin(), program.end());
  }
  return words;
}

/// This environment, but a summary of the probe would take the place of a job's.
probe::Words environment() {
  probe::Words variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("STRAKE_SUMMARY")) variables.emplace_back(*entry);
  }
  return variables;
}

/// The lines of the probe (probe/ranks.cpp).
std::vector<RankFacts> ranks_in(const std::string& output) {
  std::vector<RankFacts> ranks;
  constexpr std::string_view kBegins = "strake-probe: rank ";
  for (std::size_t at = output.find(kBegins); at != std::string::npos;
       at = output.find(kBegins, at + 1)) {
    RankFacts rank;
    std::array<char, 65> host{};
    std::array<char, 32> network{};
    std::array<char, 128> library{};
    int interposed = 0;
    if (std::sscanf(output.c_str() + at,
                    "strake-probe: rank %d of %d host %64s network %31s cores %d interposed %d "
                    "reading %d library %127[^\r\n]",
                    &rank.rank, &rank.ranks, host.data(), network.data(), &rank.cores, &interposed,
                    &rank.reading, library.data()) != 8) {
      continue;
    }
    rank.host = host.data();
    rank.network = network.data();
    rank.interposed = interposed != 0;
    rank.library = library.data();
    ranks.push_back(rank);
  }
  return ranks;
}

void start_probe(const Line& line, const std::string& folder, Job& job) {
  const Arguments words = probing(line, job, folder);
  if (words.empty()) {
    job.probe.clear();
    return;
  }
  char self[PATH_MAX];
  preload::own_program(self);
  probe::Words whole = {self, "run", "--quiet", "--"};
  whole.insert(whole.end(), words.begin(), words.end());
  const probe::JobEnd end = probe::run_trial(whole, environment(), kLaunchSeconds, {});
  job.ranks = ranks_in(end.output);
  if (!job.ranks.empty()) return;
  const std::string said = probe::summary_of(end.output, "strake run: ");
  job.probe_problem = end.status == probe::kNotInTime
                          ? fmt::format("it did not end within {} s", kLaunchSeconds)
                      : said.empty() ? fmt::format("it ended with status {}", end.status)
                                     : said;
}

void try_gpus(const Line& line, const std::string& folder, Job& job) {
  const auto launcher = run::find_program(line.command[0]);
  const std::string probe = probe_of(job.probe, folder);
  if (!launcher || probe.empty()) return;
  Arguments words = {*launcher};
  const Arguments options = options_of(line, line.programs[0], 2, true);
  words.insert(words.end(), options.begin(), options.end());
  Arguments program = probe_words(probe, job.programs[0].library_path, "gpu");
  program.pop_back();
  const std::string last = program.back();
  program.pop_back();
  words.insert(words.end(), program.begin(), program.end());
  const probe::Tried tried = probe::try_gpu_aware({words}, last, environment());
  job.gpu_aware = tried.answer.messages;
  job.gpu_aware_problem = tried.problem;
}

/// The command line, read as by `strake run`. \throws InvalidArgument  it would refuse it.
Line read_line(const Arguments& command, MpiLibrary forced) {
  const std::string program = run::required_program(command[0]);
  const auto at = run::launcher_in(command, program, forced);
  if (!at) return {{}, command, false, {}, {{{0, command.size(), 0}, false, program}}};
  Line line;
  line.launched = true;
  const auto launcher = command.begin() + static_cast<std::ptrdiff_t>(*at);
  line.before.assign(command.begin(), launcher);
  line.command.assign(launcher, command.end());
  line.kind = run::ask_launcher(line.command[0]);
  line.programs = run::programs_of(line.kind, line.command);
  return line;
}

}  // namespace

Job find_job(const run::Arguments& command, const std::string& folder, bool gpus) {
  Job job;
  const std::string_view setting = settings::text(settings::Id::mpi);
  const MpiLibrary forced = setting == "openmpi" ? MpiLibrary::OpenMpi
                            : setting == "mpich" ? MpiLibrary::Mpich
                                                 : MpiLibrary::None;
  Line line;
  try {
    line = read_line(command, forced);
  } catch (const InvalidArgument& error) {
    job.problem = error.what();
    return job;
  }
  if (line.launched) {
    job.launcher = line.command[0];
    job.launcher_title = run::title_of(line.kind);
    job.probe = line.kind == Launcher::OpenMpi ? "openmpi"
                : line.kind == Launcher::Hydra ? "mpich"
                                               : "";
  }
  bool refused = false;
  for (JobProgram& program : line.programs) {
    if (!program.segment.program) guess_program(line.command, program);
    ProgramFacts facts = describe_program(line.command, program, folder, forced);
    facts.ranks = line.launched ? ranks_of(line, program) : 1;
    if (facts.has_library()) job.probe = flavor_of(facts.library);
    refused = refused || !facts.problem.empty() || facts.insists_on_first ||
              facts.kind == ProgramFacts::Kind::Static || (facts.path.empty() && !facts.elsewhere);
    job.programs.push_back(facts);
  }
  if (refused || folder.empty()) {
    job.probe.clear();
    return job;
  }
  start_probe(line, folder, job);
  const auto worlds = std::count_if(job.ranks.begin(), job.ranks.end(),
                                    [](const RankFacts& rank) { return rank.rank == 0; });
  if (worlds > 1) {
    preload::MpiUse use;
    use.library = job.programs[0].library;
    job.programs[0].library_path.copy(use.path, sizeof(use.path) - 1);
    const run::WhyAlone why = run::why_alone(line.kind, line.command, use);
    job.why_alone = why.text;
    job.alone_remedy = why.remedy;
  }
  if (gpus && line.launched && worlds == 1) try_gpus(line, folder, job);
  return job;
}

}  // namespace strake::doctor
