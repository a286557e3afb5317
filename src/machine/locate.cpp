#include "machine/locate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "job/first.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::machine {
namespace {

Located search() noexcept {
  try {
    Located located =
        locate(settings::text(settings::Id::profile), profile_folder(), machine_key());
    // Nodes may differ, so one rank of each node warns. A missing profile is no fault: one rank of
    // the job says so, at level info.
    if (located.outcome == Located::Outcome::Unusable && job::first_of_node()) {
      log::warn("{}; the built-in choices are used", located.problem);
    }
    if (located.outcome == Located::Outcome::Missing && job::first_of_job()) {
      log::info("{}", located.problem);
    }
    return located;
  } catch (const std::exception& error) {
    log::write(log::Level::Warn, error.what());
    return {};
  }
}

}  // namespace

Located locate(std::string_view setting, const std::string& folder, const std::string& key) {
  Located located;
  if (setting == "none") {
    located.outcome = Located::Outcome::Off;
    located.problem = "STRAKE_PROFILE=none: no profile is used";
    return located;
  }
  const bool named = !setting.empty();
  const std::string path =
      named ? std::string(setting) : fmt::format("{}/{}.profile", folder, hash_of_key(key));
  if (!named && (folder.empty() || access(path.c_str(), F_OK) != 0)) {
    located.problem =
        "no profile of this machine, so the built-in choices are used; strake measure makes one";
    return located;
  }
  located.outcome = Located::Outcome::Unusable;
  try {
    Profile profile = read_compact(path);
    if (profile.key == key) {
      located.outcome = Located::Outcome::Found;
      located.profile = std::move(profile);
      located.file = path;
    } else {
      located.problem = fmt::format("the profile {} is of another machine ({}; this one: {})", path,
                                    profile.key, key);
    }
  } catch (const Error& error) {
    located.problem = fmt::format("no profile: {}", error.what());
  }
  return located;
}

const Located& located_here() {
  static const Located& located = *new Located(search());  // never destroyed
  return located;
}

const Profile* this_machine() noexcept {
  const Located& located = located_here();
  return located.profile ? &*located.profile : nullptr;
}

}  // namespace strake::machine
