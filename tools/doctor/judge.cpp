#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strake::doctor {
namespace {

/// Whether the job has a program of which it shows only when it runs whether it uses MPI.
bool is_open(const ProgramFacts& program) {
  return program.problem.empty() && !program.has_library();
}

bool all_interposed(const Job& job) {
  return std::all_of(job.ranks.begin(), job.ranks.end(),
                     [](const RankFacts& rank) { return rank.interposed; });
}

constexpr const char* kWhetherItHelps = "Whether that helps: strake run --compare 5 -- ...";

void conclude_job(const Job& job, Report& report) {
  const bool open = std::any_of(job.programs.begin(), job.programs.end(), is_open);
  const bool contiguous =
      std::all_of(job.programs.begin(), job.programs.end(),
                  [](const ProgramFacts& program) { return program.only_contiguous; });
  if (!job.ranks.empty() && all_interposed(job) && !open) {
    report.reached = true;
    report.verdict =
        contiguous ? "Strake would be in every rank, and would change no message: see datatypes."
                   : fmt::format(
                         "Strake would be in every rank of the job, as it was in those "
                         "of a probe that took the program's place. {}",
                         kWhetherItHelps);
  } else if (!job.ranks.empty() && all_interposed(job)) {
    report.verdict = fmt::format(
        "Strake would be in every rank if the job's program uses the MPI library of {}, which "
        "shows only when it runs. {}",
        job.launcher, kWhetherItHelps);
  } else if (job.ranks.empty() && !job.probe.empty()) {
    report.reached = false;
    report.verdict = "The job would not run as it is started.";
  } else {
    report.verdict = "Whether Strake would be in the job's ranks shows only when it runs.";
  }
}

}  // namespace

const char* name_of(State state) noexcept {
  return state == State::Good ? "good" : state == State::Limited ? "limited" : "broken";
}

Report judge(const Facts& facts) {
  Report report;
  judge_machine(facts, report.findings);
  judge_gpus(facts, report.findings);
  judge_profile(facts, report.findings);
  judge_environment(facts, report.findings);
  judge_job(facts, report.findings);
  const auto broken =
      std::find_if(report.findings.begin(), report.findings.end(),
                   [](const Finding& finding) { return finding.state == State::Broken; });
  const char* const subject = facts.job ? "the job" : "a job";
  if (broken != report.findings.end()) {
    report.reached = false;
    report.verdict = fmt::format("Strake would not work in {}: see {}.", subject, broken->topic);
  } else if (facts.environment.disabled) {
    report.reached = false;
    report.verdict =
        fmt::format("Strake would pass on every call of {}: STRAKE_DISABLE is set.", subject);
  } else if (facts.job) {
    conclude_job(*facts.job, report);
  } else {
    report.reached = true;
    report.verdict =
        fmt::format("Strake works in jobs of {} here. To check one: strake doctor -- mpirun ...",
                    fmt::join(facts.libraries, " and "));
  }
  return report;
}

}  // namespace strake::doctor
