// Findings about the profile and the environment.
#include <fmt/format.h>

#include <algorithm>

#include "judge.hpp"

namespace strake::doctor {
namespace {

/// The command that measures, under the job's launcher.
std::string measuring(const Facts& facts, const char* options) {
  const bool named = facts.job && !facts.job->launcher.empty();
  return fmt::format("{} -n 2 {} measure --quick{}", named ? facts.job->launcher : "mpirun",
                     facts.strake, options);
}

std::string age_text(const ProfileFacts& profile) {
  if (profile.age_days < 0) return "of an unknown date";
  if (profile.age_days == 0) return "made today";
  return fmt::format("{} day{} old", profile.age_days, profile.age_days == 1 ? "" : "s");
}

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
  const ProfileFacts& profile = facts.profile;
  judge_place(facts, findings);
  switch (profile.state) {
    case ProfileFacts::State::Off:
      findings.push_back({State::Limited, "profile",
                          "STRAKE_PROFILE=none: built-in rules choose, which may leave a gain "
                          "unused",
                          "unset STRAKE_PROFILE"});
      return;
    case ProfileFacts::State::Missing:
      findings.push_back({State::Limited, "profile",
                          "this machine was not measured: built-in rules choose, which may leave a "
                          "gain unused",
                          measuring(facts, " (takes a minute)")});
      return;
    case ProfileFacts::State::Unusable:
      findings.push_back(
          {State::Limited, "profile",
           profile.problem + ": built-in rules choose, which may leave a gain unused",
           measuring(facts, " (takes a minute)")});
      return;
    case ProfileFacts::State::Found:
      break;
  }
  std::string text = fmt::format("{} results, {}", profile.results, age_text(profile));
  // Choices do not go by doubtful results; a few are no matter.
  const bool doubtful = profile.doubtful * 4 > profile.results;
  if (profile.doubtful > 0) text += fmt::format("; {} of them are doubtful", profile.doubtful);
  if (doubtful) text += ", since the machine was busy: built-in rules choose instead";
  findings.push_back(
      {doubtful ? State::Limited : State::Good, "profile", text,
       doubtful ? measuring(facts, ", while nothing else runs (takes a minute)") : ""});
  const std::string library = library_of(facts);
  const auto& known = profile.libraries;
  if (library.empty()) {
    if (known.empty()) {
      findings.push_back({State::Limited, "measured MPI",
                          "none: built-in rules choose for messages in host memory",
                          measuring(facts, " --filter '^mpi/' (takes a minute)")});
    } else {
      findings.push_back(
          {State::Good, "measured MPI", fmt::format("{}", fmt::join(known, ", ")), ""});
    }
  } else if (std::find(known.begin(), known.end(), library) != known.end()) {
    findings.push_back({State::Good, "measured MPI", library, ""});
  } else {
    findings.push_back({State::Limited, "measured MPI",
                        fmt::format("{} was not measured: built-in rules choose for messages in "
                                    "host memory",
                                    library),
                        measuring(facts, " --filter '^mpi/' (takes a minute)")});
  }
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
