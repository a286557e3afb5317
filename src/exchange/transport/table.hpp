/// \file  The table of transports: one row for each way to move bytes between two memories. What is
/// known without MPI and devices (name, possible, predict, describe) is machine/transports.hpp's;
/// a row adds how messages and planned exchanges carry it out.
///
/// How to add a transport:
/// 1. Add its enumerator and its facts (machine/transport.hpp, transports.cpp): a name, which
/// STRAKE_METHOD
///    takes (settings.def) and all outputs show, the paths on which it is possible, and, if the
///    profile has its costs, what it uses of the machine (machine/usage.cpp).
/// 2. For planned exchanges: derive a class from PairTransfer, with pack, post, poll, unpack and
///    cancel, and write the two functions `carries` and `open` of its row.
/// 3. For messages: give the row a PackedForm, whose pack and unpack move bytes between the user's
///    layout and the memory that a channel carries.
/// 4. Add the row to kRows in table.cpp, before those that it is to be preferred to.
/// tests/mpi/transport_test.cpp adds a row of a toy transport.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "exchange/transport/packing.hpp"
#include "exchange/transport/pairs/connections.hpp"
#include "exchange/transport/pairs/pair_transfer.hpp"
#include "machine/path.hpp"
#include "machine/transports.hpp"

namespace strake::exchange {

/// A memory of this rank and one of a peer, between which a planned exchange has transfers.
struct PairContext {
  std::array<planned::PairSchedule, 2>& schedules;  ///< outlives what is opened
  /// From this rank's memory to the peer's. A peer whose memory is not mapped here, or does not map
  /// this rank's, counts as on another node.
  machine::Path path;
  bool reads = false;  ///< the peer may read this rank's arrays in place
  planned::Connections& connections;
  std::size_t number = 0;  ///< of the pair in `connections`
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = 0;
  /// \{ Of messages to this rank, and to the peer; -1 on one node.
  int in_tag = -1;
  int out_tag = -1;
  /// \}
  [[nodiscard]] bool near() const noexcept { return path.from.node == path.to.node; }
};

struct Row {
  const machine::TransportFacts* facts = nullptr;
  /// How messages are packed. Null: this transport packs none. (Messages by shared and direct lie
  /// in memory that both ranks map: transport/shared.)
  const PackedForm* form = nullptr;
  /// \{ Planned exchanges, pair by pair: whether this transport carries the pair's bytes, if its
  /// facts say that it is possible, and its end of the pair. Both ends must answer alike. Null: the
  /// transport is none of single pairs. (Put, engine and one-shot move all that a device sends in
  /// one launch: transport/put.)
  bool (*carries)(const PairContext& pair) = nullptr;
  std::unique_ptr<planned::PairTransfer> (*open)(const PairContext& pair) = nullptr;
  /// \}
};

/// All rows, in the order in which planned exchanges prefer them.
[[nodiscard]] std::span<const Row> rows() noexcept;
/// Adds a row before all others, for the rest of the process. Its facts were added by
/// machine::add_transport(). Not thread-safe.
void add_row(const Row& row);
/// How a transport packs messages; it must be one that does. ~1 ns.
[[nodiscard]] const PackedForm& packed_form_of(machine::Transport transport) noexcept;
/// The first row that carries the pair's bytes. Some row carries any pair's.
[[nodiscard]] const Row& row_of(const PairContext& pair);

}  // namespace strake::exchange
