/// \file  Messages between ranks of a node by memory that they share. A rank takes part if it runs
/// under `strake run`, on its own, in a job that its launcher names, without MPI_THREAD_MULTIPLE.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exchange/peers/directory.hpp"
#include "exchange/transport/shared/peer_segments.hpp"
#include "exchange/transport/shared/send_segment.hpp"
#include "memory/sharing/descriptor_socket.hpp"

namespace strake::exchange::shared {

/// How the sender of a message spends the time until the receiver has taken it.
enum class Sender : std::uint8_t {
  Busy,        ///< it works, or waits for other messages, too
  Idle,        ///< it waits for this message alone
  Overwrites,  ///< it writes to the message's memory
};

class ShmEndpoint {
 public:
  /// The endpoint of the process; null unless it takes part. < 1 ns.
  [[nodiscard]] static ShmEndpoint* get() noexcept {
    return s_open.load(std::memory_order_acquire);
  }
  /// `job`: what tells the ranks of MPI_COMM_WORLD from those of other jobs that use `directory`.
  /// Where no memory or name can be had, the process takes no part, and the log says why.
  static void open(sharing::SharedDirectory directory, const std::string& job, std::int32_t rank,
                   std::int32_t ranks) noexcept;
  /// Before MPI ends: nothing is sent any more, and what is here can still be received.
  static void close() noexcept;

  /// A descriptor for a message, `layout` from `address` on at `place`, in host memory or a
  /// device's; nothing: it has to go by MPI. It is offered where it lies, if that rank can read it
  /// there. Not in host memory if the sender is idle: two processors that pack and unpack at a time
  /// are faster than one that copies. Device memory: only if the receiver can read it in place. Now
  /// and then one message is packed to announce a new allocation.
  [[nodiscard]] std::optional<Lease> lease(const Destination& to, const Layout& layout,
                                           const std::byte* address, Place place,
                                           Sender sender = Sender::Busy);
  /// Whether lease() of a busy sender's message in host memory would be an offer, to a rank that
  /// reads its memory. ~30 ns.
  [[nodiscard]] bool would_offer(const Layout& layout, const std::byte* address);
  /// Messages of that layout will come and go: what they need is made now, and stays until
  /// let_go().
  void prepare(const Layout& layout);
  void let_go(const Layout& layout) noexcept { send_segment_.let_go(layout); }
  /// An offer has ended: the receiver has taken it, or it came too late. What is learned of that
  /// rank decides on the next ones.
  void learn(std::int32_t rank, bool taken) noexcept;
  /// How long a sender should wait for an offer of so many bytes to be claimed, once it waits for
  /// it: about as long as packing them takes, so that it loses no more than it might gain.
  [[nodiscard]] std::chrono::nanoseconds patience(std::int32_t rank, std::int64_t bytes,
                                                  Place place) const noexcept;
  /// [bytes] Shorter messages go by MPI: from a device's memory, whose packing takes two launches,
  /// only those that are not longer than a header message.
  [[nodiscard]] std::int64_t limit(Place place = {}) const noexcept {
    return place.kind == MemoryKind::Device ? kLongestHeader + 1 : limit_;
  }
  /// Which ranks share memory with this one.
  [[nodiscard]] peers::Directory& directory() noexcept { return directory_; }
  [[nodiscard]] const peers::Directory& directory() const noexcept { return directory_; }
  /// From now on everything goes by MPI; what is on its way still comes.
  void stop_sending() noexcept { directory_.stop_reaching_all(); }
  /// A message of a header message's length goes there by MPI. False: it has got no descriptor.
  bool add_placeholder(const Destination& to, std::int64_t bytes);
  /// Whether messages in the memory of a device go by header messages.
  [[nodiscard]] bool shares_devices() const noexcept { return shares_devices_; }
  /// How many offers were packed after all.
  [[nodiscard]] std::uint64_t offers_late() const noexcept { return late_; }
  /// Bytes of messages that were packed, and would have been offered if they lay in memory that
  /// others can map.
  [[nodiscard]] std::uint64_t bytes_in_ordinary_memory() const noexcept { return in_ordinary_; }
  /// How many messages of a device could not be offered, by the reason why other ranks can't open
  /// their memory.
  using Unshareable = std::array<std::uint64_t, sharing::kDeclined>;
  [[nodiscard]] const Unshareable& unshareable() const noexcept { return unshareable_; }
  void count(sharing::Declined why) noexcept { ++unshareable_[static_cast<std::size_t>(why)]; }
  [[nodiscard]] SendSegment& send_segment() noexcept { return send_segment_; }
  [[nodiscard]] PeerSegments& peer_segments() noexcept { return peer_segments_; }

 private:
  static constexpr int kMostHits = 8;
  ShmEndpoint(sharing::SharedDirectory directory, const std::string& job, std::int32_t rank,
              std::int32_t ranks);
  /// A region, and whether a rank can read it by now.
  struct Reachable {
    sharing::Arenas::Region region;
    bool known = false;
    bool looks = false;  ///< it is to look for announcements
  };
  [[nodiscard]] std::optional<sharing::Arenas::Region> region_with(const Layout& layout,
                                                                   const std::byte* address,
                                                                   Place place);
  [[nodiscard]] std::optional<Reachable> reach(std::int32_t rank,
                                               const sharing::Arenas::Region& region);

  static inline constinit std::atomic<ShmEndpoint*> s_open{nullptr};
  std::int32_t rank_;
  std::int64_t limit_;
  std::int64_t direct_limit_;
  bool shares_devices_;
  peers::Directory directory_;
  SendSegment send_segment_;
  PeerSegments peer_segments_;
  /// By rank: rises with the offers that it has claimed in time, falls with others.
  std::vector<int> hits_;
  std::uint64_t late_ = 0;
  std::uint64_t in_ordinary_ = 0;
  Unshareable unshareable_{};
};

}  // namespace strake::exchange::shared
