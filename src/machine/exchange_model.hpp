/// \file  Predicts how long a planned exchange takes, and chooses a transport for each of its
/// transfers, from measurements of this class of machine. Needs neither MPI nor a device.
/// Sources: dissertation 4.5 (specialised transfers), Tausch 4.1 (rates that ranks share).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/path.hpp"
#include "machine/profile.hpp"
#include "machine/usage.hpp"

namespace strake::machine {

/// A set of transports, a bit each by their numbers.
using TransportSet = std::uint32_t;
inline constexpr TransportSet kAllTransports = ~TransportSet{0};
[[nodiscard]] constexpr TransportSet set_of(Transport transport) noexcept {
  return TransportSet{1} << static_cast<unsigned>(transport);
}

/// One transfer of a planned exchange.
struct PlannedTransfer {
  Path path;
  Shape shape;
  /// Transfers of one unit go by one transport. Negative: this one by itself.
  int unit = -1;
  TransportSet candidates = kAllTransports;
};

/// A resource, with all that an exchange does by it.
struct Busy {
  Resource resource = Resource::RankSending;
  PathEnd at;              ///< whose: that rank's, GPU's or node's; of a pair of GPUs the sender
  double seconds = 0;      ///< fixed costs too
  std::int64_t bytes = 0;  ///< of the transfers
};

struct Prediction {
  /// The slowest rank's time; nothing if a transfer has no transport that can be predicted. [s]
  std::optional<double> seconds;
  /// The slowest rank's transfer that ends last, by its place in the list.
  std::size_t last = 0;
  /// The resource that takes most of the time of transfer `last`.
  Busy bound;
  /// The transport of each transfer; nothing if none can be predicted.
  std::vector<std::optional<Transport>> transports;
  /// The time at which a unit's transfers have ended by each of its candidates, given what was
  /// chosen for all others: by unit, the soonest first.
  struct Alternative {
    Transport transport = Transport::Self;
    double seconds = 0;
  };
  std::vector<std::vector<Alternative>> alternatives;
  /// The transfers' bytes, by link. [bytes]
  std::array<std::int64_t, kPathLinks> bytes{};
  /// The transports that were left out, and the part that the profile lacks for each: "engine over
  /// peer GPU: gpu/fan/egress".
  std::vector<std::string> left_out;
};

/// How the model adds up (decision 16):
/// - A transfer takes its steps one after the other. A step takes as long as the busiest of its
///   resources, with all that the exchange does by that resource.
/// - A rank takes as long as its slowest transfer, sent or received; the exchange as its slowest
///   rank.
/// - Of what a rank launches at once the longest counts, for all. Fixed costs of messages, and of
///   copies to host memory, count once for two ranks.
///
/// Immutable once made: threads may share it.
class ExchangeModel {
 public:
  /// `mpi` is the library's name as in the profile ("Open MPI 4.1.4").
  ExchangeModel(const Profile& profile, std::string_view mpi) : parts_(profile, mpi) {}

  /// Each transfer, or unit of transfers, the largest first, gets the transport by which it ends
  /// soonest, given what was chosen before it. Then each is asked again, given all others, until
  /// none changes. `forced` is taken instead where it is possible. Cost: ~3 us a transfer. \throws
  /// InvalidArgument  a transfer without bytes or blocks, a rank or node below 0, an array in
  /// device memory without its GPU
  [[nodiscard]] Prediction predict(std::span<const PlannedTransfer> transfers,
                                   std::optional<Transport> forced = std::nullopt) const;

 private:
  ExchangeParts parts_;
};

}  // namespace strake::machine
