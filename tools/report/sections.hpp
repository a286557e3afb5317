/// \file  The sections of a report, each as HTML. A section for which the profiles have no results
/// is a line that says so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/plot.hpp"
#include "report/profiles.hpp"

namespace strake::report {

using Profiles = std::span<const Shown>;

[[nodiscard]] std::string overview(Profiles profiles);
/// Bandwidth against size, by modality, and at the largest size.
[[nodiscard]] std::string bandwidths(Profiles profiles);
/// Pack rate against block length.
[[nodiscard]] std::string pack_rates(Profiles profiles);
/// Which method is fastest over size and block.
[[nodiscard]] std::string crossovers(Profiles profiles);
/// Between each two memories.
[[nodiscard]] std::string matrices(Profiles profiles);
/// Cost of calls.
[[nodiscard]] std::string calls(Profiles profiles);
/// The max-rate model against what was measured.
[[nodiscard]] std::string max_rates(Profiles profiles);
/// Times of all against those of the first; empty for one profile.
[[nodiscard]] std::string comparison(Profiles profiles);
/// Every result.
[[nodiscard]] std::string numbers(Profiles profiles);

/// \{ Pieces of sections.
[[nodiscard]] std::string section(const std::string& id, const std::string& title,
                                  const std::string& introduction, const std::string& body);
/// Figures side by side.
[[nodiscard]] std::string row_of(const std::string& figures);
/// A plot with its caption, which names the profile if there are several.
[[nodiscard]] std::string figure(const std::string& svg, const std::string& caption);
/// Plots by one scale, a row for several profiles; those without bars are left out.
[[nodiscard]] std::string bar_figures(Profiles profiles, std::vector<BarPlot>& plots, Axis x);
/// " (A: node017)", or nothing where there is one profile.
[[nodiscard]] std::string whose(Profiles profiles, const Shown& shown);
/// \}

}  // namespace strake::report
