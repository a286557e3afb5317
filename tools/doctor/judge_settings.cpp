// Findings about the profile and the environment.
#include <fmt/format.h>

#include "judge.hpp"
#include "machine/profile_state.hpp"

namespace strake::doctor {
namespace {

/// The MPI library that the job's ranks have, as profiles name it; empty: not known.
std::string library_of(const Facts& facts) {
  return facts.job && !facts.job->ranks.empty() ? facts.job->ranks.front().library : std::string();
}

void judge_place(const Facts& facts, std::vector<Finding>& findings) {
  const ProfileFacts& profile = facts.profile;
  if (profile.folder.empty()) {
    findings.push_back({State::Limited, "place of profiles",
                        "none, since neither HOME nor XDG_CACHE_HOME is an absolute path: strake "
                        "measure can't leave a profile where jobs find it",
                        "export HOME=... (or XDG_CACHE_HOME)"});
  } else if (!profile.writable) {
    findings.push_back({State::Limited, "place of profiles",
                        fmt::format("{} can't be written: strake measure can't leave a profile "
                                    "where jobs find it",
                                    profile.folder),
                        "export XDG_CACHE_HOME=... to a folder that all nodes see"});
  }
}

}  // namespace

void judge_profile(const Facts& facts, std::vector<Finding>& findings) {
  judge_place(facts, findings);
  const bool named = facts.job && !facts.job->launcher.empty();
  const auto state = machine::state_of(facts.profile.located, library_of(facts));
  const bool good = state.kind == machine::ProfileState::Kind::Measured;
  findings.push_back(
      {good ? State::Good : State::Limited, "profile", state.sentence,
       state.remedy(fmt::format("{} -n 2 {} measure --quick",
                                named ? facts.job->launcher : "mpirun", facts.strake))});
}

void judge_environment(const Facts& facts, std::vector<Finding>& findings) {
  const Environment& environment = facts.environment;
  for (const std::string& complaint : environment.complaints)
    findings.push_back({State::Limited, "settings", complaint, ""});
  if (environment.disabled) {
    findings.push_back({State::Limited, "settings", "STRAKE_DISABLE: every call is passed on",
                        "unset STRAKE_DISABLE"});
  }
  if (!environment.unusual.empty()) {
    findings.push_back(
        {State::Good, "settings", fmt::format("{}", fmt::join(environment.unusual, ", ")), ""});
  } else if (environment.complaints.empty() && !environment.disabled) {
    findings.push_back({State::Good, "settings", "all are the defaults", ""});
  }
  for (const Environment::Companion& companion : environment.companions) {
    if (!companion.found) {
      findings.push_back(
          {State::Limited, "LD_PRELOAD",
           fmt::format("{} is not there: the loader warns in every process", companion.path),
           "take it out of LD_PRELOAD"});
    } else if (companion.path.find("asan.so") != std::string::npos) {
      findings.push_back(
          {State::Limited, "LD_PRELOAD",
           fmt::format("{} wants to be first, where Strake's object is", companion.path),
           "export ASAN_OPTIONS=verify_asan_link_order=0"});
    } else {
      findings.push_back({State::Good, "LD_PRELOAD",
                          fmt::format("{} is loaded after Strake's object", companion.path), ""});
    }
  }
}

}  // namespace strake::doctor
