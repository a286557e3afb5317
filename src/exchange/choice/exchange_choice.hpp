/// \file  The choice of transports for a planned exchange, for all its pairs of memories at once:
/// they share links, threads and launches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exchange/transport/put/choices.hpp"
#include "machine/exchange_model.hpp"

namespace strake::exchange::planned {

/// Returns a device of this node as an end of a path.
[[nodiscard]] machine::PathEnd end_of(const RankOnDevice& at) noexcept;

/// All that goes between two memories, in a round.
struct PlannedPair {
  machine::PathEnd here;
  machine::PathEnd there;
  const std::vector<MatchedTransfer>* sends = nullptr;
  const std::vector<MatchedTransfer>* receives =
      nullptr;  ///< null: both are the same, copied within a memory
  /// Several: one is chosen; the first where the model knows no better.
  std::vector<Transport> candidates;
};

/// A choice by pair, and why, for people: "the soonest by the profile of this machine: put 26.8 us,
/// one-shot 45.0 us". By STRAKE_METHOD; else by one prediction for all pairs together, if this
/// machine's profile has what it takes; else each pair's first candidate. ~10 us a transfer.
[[nodiscard]] std::vector<PairChoice> choose_for_exchange(std::span<const PlannedPair> pairs);

/// The candidates of a pair of devices of a node.
[[nodiscard]] std::vector<Transport> candidates_between_devices();
/// The candidates for what a rank exchanges, in the memory of one device, with devices of a rank of
/// another node: OneShot and, with a GPU-aware library, Device. The first is what a message of as
/// many bytes would go by (choice.hpp). Each end chooses for itself. ~1 us.
[[nodiscard]] std::vector<Transport> candidates_between_nodes(Place place, const Schedules& pair);
/// How long a round takes, from its start to the end of a wait for it, where other ranks do alike.
/// Nothing: nothing was measured on this class of machine, or not all that it takes, or by several
/// transports.
[[nodiscard]] std::optional<machine::Prediction> predict_round(const RankOnDevice& own,
                                                               std::span<const DeviceTraffic> all);
/// Whether STRAKE_METHOD wants copy engines, for what a rank is to itself, too.
[[nodiscard]] bool engines_are_wanted() noexcept;

}  // namespace strake::exchange::planned
