/// \file  What is chosen between two ranks of a node whose arrays are both on devices: put, engine,
/// one-shot, or staged, by which CPUs copy what devices packed.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/transport/pairs/pair_schedule.hpp"
#include "machine/transport.hpp"

namespace strake::exchange::planned {

using machine::Transport;

/// One rank and its device, as the node numbers it.
struct RankOnDevice {
  int rank = 0;
  int device = 0;
};

/// The choices for an exchange, which the part above makes (choice/between_devices.hpp).
struct DeviceChoices {
  Transport (*between)(const RankOnDevice& own, const RankOnDevice& other,
                       const PairSchedule& sends, const PairSchedule& receives) = nullptr;
  bool engines_copy_own = false;  ///< what a device is to itself
};

/// All that a device exchanges with another one in a round, or with itself.
struct DeviceTraffic {
  RankOnDevice other;
  Transport transport = Transport::Put;
  const std::vector<Piece>* sends = nullptr;
  const std::vector<Piece>* receives = nullptr;  ///< null: both are the same
};

}  // namespace strake::exchange::planned
