/// \file  Judgement of facts for a user: each is good, limited or broken. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts.hpp"

namespace strake::doctor {

enum class State : std::uint8_t { Good, Limited, Broken };
[[nodiscard]] const char* name_of(State state) noexcept;

struct Finding {
  State state = State::Good;
  std::string topic;   ///< "memory of other processes"
  std::string text;    ///< what is so, and what it costs
  std::string remedy;  ///< a command or a change that mends it; empty: nothing does, or need be
};

struct Report {
  std::vector<Finding> findings;
  /// Whether Strake would be in every rank of jobs (of this one); nothing where it is known only at
  /// run time. What it gains there is not known.
  std::optional<bool> reached;
  std::string verdict;  ///< one sentence
};

[[nodiscard]] Report judge(const Facts& facts);

/// \{ Findings of one part, in the order in which they are shown.
void judge_machine(const Facts& facts, std::vector<Finding>& findings);
void judge_gpus(const Facts& facts, std::vector<Finding>& findings);
void judge_profile(const Facts& facts, std::vector<Finding>& findings);
void judge_environment(const Facts& facts, std::vector<Finding>& findings);
void judge_job(const Facts& facts, std::vector<Finding>& findings);
/// \}

}  // namespace strake::doctor
