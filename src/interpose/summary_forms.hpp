/// \file  The numbers of the summary, and its forms: text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "interpose/counters.hpp"

namespace strake::interpose {

/// The totals of a job when it ends.
struct JobTotals {
  Totals totals;
  int ranks = 1;
  bool whole_job = false;  ///< of all ranks; else of rank 0
};

[[nodiscard]] Count total(const Totals& totals, Transport transport);

/// The messages of a job that Strake could change, and those that it did change. Both ends of a
/// message count, and MPI_Pack and MPI_Unpack.
struct Reached {
  Count another_way;  ///< packed by Strake, or copied directly
  Count left;         ///< with gaps, and left to the MPI library all the same
  Count contiguous;   ///< nothing to change
};
[[nodiscard]] Reached reached_of(const Totals& totals);

/// Says what the counts mean for the user, in one line without a full stop.
[[nodiscard]] std::string meaning_of(const Totals& totals);

/// The median exchange of this job's trials, a mean over the kinds of message. [us]
struct TrialTimes {
  double moved = 0;  ///< by the faster of Strake's ways
  double left = 0;   ///< to the MPI library
};
/// Nothing if no kind was tried to the end.
[[nodiscard]] std::optional<TrialTimes> trial_times(const Totals& totals);

/// For people. `calls`: times::rows() of all ranks.
[[nodiscard]] std::string summary_text(const JobTotals& job, const nlohmann::ordered_json& calls);
/// For programs; docs/reference/command.md has its keys.
[[nodiscard]] nlohmann::ordered_json summary_json(const JobTotals& job,
                                                  nlohmann::ordered_json calls);

}  // namespace strake::interpose
