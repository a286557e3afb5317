/// \file  What the summary says, and how.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "interpose/counters.hpp"

namespace strake::interpose {

/// What is known of a job when it ends.
struct JobTotals {
  Totals totals;
  int ranks = 1;
  bool whole_job = false;  ///< of all ranks; else of rank 0
};

[[nodiscard]] Count total(const Totals& totals, Method method);

/// For people. `calls`: times::rows() of all ranks.
[[nodiscard]] std::string summary_text(const JobTotals& job, const nlohmann::ordered_json& calls);
/// For programs; docs/reference/command.md has its keys.
[[nodiscard]] nlohmann::ordered_json summary_json(const JobTotals& job,
                                                  nlohmann::ordered_json calls);

}  // namespace strake::interpose
