/// \file  Which blocks of a persistent call of neighbours go in bundles. Their sender chooses, and
/// tells the receiver when the call is made: each receive is posted when the call starts, and no
/// rank waits for one that is in another call.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <vector>

#include "exchange/collective/bundled_messages.hpp"
#include "exchange/collective/members.hpp"

namespace strake::exchange {

class BundleChoice {
 public:
  explicit BundleChoice(const Members& members) : members_(members) {}
  /// The next block to, or from, that rank. Both ends add blocks in one order. [bytes]
  void add(MessageDirection direction, int rank, std::uint32_t edge, std::int64_t bytes);
  /// All blocks were added: chooses. tell() takes no memory then.
  void choose();
  /// Receivers learn what their senders chose. All ranks that make the call take part.
  /// \param number  of the call, of which no other message is on its way
  /// \return  MPI_SUCCESS, or what the MPI library returned
  [[nodiscard]] int tell(std::int32_t number) noexcept;
  /// Whether a bundle has the block of that edge. Of a receive: once the senders have told.
  [[nodiscard]] bool bundled(MessageDirection direction, int rank,
                             std::uint32_t edge) const noexcept;

 private:
  struct Blocks {
    BundledMessages bundle;
    std::vector<std::uint32_t> edges;
    std::vector<char> bundled;  ///< by place in `edges`
  };

  const Members& members_;
  std::map<int, Blocks> sent_, received_;  ///< by rank
  std::vector<MPI_Request> requests_;
};

}  // namespace strake::exchange
