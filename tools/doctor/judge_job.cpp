// Findings about a job: its launcher, its programs, its ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "judge.hpp"
#include "run/program_check.hpp"

namespace strake::doctor {
namespace {

using Kind = ProgramFacts::Kind;

/// Finding about a program that `strake run` does not refuse.
Finding program_finding(const ProgramFacts& program) {
  const std::string topic = fmt::format("program {}", program.word);
  if (program.kind == Kind::Static) {
    return {State::Broken, topic,
            "it is linked statically, so nothing can be loaded into it; if it uses MPI, Strake "
            "can't see that",
            "link it dynamically to its MPI library"};
  }
  if (program.insists_on_first) {
    return {State::Broken, topic, std::string("it ") + run::kFirstProblem, run::kFirstRemedy};
  }
  if (program.kind == Kind::Python && !program.has_library()) {
    return {State::Limited, topic,
            "Python without an mpi4py that can be found here: which MPI library it loads shows "
            "only when it runs",
            "pip install mpi4py, in the environment of this python"};
  }
  if (program.kind == Kind::Script) {
    return {State::Limited, topic,
            "a script: which MPI library its programs use shows only when it runs", ""};
  }
  if (!program.has_library()) {
    return {State::Limited, topic,
            "it is linked to no MPI library: it may load one, or start a program that has one, "
            "which shows only when it runs",
            ""};
  }
  return {State::Good, topic,
          fmt::format("{}uses {} ({})", program.kind == Kind::Python ? "mpi4py " : "",
                      title_of(program.library), program.library_path),
          ""};
}

Finding finding_of(const ProgramFacts& program) {
  if (program.word.empty()) {
    return {State::Limited, "program",
            "not found on this command line, whose options Strake does not all know", ""};
  }
  const std::string topic = fmt::format("program {}", program.word);
  if (!program.problem.empty()) return {State::Broken, topic, program.problem, ""};
  if (program.elsewhere) {
    return {State::Limited, topic,
            "the launcher looks for it in a folder that its options name: not looked into", ""};
  }
  if (program.path.empty()) {
    return {State::Broken, topic, "there is no such program here, or it may not be executed",
            "check its path and its x bits"};
  }
  return program_finding(program);
}

void judge_cores(const Job& job, std::vector<Finding>& findings) {
  int asked = 0;
  for (const ProgramFacts& program : job.programs) {
    if (program.ranks == 0) return;
    asked += program.ranks;
  }
  std::set<std::string> hosts;
  for (const RankFacts& rank : job.ranks) hosts.insert(rank.host);
  // The probe's ranks need not have reached all of several hosts.
  if (asked < 2 || hosts.size() != 1) return;
  int cores = 0;
  for (const RankFacts& rank : job.ranks) cores = std::max(cores, rank.cores);
  // A rank that is bound sees its own core only: the launcher has counted them.
  if (cores <= 1) return;
  if (asked > cores) {
    findings.push_back({State::Limited, "cores",
                        fmt::format("{} ranks share {} cores: a rank that waits must give up its "
                                    "core, which makes each message slower",
                                    asked, cores),
                        fmt::format("start {} ranks at most", cores)});
  } else {
    findings.push_back({State::Good, "cores", fmt::format("{} for {} ranks", cores, asked), ""});
  }
}

void judge_neighbours(const Job& job, std::vector<Finding>& findings) {
  const auto reading = std::find_if(job.ranks.begin(), job.ranks.end(),
                                    [](const RankFacts& rank) { return rank.reading > 0; });
  if (reading != job.ranks.end()) {
    findings.push_back({State::Limited, "memory of other ranks",
                        fmt::format("rank {} can't read a neighbour's memory ({}): the MPI library "
                                    "copies long messages within the node twice",
                                    reading->rank, std::strerror(reading->reading)),
                        ""});
  }
  std::set<std::pair<std::string, std::string>> networks;
  std::set<std::string> hosts;
  for (const RankFacts& rank : job.ranks) {
    hosts.insert(rank.host);
    networks.emplace(rank.host, rank.network);
  }
  if (networks.size() > hosts.size()) {
    findings.push_back({State::Limited, "network namespaces",
                        "ranks of one host are in several: Strake's ranks can't find each other to "
                        "share memory, and packed messages go through the MPI library",
                        "start all ranks of a host in one container, or with --network=host"});
  }
}

void judge_ranks(const Job& job, std::vector<Finding>& findings) {
  if (!job.probe_problem.empty()) {
    findings.push_back(
        {State::Broken, "start",
         fmt::format("a probe in the program's place did not start: {}", job.probe_problem), ""});
    return;
  }
  if (job.ranks.empty()) return;
  const auto worlds = static_cast<int>(std::count_if(
      job.ranks.begin(), job.ranks.end(), [](const RankFacts& rank) { return rank.rank == 0; }));
  if (worlds > 1) {
    findings.push_back(
        {State::Broken, "ranks",
         fmt::format("{} jobs of one rank instead of one job: {}", worlds, job.why_alone),
         job.alone_remedy});
    return;
  }
  findings.push_back({State::Good, "ranks",
                      job.ranks.size() == 1
                          ? fmt::format("one, with {}", job.ranks.front().library)
                          : fmt::format("{} found each other, with {}", job.ranks.size(),
                                        job.ranks.front().library),
                      ""});
  const auto missed = std::find_if(job.ranks.begin(), job.ranks.end(),
                                   [](const RankFacts& rank) { return !rank.interposed; });
  if (missed != job.ranks.end()) {
    findings.push_back({State::Broken, "interposer",
                        fmt::format("not in rank {} on {}", missed->rank, missed->host),
                        "install Strake on that host, in the same folder"});
  } else {
    findings.push_back({State::Good, "interposer", "in every rank", ""});
  }
  judge_neighbours(job, findings);
  judge_cores(job, findings);
}

void judge_gpu_aware(const Facts& facts, std::vector<Finding>& findings) {
  const Job& job = *facts.job;
  if (!job.gpu_aware_problem.empty()) {
    findings.push_back({State::Limited, "GPU-aware MPI",
                        fmt::format("could not be tried: {}", job.gpu_aware_problem), ""});
  } else if (job.gpu_aware == 0) {
    findings.push_back({State::Limited, "GPU-aware MPI",
                        "no: two ranks that gave it GPU memory did not get their bytes. Messages "
                        "in GPU memory go by way of pinned host memory, which Strake does",
                        "use an MPI library that is built with CUDA for more"});
  } else if (job.gpu_aware == 1) {
    findings.push_back(
        {State::Good, "GPU-aware MPI", "yes: two ranks passed GPU memory to each other", ""});
  }
}

}  // namespace

void judge_job(const Facts& facts, std::vector<Finding>& findings) {
  if (!facts.job) return;
  const Job& job = *facts.job;
  if (!job.problem.empty()) {
    findings.push_back({State::Broken, "command", job.problem, ""});
    return;
  }
  if (!job.launcher.empty()) {
    findings.push_back(
        {State::Good, "launcher", fmt::format("{} is {}'s", job.launcher, job.launcher_title), ""});
  }
  for (const ProgramFacts& program : job.programs) {
    findings.push_back(finding_of(program));
    if (!program.only_contiguous) continue;
    findings.push_back(
        {State::Limited, "datatypes",
         fmt::format("{} makes none, so all its messages are contiguous, and Strake "
                     "changes none of them. If it packs by hand: datatypes took longer "
                     "at most sizes that were measured (docs/how-to/no-gain.md has the times)",
                     program.word),
         ""});
  }
  judge_ranks(job, findings);
  judge_gpu_aware(facts, findings);
}

}  // namespace strake::doctor
