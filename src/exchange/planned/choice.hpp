/// \file  How bytes travel between two ranks of a node whose arrays are both on devices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exchange/planned/lane.hpp"
#include "machine/exchange_model.hpp"

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

/// By STRAKE_METHOD; else by the prediction for all that goes between the two, if this machine's
/// profile has what it takes (machine/exchange_model.hpp); else Device. ~10 us a piece.
[[nodiscard]] MailMethod choose(const RankOnDevice& own, const RankOnDevice& other,
                                const Lane& sends, const Lane& receives);
/// What a device exchanges with another one in a round, or with itself.
struct Mailed {
  RankOnDevice other;
  MailMethod method = MailMethod::Device;
  const std::vector<Piece>* sends = nullptr;
  const std::vector<Piece>* receives = nullptr;  ///< null: both are the same
};
/// How long a round takes, from its start to the end of a wait for it, where other ranks do alike.
/// Nothing: nothing was measured on this class of machine, or not all that it takes, or by several
/// methods.
[[nodiscard]] std::optional<machine::Prediction> predict_round(const RankOnDevice& own,
                                                               std::span<const Mailed> all);
/// Whether STRAKE_METHOD wants copy engines, for what a rank is to itself, too.
[[nodiscard]] bool engines_are_wanted() noexcept;

}  // namespace strake::exchange::planned
