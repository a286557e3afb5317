/// \file  What the ranks of an exchange tell each other when it is planned, and what they find
/// wrong with that, all of them alike.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "strake/exchange.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange::planned {

/// A transfer, as one end knows it. Its other end is in the same place of the other rank's list.
struct Piece {
  int tag = 0;
  int array = 0;
  Layout mine;
  Layout theirs;
  int their_array = 0;
};

/// The memories that a rank's arrays are in, each once: host memory, whatever its kind, and each
/// device.
struct Places {
  explicit Places(const ExchangePart& part);
  std::vector<Place> all;
  std::vector<std::size_t> of_array;  ///< its number in `all`
};

/// All between this rank's arrays in one memory and a rank's in one, which may be this rank, in the
/// order of their sender's declarations by tag.
struct Dealings {
  int rank = 0;
  std::size_t place = 0;        ///< of this rank's Places
  std::size_t their_place = 0;  ///< of the other's
  bool they_are_on_device = false;
  std::vector<Piece> sends;
  std::vector<Piece> receives;
  bool direct = false;  ///< both ranks are forced to read in place (STRAKE_METHOD)
};

/// Tells each peer of this rank's transfers with it, and learns of the peers'. Collective.
/// \returns  by ranks; both ranks have those between them in the same order
/// \throws InvalidArgument  on all ranks: a fault in a part, two that do not fit, or ranks that do
/// not speak the same protocol
[[nodiscard]] std::vector<Dealings> tell_peers(MPI_Comm comm, const ExchangePart& part,
                                               const Places& places);

}  // namespace strake::exchange::planned
