#include "machine/locate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "strake/error.hpp"

namespace strake::machine {

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
    located.problem = "there is no profile of this machine";
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
    located.problem = error.what();
  }
  return located;
}

}  // namespace strake::machine
