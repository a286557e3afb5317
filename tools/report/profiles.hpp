/// \file  The profiles that a report shows, and how their results are found and named.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/pitch.hpp"
#include "machine/profile.hpp"

namespace strake::report {

/// A profile with the letter that it has in a report of several.
struct Shown {
  std::string label;  ///< "A: node017"; of one alone its host
  machine::Profile profile;
  /// Facts of the file about the machine, for people: "cores", "96".
  std::vector<std::pair<std::string, std::string>> facts;
};

using Profiles = std::span<const Shown>;

/// bytes / median, or 0 where it moves none. [bytes/s]
[[nodiscard]] double rate_of(const machine::Result& result) noexcept;
/// The profile says so, or 10 % to 90 % of the samples span more than a quarter of the median.
[[nodiscard]] bool doubtful(const machine::Result& result) noexcept;
/// "1 MiB, blocks of 8 B every 16 B"; empty where the operation has no size.
[[nodiscard]] std::string shape_text(const machine::Result& result);
/// "5.3 to 5.6 µs": p10 and p90
[[nodiscard]] std::string spread_text(const machine::Result& result);
/// The name, with library and count where it has them.
[[nodiscard]] std::string full_name(const machine::Result& result);
/// The names measured with several block lengths, and those of packing: their plots are against
/// these.
[[nodiscard]] std::set<std::string> strided_names(const machine::Profile& profile);
/// The MPI libraries of a profile, each once.
[[nodiscard]] std::vector<std::string> libraries_of(const machine::Profile& profile);
/// " (A: node017)", or nothing where there is one profile.
[[nodiscard]] std::string whose(Profiles profiles, const Shown& shown);

using machine::PitchClass;
/// "pitch 2 x block", …
[[nodiscard]] const char* name_of(PitchClass pitch) noexcept;

}  // namespace strake::report
