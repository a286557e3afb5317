#include "report/profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "measure/summary.hpp"
#include "report/units.hpp"

namespace strake::report {

double rate_of(const machine::Result& result) noexcept {
  return moves_bytes(result) && result.median > 0
             ? static_cast<double>(result.bytes) / result.median
             : 0;
}

bool doubtful(const machine::Result& result) noexcept {
  constexpr double kMostSpread = 0.125;
  return !result.doubtful.empty() || measure::relative_spread(result) > kMostSpread;
}

std::string shape_text(const machine::Result& result) {
  std::string text;
  if (result.bytes > 0) text = bytes_text(static_cast<double>(result.bytes));
  if (result.block > 0)
    text += fmt::format(", blocks of {} every {}", bytes_text(static_cast<double>(result.block)),
                        bytes_text(static_cast<double>(result.pitch)));
  return text;
}

std::string spread_text(const machine::Result& result) {
  return time_text(result.p10) + " to " + time_text(result.p90);
}

std::string full_name(const machine::Result& result) {
  std::string text = result.name;
  if (result.count > 0) text += fmt::format(" x{}", result.count);
  if (!result.mpi.empty()) text += fmt::format(" ({})", result.mpi);
  return text;
}

std::set<std::string> strided_names(const machine::Profile& profile) {
  std::map<std::string, std::set<std::int64_t>> blocks;
  for (const machine::Result& result : profile.results)
    if (result.block > 0) blocks[result.name].insert(result.block);
  std::set<std::string> names;
  const auto packs = [](const std::string& name) {
    return name.starts_with("pack/") || name.starts_with("unpack/") ||
           name.find("/system/") != std::string::npos || name.find("/pack/") != std::string::npos;
  };
  for (const auto& [name, lengths] : blocks)
    if (lengths.size() > 1 || packs(name)) names.insert(name);
  return names;
}

std::vector<std::string> libraries_of(const machine::Profile& profile) {
  std::vector<std::string> libraries;
  for (const machine::Result& result : profile.results)
    if (!result.mpi.empty() &&
        std::find(libraries.begin(), libraries.end(), result.mpi) == libraries.end())
      libraries.push_back(result.mpi);
  return libraries;
}

std::string whose(Profiles profiles, const Shown& shown) {
  return profiles.size() > 1 ? " (" + shown.label + ")" : std::string();
}

const char* name_of(PitchClass pitch) noexcept {
  switch (pitch) {
    case PitchClass::Near:
      return "pitch 2 x block";
    case PitchClass::Sparse:
      return "pitch 16 x block";
    case PitchClass::Far:
      return "pitch 2 KiB or more";
    case PitchClass::Aligned:
      return "pitch a multiple of 2 KiB";
    case PitchClass::Other:
      break;
  }
  return "other pitches";
}

}  // namespace strake::report
