/// \file  The ways in which bytes travel between two ranks of a node whose arrays are both on
/// devices.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/transport/lanes/lane.hpp"

namespace strake::exchange::planned {

/// One rank and its device, as the node numbers it.
struct RankOnDevice {
  int rank = 0;
  int device = 0;
};

/// A later one needs less of the machine: where two ends want different ones, both use the later.
enum class MailMethod : std::uint8_t {
  Device,   ///< kernels pack into the other's device memory, and unpack there
  Engine,   ///< copy engines do that, which leave the multiprocessors to the application
  OneShot,  ///< kernels pack into host memory that both devices map
  Staged,   ///< no mail: packed by devices, copied by CPUs
};
/// "device", "engine", …
[[nodiscard]] const char* name_of(MailMethod method) noexcept;

/// The choices for an exchange, which the part above makes (choice/between_devices.hpp).
struct MailChoices {
  MailMethod (*between)(const RankOnDevice& own, const RankOnDevice& other, const Lane& sends,
                        const Lane& receives) = nullptr;
  bool engines_copy_own = false;  ///< what a device is to itself
};

/// All that a device exchanges with another one in a round, or with itself.
struct Mailed {
  RankOnDevice other;
  MailMethod method = MailMethod::Device;
  const std::vector<Piece>* sends = nullptr;
  const std::vector<Piece>* receives = nullptr;  ///< null: both are the same
};

}  // namespace strake::exchange::planned
