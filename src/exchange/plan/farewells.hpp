/// \file  The last messages of a planned exchange between ranks that share no memory, and when its
/// tag may be used again.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "exchange/peers/group.hpp"
#include "exchange/plan/ending.hpp"

namespace strake::exchange::planned {

/// Each rank sends each far peer one farewell, when it takes part no longer. Tags are given back
/// once this rank has received all farewells, and all ranks have left after the same round: then no
/// message is under way that another exchange could get. So farewells may outlive their exchange:
/// all of the process are in one list, which the destructors of exchanges and MPI_Finalize go
/// through.
class Farewells {
 public:
  /// A rank that is reached by messages alone.
  struct Far {
    int rank = 0;
    int their_tag = 0;  ///< that it has for the exchange
  };
  /// \param tag  of messages to this rank: it is given back in the end
  /// Local. \throws std::bad_alloc
  [[nodiscard]] static Farewells& open(std::shared_ptr<peers::Group> group, int tag,
                                       const std::vector<Far>& peers);
  /// Gives the tag back at once, and deletes this: planning has failed, and no rank has sent
  /// anything. Local.
  void cancel() noexcept;
  /// A peer has never planned: none comes from there, and it gets none. Before send(). Local.
  void forget(int peer) noexcept;
  /// Sends this rank's, once. Local.
  void send(const Ending& own) noexcept;
  /// Returns a peer's farewell, as the last look() found it.
  [[nodiscard]] Ending of(int peer) const noexcept;
  /// The exchange is no more, and has sent. May delete this. Local.
  void let_go() noexcept;

  /// Receives what has come for any exchange of the group. The MPI library goes on meanwhile.
  static void look(const peers::Group& group) noexcept;
  /// Receives what has come for exchanges that are no more, and gives their tags back. Local.
  static void advance_all() noexcept;
  /// In MPI_Finalize, once this rank has sent all: waits until the other ranks have done so, too.
  static void finish_all() noexcept;

 private:
  struct Peer {
    Far far;
    Ending ending;
    MPI_Request sending = MPI_REQUEST_NULL;
    std::array<std::uint64_t, 3> message{};
  };
  struct All;
  static All& all();
  Farewells(std::shared_ptr<peers::Group> group, int tag, const std::vector<Far>& peers);
  /// Whether all have come, and all were sent.
  [[nodiscard]] bool is_complete() noexcept;
  void give_tag_back() noexcept;

  std::shared_ptr<peers::Group> group_;
  int tag_;
  std::vector<Peer> peers_;
  Ending own_;
  bool let_go_ = false;
};

}  // namespace strake::exchange::planned
