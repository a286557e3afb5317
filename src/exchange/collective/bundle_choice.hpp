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
  /// Adds this rank's next block to `rank`. [bytes]
  void add(int rank, std::int64_t bytes);
  /// Tells the receivers which blocks go in bundles, and hears it from the senders. All ranks that
  /// make the call take part, each once it has added its blocks.
  /// \param number  of the call: the tag of these messages \throws MpiError
  void tell(std::int32_t number);
  /// Whether the block of `edge` goes in a bundle. For a receive this is known after tell().
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
