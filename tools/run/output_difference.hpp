/// \file  Whether a program prints something else under Strake than alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace strake::run {

/// A line that is printed differently. Empty: there is no such line.
struct OutputDifference {
  std::string alone;
  std::string under;
};

/// Compares what runs of both kinds printed, by line, in any order of the lines, since that of the
/// ranks is by chance. Words with digits (times, dates) count where all runs alone have the same,
/// of two or more. Nothing where no difference is found, also where the runs alone print other text
/// each time.
[[nodiscard]] std::optional<OutputDifference> output_difference(
    const std::vector<std::string>& alone, const std::vector<std::string>& under);

}  // namespace strake::run
