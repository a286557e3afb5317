// The profile of this machine, the settings, and what else is preloaded.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "find.hpp"
#include "machine/locate.hpp"
#include "machine/profile.hpp"
#include "settings/settings.hpp"

namespace strake::doctor {
namespace fs = std::filesystem;

namespace {

/// Whether the folder, or the nearest one above it that is there, can be written.
bool is_writable(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

ProfileFacts find_profile() {
  ProfileFacts facts;
  facts.folder = machine::profile_folder();
  facts.writable = !facts.folder.empty() && is_writable(facts.folder);
  facts.located =
      machine::locate(settings::text(settings::Id::profile), facts.folder, machine::machine_key());
  return facts;
}

Environment find_environment() {
  Environment facts;
  for (const std::string& complaint : settings::complaints()) facts.complaints.push_back(complaint);
  facts.disabled = settings::flag(settings::Id::disable);
  for (const settings::Setting& setting : settings::all()) {
    if (setting.id != settings::Id::disable && setting.value != setting.default_value)
      facts.unusual.push_back(fmt::format("{}={}", setting.name, setting.value));
  }
  const char* preload = std::getenv("LD_PRELOAD");
  std::string_view rest = preload == nullptr ? "" : preload;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(": "), rest.size());
    const std::string path(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // A bare name is looked for by the loader, which has said so if it did not find it.
    if (!path.empty())
      facts.companions.push_back({path, path.find('/') == std::string::npos || fs::exists(path)});
  }
  return facts;
}

}  // namespace strake::doctor
