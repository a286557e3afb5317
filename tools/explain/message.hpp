/// \file  How a message of a datatype would travel to another rank, by this machine's profile.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exchange/method.hpp"
#include "machine/model.hpp"

namespace strake::explain {

/// One method for one end of a message.
struct Candidate {
  machine::Method method = machine::Method::System;
  std::optional<machine::Model::Parts> parts;  ///< nothing if a part was not measured
  std::string why_not;                         ///< set if the method can't be used
  bool chosen = false;
};

/// What decided on the method.
enum class Decided : std::uint8_t {
  Settled,   ///< only one method is possible (contiguous host memory), or STRAKE_METHOD
  Measured,  ///< the profile
  BuiltIn,   ///< the job's built-in rules, since the profile lacks a part
};

struct End {
  machine::Direction direction = machine::Direction::Send;
  MemoryKind memory = MemoryKind::Host;
  std::vector<Candidate> candidates;
  Decided decided = Decided::BuiltIn;
  exchange::Reason reason = exchange::Reason::None;  ///< of a settled choice
};

/// A message between two ranks, by one MPI library.
struct Message {
  std::string mpi;  ///< empty: none was measured
  bool gpu_aware = false;
  machine::Reach link = machine::Reach::Node;
  End ends[2];
};

struct Messages {
  std::string problem;  ///< why there are none: no profile, and how to measure
  std::vector<Message> all;
};

/// For every MPI library of the profile, within a node and, where that was measured, between nodes.
[[nodiscard]] Messages messages_of(const Layout& layout, MemoryKind from, MemoryKind to);

[[nodiscard]] nlohmann::ordered_json to_json(const Messages& messages);
[[nodiscard]] std::string to_text(const Messages& messages);

}  // namespace strake::explain
