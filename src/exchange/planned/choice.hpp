/// \file  How bytes travel between two ranks of a node whose arrays are both on devices.
#pragma once

#include "exchange/planned/lane.hpp"
#include "machine/method.hpp"

namespace strake::exchange::planned {

/// One rank and its device, as the node numbers it.
struct RankOnDevice {
  int rank = 0;
  int device = 0;
};

/// Device, OneShot or Staged, in this order: a later one needs less of the machine. By
/// STRAKE_METHOD; else by the prediction for all that goes between the two, if this machine's
/// profile has what it takes (machine/exchange_model.hpp); else Device. ~10 us a piece.
[[nodiscard]] machine::Method choose(const RankOnDevice& own, const RankOnDevice& other,
                                     const Lane& sends, const Lane& receives);

}  // namespace strake::exchange::planned
