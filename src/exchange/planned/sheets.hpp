/// \file  What the ranks of an exchange tell each other when it is planned, and what they find
/// wrong with that, all of them alike.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "strake/exchange.hpp"
#include "strake/layout.hpp"

namespace strake::exchange::planned {

/// A transfer, as one end knows it. Its other end is in the same place of the other rank's list.
struct Piece {
  int tag = 0;
  int array = 0;
  Layout mine;
  Layout theirs;
  int their_array = 0;
};

/// All between this rank and another one, in the order of their sender's declarations by tag.
struct Dealings {
  std::vector<Piece> sends;
  std::vector<Piece> receives;
  bool they_are_on_device = false;  ///< their arrays
  bool direct = false;              ///< both ranks are forced to read in place (STRAKE_METHOD)
};

/// Tells each peer of this rank's transfers with it, and learns of the peers'. Collective.
/// \throws InvalidArgument  on all ranks: a fault in a part, or two that do not fit
[[nodiscard]] std::map<int, Dealings> tell_peers(MPI_Comm comm, const ExchangePart& part);

}  // namespace strake::exchange::planned
