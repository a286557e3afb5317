/// \file  Which blocks of a persistent call of neighbours go in bundles. Their sender chooses, and
/// tells the receiver when the call is made: each receive is posted when the call starts, and no
/// rank waits for one that is in another call.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "exchange/collective/bundled_messages.hpp"
#include "exchange/collective/members.hpp"

namespace strake::exchange {

class BundleChoice {
 public:
  explicit BundleChoice(const Members& members) : members_(members) {}
  /// This rank's next block to that rank. [bytes]
  void add(int rank, std::int64_t bytes);
  /// Of all ranks that make the call, once all blocks were added: the receivers learn of it.
  /// \param number  of the call \throws MpiError
  void tell(std::int32_t number);
  /// Whether a bundle has the block of that edge. Of a receive: once the senders have told.
  [[nodiscard]] bool bundled(Direction direction, int rank, std::uint32_t edge) const noexcept;

 private:
  struct Blocks {
    BundledMessages bundle;
    std::vector<char> bundled;  ///< by edge
  };
  /// A bundle of one block saves no message.
  static void drop_single(Blocks& blocks);

  const Members& members_;
  std::map<int, Blocks> sent_, received_;  ///< by rank
};

}  // namespace strake::exchange
