/// \file  The sections of a report, each as HTML.
#pragma once

#include <string>

#include "report/chart.hpp"
#include "report/profiles.hpp"

namespace strake::report {

/// \{ The first sections of the page, not folded.
/// Messages that Strake packs against the MPI library's own datatypes.
[[nodiscard]] std::string against_library(Profiles profiles, Charts& charts);
/// Which transport is fastest over size and block.
[[nodiscard]] std::string transport_maps(Profiles profiles);
/// The ten numbers that people quote.
[[nodiscard]] std::string key_numbers(Profiles profiles);
/// \}

/// \{ Folded.
[[nodiscard]] std::string overview(Profiles profiles);
/// Times of all against those of the first; empty for one profile.
[[nodiscard]] std::string comparison(Profiles profiles);
/// Bandwidth against size, and at the largest size.
[[nodiscard]] std::string bandwidths(Profiles profiles, Charts& charts);
/// Between each two memories.
[[nodiscard]] std::string matrices(Profiles profiles);
/// Rate of strided bytes against block length.
[[nodiscard]] std::string strided_rates(Profiles profiles, Charts& charts);
/// The max-rate model against what was measured.
[[nodiscard]] std::string max_rates(Profiles profiles, Charts& charts);
/// Cost of calls.
[[nodiscard]] std::string calls(Profiles profiles);
/// \}

}  // namespace strake::report
