/// \file  The choice of a transport between two ranks of a node whose arrays are both on devices:
/// put, engine, one-shot, or staged, by which CPUs copy what devices packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exchange/transport/pairs/pair_schedule.hpp"
#include "machine/transport.hpp"

namespace strake::exchange::planned {

using machine::Transport;

/// One rank and its device, as this process numbers the devices of the node.
struct RankOnDevice {
  int rank = 0;
  int device = 0;
};

/// All transfers between a device of this rank and another one of the node, or within its memory.
struct DevicePair {
  RankOnDevice own;
  RankOnDevice other;
  const std::vector<MatchedTransfer>* sends = nullptr;
  const std::vector<MatchedTransfer>* receives = nullptr;  ///< null: within its memory
};
/// The choice for a pair of memories, and why, for people.
struct PairChoice {
  Transport transport = Transport::Put;
  std::string why;
};

/// The choices for an exchange, which the part above makes (choice/exchange_choice.hpp).
struct DeviceChoices {
  /// By pair, of all pairs at once.
  std::function<std::vector<PairChoice>(std::span<const DevicePair>)> choose;
  bool engines_are_forced = false;  ///< for what a device is to itself, too
};

/// All that a device exchanges with another one in a round, or with itself.
struct DeviceTraffic {
  RankOnDevice other;
  Transport transport = Transport::Put;
  const std::vector<MatchedTransfer>* sends = nullptr;
  const std::vector<MatchedTransfer>* receives = nullptr;  ///< null: both are the same
};

}  // namespace strake::exchange::planned
