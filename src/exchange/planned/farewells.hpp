/// \file  The last messages of a planned exchange between ranks that share no memory, and the end
/// of its communicator.
#pragma once

#include <mpi.h>

#include <vector>

#include "exchange/planned/ending.hpp"

namespace strake::exchange::planned {

/// Each rank sends each far peer one farewell, when it takes part no longer. A communicator is
/// freed once its rank has received all farewells, and all ranks have left after the same round:
/// then no message is under way that another communicator could get. So farewells may outlive their
/// exchange: all of the process are in one list, which the destructors of exchanges and
/// MPI_Finalize go through.
class Farewells {
 public:
  /// Owns `comm` from now on. `peers` are those that are reached by messages alone. Local.
  /// \throws std::bad_alloc  `comm` is the caller's then
  [[nodiscard]] static Farewells& open(MPI_Comm comm, const std::vector<int>& peers);
  /// Sends this rank's, once. Local.
  void send(const Ending& own) noexcept;
  /// Receives what has come. The MPI library and the interposer go on meanwhile, as in any call of
  /// MPI that waits: others may wait for messages of this rank.
  void look() noexcept;
  /// Returns a peer's farewell, as the last look() found it.
  [[nodiscard]] const Ending& of(int peer) const noexcept;
  /// The exchange is no more, and has sent. May delete this. Local.
  void let_go() noexcept;

  /// Receives what has come for exchanges that are no more, and frees their communicators. Local.
  static void advance_all() noexcept;
  /// In MPI_Finalize, once this rank has sent all: waits until the other ranks have done so, too.
  static void finish_all() noexcept;

 private:
  struct Peer {
    int rank = 0;
    Ending ending;
    MPI_Request sending = MPI_REQUEST_NULL;
  };
  struct All;
  static All& all();
  Farewells(MPI_Comm comm, const std::vector<int>& peers);
  /// Whether all have come, and all were sent.
  [[nodiscard]] bool is_complete() noexcept;
  void free_comm() noexcept;

  MPI_Comm comm_;
  std::vector<Peer> peers_;
  Ending own_;
  bool let_go_ = false;
};

}  // namespace strake::exchange::planned
