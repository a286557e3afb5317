#include "machine/profile_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "job/first.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"

namespace strake::machine {
namespace {

using Kind = ProfileState::Kind;

/// A few disturbed results are bridged by their neighbours (Profile::curve); past this part of all
/// the profile is called doubtful.
constexpr std::size_t kDoubtfulFrom = 4;

constexpr const char* kRules = "so built-in rules choose";

/// The MPI libraries that have results, in the order of the profile.
std::vector<std::string> libraries_of(const Profile& profile) {
  std::vector<std::string> names;
  for (const Result& result : profile.results) {
    if (!result.mpi.empty() && std::find(names.begin(), names.end(), result.mpi) == names.end())
      names.push_back(result.mpi);
  }
  return names;
}

/// " on node1, 2026-11-27T10:00:00Z"
std::string where_and_when(const Profile& profile) {
  std::string text;
  if (!profile.host.empty()) text += " on " + profile.host;
  if (!profile.date.empty()) text += ", " + profile.date;
  return text;
}

/// The results that count for a library.
struct Tally {
  std::size_t all = 0;
  std::size_t doubtful = 0;
  bool sound = false;  ///< one of the library itself is not doubtful
  std::string reason;  ///< of the first doubtful one
};

Tally tally_of(const Profile& profile, std::string_view mpi) {
  Tally tally;
  for (const Result& result : profile.results) {
    if (!mpi.empty() && !result.mpi.empty() && result.mpi != mpi) continue;
    ++tally.all;
    if (result.doubtful.empty()) {
      tally.sound = tally.sound || !result.mpi.empty();
      continue;
    }
    if (tally.doubtful++ == 0) tally.reason = result.doubtful;
  }
  return tally;
}

Located search() noexcept {
  try {
    Located located =
        locate(settings::text(settings::Id::profile), profile_folder(), machine_key());
    // Nodes may differ, so one rank of each node warns. A missing profile is no fault: one rank of
    // the job says so, at level info.
    if (located.outcome == Located::Outcome::Unusable && job::first_of_node()) {
      log::warn("profile: {}", state_of(located).sentence);
    }
    if (located.outcome == Located::Outcome::Missing && job::first_of_job()) {
      log::info("profile: {}", state_of(located).sentence);
    }
    return located;
  } catch (const std::exception& error) {
    log::write(log::Level::Warn, error.what());
    return {};
  }
}

}  // namespace

const char* name_of(Kind kind) noexcept {
  constexpr const char* kNames[] = {"measured", "doubtful", "not measured", "off"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::Off) + 1);
  return kNames[static_cast<int>(kind)];
}

std::string ProfileState::remedy(std::string_view measure) const {
  switch (kind) {
    case Kind::Measured:
      return {};
    case Kind::Doubtful:
      return fmt::format("{}  # when top shows that nothing else uses the CPUs; it takes a minute",
                         measure);
    case Kind::NotMeasured:
      return fmt::format("{}  # takes a minute", measure);
    case Kind::Off:
      break;
  }
  return "unset STRAKE_PROFILE";
}

ProfileState state_of(const Profile& profile, std::string_view mpi) {
  const std::vector<std::string> libraries = libraries_of(profile);
  const std::string where = where_and_when(profile);
  if (libraries.empty())
    return {
        Kind::NotMeasured,
        fmt::format("not measured with any MPI library, only without MPI{}, {}", where, kRules)};
  const std::string known = fmt::format("{}", fmt::join(libraries, " and "));
  if (!mpi.empty() && std::find(libraries.begin(), libraries.end(), mpi) == libraries.end()) {
    return {Kind::NotMeasured,
            fmt::format("not measured with {}, only with {}{}, {}", mpi, known, where, kRules)};
  }
  const std::string with = mpi.empty() ? known : std::string(mpi);
  const Tally tally = tally_of(profile, mpi);
  if (!tally.sound || tally.doubtful * kDoubtfulFrom > tally.all) {
    return {
        Kind::Doubtful,
        fmt::format("doubtful: measured with {}{}, while {}; {} of {} results are not used, {} in "
                    "their place",
                    with, where, tally.reason, tally.doubtful, tally.all, kRules)};
  }
  std::string text = fmt::format("measured with {}{}", with, where);
  if (tally.doubtful > 0) {
    text += fmt::format("; {} of {} results are doubtful and not used", tally.doubtful, tally.all);
  }
  return {Kind::Measured, text};
}

ProfileState state_of(const Located& located, std::string_view mpi) {
  if (located.profile) return state_of(*located.profile, mpi);
  if (located.outcome == Located::Outcome::Off)
    return {Kind::Off, fmt::format("{}, {}", located.problem, kRules)};
  return {Kind::NotMeasured, fmt::format("not measured: {}, {}", located.problem, kRules)};
}

const Located& located_here() {
  struct Here {
    Located located = search();
  };
  return ProcessState::part<const Here>().located;
}

const Profile* this_machine() noexcept {
  const Located& located = located_here();
  return located.profile ? &*located.profile : nullptr;
}

}  // namespace strake::machine
