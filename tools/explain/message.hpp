/// \file  How a message of a datatype would travel to another rank, by this machine's profile.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exchange/choice/choice.hpp"
#include "machine/model.hpp"
#include "machine/profile_state.hpp"

namespace strake::explain {

/// One transport for one end of a message.
struct Candidate {
  machine::Transport transport = machine::Transport::Library;
  /// \{ [s]. Nothing: not known, or no part of its own (the MPI library packs and unpacks in its
  /// own part).
  std::optional<double> end;
  std::optional<double> wire;
  std::optional<double> other_end;
  std::optional<double> total;
  /// \}
  std::string why_not;  ///< set if the transport can't be used, or has no known time
  bool chosen = false;
};

/// The reason for the choice of a transport.
enum class Decided : std::uint8_t {
  Settled,   ///< only one transport is possible (contiguous host memory), or STRAKE_METHOD
  Measured,  ///< the profile
  BuiltIn,   ///< the job's built-in rules, since the profile lacks a part
};

struct End {
  machine::MessageDirection direction = machine::MessageDirection::Send;
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
  std::vector<Message> all;  ///< none without a profile
};

/// Whether ranks of a node exchange a message of so many bytes by memory that they share, where
/// that is the faster way: by the settings.
[[nodiscard]] bool may_be_shared(std::int64_t bytes);

/// For every MPI library of the profile, within a node and, where that was measured, between nodes.
[[nodiscard]] Messages messages_of(const Layout& layout, MemoryKind from, MemoryKind to);

[[nodiscard]] nlohmann::ordered_json to_json(const machine::ProfileState& state);
[[nodiscard]] nlohmann::ordered_json to_json(const Messages& messages);
[[nodiscard]] std::string to_text(const Messages& messages);

}  // namespace strake::explain
