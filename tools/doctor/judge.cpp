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

void conclude_job(const Job& job, Report& report) {
  const bool open = std::any_of(job.programs.begin(), job.programs.end(), is_open);
  if (!job.ranks.empty() && all_interposed(job) && !open) {
    report.accelerated = true;
    report.verdict =
        "The job would be accelerated: Strake was in every rank of a probe that took the program's "
        "place.";
  } else if (!job.ranks.empty() && all_interposed(job)) {
    report.verdict = fmt::format(
        "The job would be accelerated if its program uses the MPI library of {}, which "
        "shows only when it runs.",
        job.launcher);
  } else if (job.ranks.empty() && !job.probe.empty()) {
    report.accelerated = false;
    report.verdict = "The job would not run as it is started.";
  } else {
    report.verdict = "Whether the job would be accelerated shows only when it runs.";
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
  const char* const subject = facts.job ? "The job" : "A job";
  if (broken != report.findings.end()) {
    report.accelerated = false;
    report.verdict = fmt::format("{} would not be accelerated: see {}.", subject, broken->topic);
  } else if (facts.environment.disabled) {
    report.accelerated = false;
    report.verdict = fmt::format("{} would not be accelerated: STRAKE_DISABLE is set.", subject);
  } else if (facts.job) {
    conclude_job(*facts.job, report);
  } else {
    report.accelerated = true;
    report.verdict = fmt::format(
        "Jobs of {} would be accelerated here. To check one: strake doctor -- mpirun ...",
        fmt::join(facts.libraries, " and "));
  }
  return report;
}

}  // namespace strake::doctor
