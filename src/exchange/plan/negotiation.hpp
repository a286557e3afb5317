/// \file  The negotiation of an exchange: its ranks tell each other their transfers, and agree on
/// the faults in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange/peers/group.hpp"
#include "exchange/transport/pairs/matched_transfer.hpp"
#include "exchange/transport/pairs/setup.hpp"
#include "strake/exchange.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange::planned {

/// The memories that a rank's arrays are in, each once: host memory, whatever its kind, and each
/// device.
struct Places {
  explicit Places(const ExchangePart& part);
  std::vector<Place> all;
  std::vector<std::size_t> of_array;  ///< its number in `all`
};

/// All between this rank's arrays in one memory and a rank's in one, which may be this rank, in the
/// order of their sender's declarations by tag.
struct NegotiatedPair {
  int rank = 0;
  std::size_t place = 0;        ///< of this rank's Places
  std::size_t their_place = 0;  ///< of the other's
  bool they_are_on_device = false;
  std::vector<MatchedTransfer> sends;
  std::vector<MatchedTransfer> receives;
  bool direct = false;     ///< both ranks are forced to read in place (STRAKE_METHOD)
  bool connected = false;  ///< both ranks say that they were before
};

/// Tells each peer of this rank's transfers with it, and learns of the peers'. All who plan call
/// it: each rank sends a message to each of its peers; ranks of other nodes get no layouts.
/// \returns  by ranks; both ranks have those between them in the same order
/// \throws InvalidArgument  as Setup::agree() does: a fault in a part, or two that do not fit
[[nodiscard]] std::vector<NegotiatedPair> negotiate(const peers::Group& group, Setup& setup,
                                                    const ExchangePart& part, const Places& places);

}  // namespace strake::exchange::planned
