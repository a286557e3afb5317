/// \file  The puts of all devices that hold a rank's arrays: one round of an exchange is one of
/// each.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exchange/transport/pairs/connections.hpp"
#include "exchange/transport/put/device_put.hpp"

namespace strake::exchange::planned {

/// All devices put before any takes, and each round comes after the work of all of them: so a rank
/// may have any number of devices, and streams of any of them order its exchanges.
class DevicePuts {
 public:
  /// One device's part of an exchange.
  struct Part {
    Place place;
    std::vector<DevicePut::PutPeer> peers;
    std::vector<MatchedTransfer> own;  ///< copies within its memory
  };
  /// All who plan call it, also ranks without a part. \param arrays  their memories
  /// \throws OutOfMemory, Error  as Setup::agree() and Setup::swap(); MpiError
  DevicePuts(Setup& setup, Connections& connections, const std::vector<Place>& arrays,
             std::vector<Part> parts, const DeviceChoices& choices);

  /// Bytes of arrays in memory of `device` are packed by the launch that puts, if there is one and
  /// they are few. Before the first prepare().
  void pack_too(Place device, PackedByDevice& packed, const Schedules& schedules);
  /// Whether the bytes of a pair of Connections go this way: both ends say the same.
  [[nodiscard]] bool reaches(std::size_t pair) const noexcept { return where_.contains(pair); }
  /// How they travel.
  [[nodiscard]] Transport transport(std::size_t pair) const;
  /// Why a pair of devices goes as it does, for people; empty: there was no choice.
  [[nodiscard]] std::string why(std::size_t pair) const;
  /// Whether copy engines move what a device is to itself.
  [[nodiscard]] bool engines_copy_own() const noexcept;
  /// Whether anything goes this way.
  [[nodiscard]] bool is_used() const noexcept { return !puts_.empty(); }

  /// \{ As of DevicePut, of all.
  [[nodiscard]] bool may_wait() const noexcept;
  [[nodiscard]] bool is_idle() const noexcept;
  void prepare(bool reverse, std::span<const Combine> combine);
  [[nodiscard]] bool is_compiled_reverse(std::span<const Combine> combine) const;
  /// Puts this rank's bytes after the work in these streams, or, if there are none, in the devices'
  /// legacy default streams.
  void start(Bases bases, std::span<Stream> after);
  [[nodiscard]] bool test(bool now);
  /// The work that these streams get later comes after the round's end.
  void end_in(std::span<Stream> before);
  void forget() noexcept;
  void run(Bases bases, std::span<Stream> streams);
  void run_reverse(Bases bases, std::span<const Combine> combine, std::span<Stream> streams);
  void stop_waiting() noexcept;
  void give_up() noexcept;
  /// \}
  /// Calls `visit(device, traffic)` for each device whose rounds DevicePut::round() tells.
  template <typename Visit>
  void for_each_round(int rank, const Visit& visit) const {
    for (const auto& put : puts_)
      if (const auto all = put->round(rank)) visit(put->place().device, *all);
  }
  /// How the last round went, a line for each device, for people. \throws CudaError
  [[nodiscard]] std::string last_round() const;
  /// A pair whose bytes have not come.
  [[nodiscard]] std::optional<std::size_t> late() const noexcept;
  /// Whether the other end of a pair, which has put its last round, is missed in the one that was
  /// started.
  [[nodiscard]] bool misses(std::size_t pair) const noexcept;

 private:
  /// One end of what goes between two devices.
  struct End {
    DevicePut* put = nullptr;
    std::size_t peer = 0;
  };
  using Offers = std::map<const DevicePut*, DevicePut::StagingOffer>;
  /// The pairs of devices between which, or within which, bytes go: those of the ends first.
  /// \param rank  this one \param theirs  the other ends' offers
  [[nodiscard]] std::vector<DevicePair> pairs_of(
      int rank, const std::vector<End>& ends, const Offers& offers,
      const std::vector<DevicePut::StagingOffer>& theirs) const;
  /// Notes for people why a pair goes as both ranks can have it. \param mine  as this rank has it
  void note_why(const DevicePut::PutPeer& peer, const PairChoice& chosen, Transport mine,
                Transport theirs);
  void swap_offers(Setup& setup, Connections& connections, const std::vector<End>& ends,
                   const DeviceChoices& choices);
  void require_capturable(std::span<Stream> streams) const;
  void follow(DeviceStream& work);

  std::map<int, std::unique_ptr<DeviceStream>> defaults_;  ///< by device: the legacy default one
  std::map<int, std::unique_ptr<DeviceEvent>> events_;     ///< by device: what a round comes after
  std::vector<std::unique_ptr<DevicePut>> puts_;
  std::map<std::size_t, End> where_;        ///< by pair
  std::map<std::size_t, std::string> why_;  ///< by pair
};

}  // namespace strake::exchange::planned
