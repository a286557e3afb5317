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
  /// What the file says about the machine, for people: "cores", "96".
  std::vector<std::pair<std::string, std::string>> facts;
};

/// bytes / median, or 0 where it moves none. [bytes/s]
[[nodiscard]] double rate_of(const machine::Result& result) noexcept;
/// "64 KiB: 12.3 GB/s, 5.33 µs (p10 5.3 µs, p90 5.6 µs), 93 % of the link's 55 GB/s"
[[nodiscard]] std::string description(const machine::Result& result);
/// The name, with library and count where it has them.
[[nodiscard]] std::string full_name(const machine::Result& result);
/// The names measured with several block lengths, and those of packing: their plots are against
/// these.
[[nodiscard]] std::set<std::string> strided_names(const machine::Profile& profile);
/// The MPI libraries of a profile, each once.
[[nodiscard]] std::vector<std::string> libraries_of(const machine::Profile& profile);

using machine::PitchClass;
/// "pitch 2 x block", …
[[nodiscard]] const char* name_of(PitchClass pitch) noexcept;

}  // namespace strake::report
