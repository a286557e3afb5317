/// \file  The table of transports: one row for each way to move bytes between two memories. What is
/// known without MPI and devices (name, possible, predict, describe) is machine/transports.hpp's;
/// a row adds how messages and planned exchanges carry it out.
///
/// How to add a transport. Give it an enumerator and facts (machine/transport.hpp, transports.cpp):
/// a name, which STRAKE_METHOD takes (settings.def, choice/forced.cpp) and all outputs show, the
/// paths on which it is possible, and, if profiles have its costs, what it uses of the machine
/// (usage.cpp; model.cpp for messages).
///
/// For planned exchanges, derive a class from PairTransfer (pairs/pair_transfer.hpp), and write the
/// functions `carries` and `open` of the row. For messages, give the row a PackedForm
/// (packing.hpp), whose pack and unpack move bytes between the user's layout and the memory that a
/// channel carries, and let choice/ choose it.
///
/// Add the row to all_rows() in table.cpp, in the order of the enumeration: planned exchanges take
/// the first row that carries a pair.
/// tests/mpi/transport_test.cpp adds a row of a toy transport.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/transport/packing.hpp"
#include "exchange/transport/pairs/connections.hpp"
#include "exchange/transport/pairs/pair_transfer.hpp"
#include "machine/path.hpp"
#include "machine/transports.hpp"

namespace strake::exchange {

/// A memory of this rank and one of a peer, between which a planned exchange has transfers; between
/// nodes, all memories of the two ranks.
struct PairContext {
  /// Outlive what is opened. One; between nodes, of each pair of memories.
  std::vector<planned::Schedules*> schedules;
  /// From this rank's memory, a device's if any is, to the peer's. A peer whose memory is not
  /// mapped here, or does not map this rank's, counts as on another node. The GPU of a peer is not
  /// known: -1.
  machine::Path path;
  bool reads = false;  ///< this rank lets the peer read its arrays in place; the peer may not
  planned::Connections& connections;
  std::size_t number = 0;  ///< the number of the (first) pair in `connections`
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = 0;
  /// \{ The tags of messages to this rank, and to the peer; -1 on one node.
  int in_tag = -1;
  int out_tag = -1;
  /// \}
};

struct Row {
  const machine::TransportFacts* facts = nullptr;
  /// How messages are packed. Null: this transport packs none. (Messages by shared and direct lie
  /// in memory that both ranks map: transport/shared.)
  const PackedForm* form = nullptr;
  /// \{ Planned exchanges, pair by pair: whether this transport carries a pair's bytes, if its
  /// facts say that it is possible, and this rank's end of the pair. Both ends get paths that are
  /// alike, and open ends that fit each other (all messages of the MPI library do). Null: the
  /// transport is none of pairs. (Direct is what `shared` does with arrays that the receiver can
  /// read. Put, engine and, on a node, one-shot move all that a device sends in one launch:
  /// transport/put.)
  bool (*carries)(const machine::Path& path) = nullptr;
  std::unique_ptr<planned::PairTransfer> (*open)(const PairContext& pair) = nullptr;
  /// \}
};

/// All rows, by the numbers of their transports.
[[nodiscard]] std::span<const Row> rows() noexcept;
/// Adds the row of the facts that machine::add_transport() has added last, for the rest of the
/// process, in this core. Planned exchanges prefer it; choices, counters and STRAKE_METHOD do not
/// know it. Not thread-safe. \throws InvalidArgument  the facts are others
void add_row(const Row& row);
/// How a transport packs messages. ~1 ns. \throws InvalidArgument  it packs none
[[nodiscard]] const PackedForm& packed_form_of(machine::Transport transport);
/// The row of `wanted`, if it carries a pair's bytes; else the first row that does. Some row
/// carries any pair's that an exchange takes. \throws Unsupported  none does
[[nodiscard]] const Row& row_of(const machine::Path& path,
                                std::optional<machine::Transport> wanted = std::nullopt);

}  // namespace strake::exchange
