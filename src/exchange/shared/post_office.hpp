/// \file  Messages between ranks of a node by memory that they share: this rank's page, those of
/// the others, and which ranks can be reached so. A rank takes part if it runs under `strake run`,
/// on its own, in a job that its launcher names, without MPI_THREAD_MULTIPLE.
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

#include "exchange/shared/inbox.hpp"
#include "exchange/shared/outbox.hpp"
#include "memory/sharing/descriptor_socket.hpp"

namespace strake::exchange::shared {

/// What the sender of a message does until that is taken.
enum class Sender : std::uint8_t {
  Busy,        ///< it works, or waits for other messages, too
  Idle,        ///< it waits for this message alone
  Overwrites,  ///< it writes to the message's memory
};

class PostOffice {
 public:
  /// That of the process; null unless it takes part. < 1 ns.
  [[nodiscard]] static PostOffice* get() noexcept { return s_open.load(std::memory_order_acquire); }
  /// `job`: what tells the ranks of MPI_COMM_WORLD from those of other jobs that use `directory`.
  /// Where no memory or name can be had, the process takes no part, and the log says why.
  static void open(sharing::SharedDirectory directory, const std::string& job, std::int32_t rank,
                   std::int32_t ranks) noexcept;
  /// Before MPI ends: nothing is sent any more, and what is here can still be received.
  static void close() noexcept;

  /// A slot for a message, `layout` from `address` on at `place`, in host memory or a device's;
  /// nothing: it has to go by MPI. It is offered where it lies, if that rank can read it there.
  /// Not in host memory if the sender is idle: two processors that pack and unpack at a time are
  /// faster than one that copies. From a device's memory only what can be
  /// offered, and now and then one that tells of the allocation.
  [[nodiscard]] std::optional<Lease> lease(const Destination& to, const Layout& layout,
                                           const std::byte* address, Place place,
                                           Sender sender = Sender::Busy);
  /// Messages of that layout will come and go: what they need is made now, and stays until
  /// let_go().
  void prepare(const Layout& layout);
  void let_go(const Layout& layout) noexcept { outbox_.let_go(layout); }
  /// An offer has ended: the receiver has taken it, or it came too late. What is learned of that
  /// rank decides on the next ones.
  void learn(std::int32_t rank, bool taken) noexcept;
  /// How long a sender should wait for an offer of so many bytes to be claimed, once it waits for
  /// it: about as long as packing them takes, so that it loses no more than it might gain.
  [[nodiscard]] std::chrono::nanoseconds patience(std::int32_t rank, std::int64_t bytes,
                                                  Place place) const noexcept;
  /// [bytes] Shorter messages go by MPI. From a device's memory, whose packing takes two launches,
  /// all do but those that are shorter than an envelope.
  [[nodiscard]] std::int64_t limit(Place place = {}) const noexcept {
    return place.kind == MemoryKind::Device ? kLongestEnvelope + 1 : limit_;
  }
  /// Whether that rank has mapped this one's page. Introduces this rank at the first call, and some
  /// of the later ones. ~1 ns once it is known.
  [[nodiscard]] bool reaches(std::int32_t rank) {
    const Reach known = neighbours_[static_cast<std::size_t>(rank)].reach;
    return known == Reach::Yes || (known != Reach::No && introduce(rank));
  }
  /// Before a receive from there: its introduction is taken, and it gets this rank's. ~1 ns once
  /// both are known.
  void expect(std::int32_t rank) {
    const Reach known = neighbours_[static_cast<std::size_t>(rank)].reach;
    if (known == Reach::Yes || known == Reach::No) {
      inbox_.expect(rank);
    } else {
      (void)introduce(rank);  // which looks, too
    }
  }
  /// Whether this rank and that one have mapped each other's page. ~1 ns.
  [[nodiscard]] bool both_know(std::int32_t rank) const noexcept {
    return neighbours_[static_cast<std::size_t>(rank)].reach == Reach::Yes && inbox_.knows(rank);
  }
  /// Whether that rank may share memory with this one: it is on this node, and takes part.
  [[nodiscard]] bool may_reach(std::int32_t rank) {
    return reaches(rank) || neighbours_[static_cast<std::size_t>(rank)].reach == Reach::Introduced;
  }
  /// Whether no envelope will come from there: it is on another node, or takes no part. ~1 ns.
  [[nodiscard]] bool never_hears_from(std::int32_t rank) const noexcept {
    return inbox_.refuses(rank);
  }
  /// Whether one that is not reached may be, once it has taken introductions; not if it was not
  /// found several times.
  [[nodiscard]] bool may_answer(std::int32_t rank) const noexcept {
    constexpr std::uint32_t kOften = 4;
    const Neighbour& neighbour = neighbours_[static_cast<std::size_t>(rank)];
    return neighbour.reach == Reach::Introduced ||
           (neighbour.reach == Reach::Unknown && neighbour.attempts < kOften);
  }
  /// From now on everything goes by MPI; what is on its way still comes.
  void stop_sending() noexcept;
  /// A message of an envelope's length goes there by MPI. False: it has got no slot.
  bool mark(const Destination& to, std::int64_t bytes);
  /// Whether messages in the memory of a device go by envelopes.
  [[nodiscard]] bool shares_devices() const noexcept { return shares_devices_; }
  /// How many other ranks have mapped this one's page.
  [[nodiscard]] int ranks_reached() const noexcept;
  /// How many offers were packed after all.
  [[nodiscard]] std::uint64_t offers_late() const noexcept { return late_; }
  /// How many messages of a device could not be offered, by the reason why other ranks can't open
  /// their memory.
  using Unshareable = std::array<std::uint64_t, sharing::kDeclined>;
  [[nodiscard]] const Unshareable& unshareable() const noexcept { return unshareable_; }
  void count(sharing::Declined why) noexcept { ++unshareable_[static_cast<std::size_t>(why)]; }
  [[nodiscard]] Outbox& outbox() noexcept { return outbox_; }
  [[nodiscard]] Inbox& inbox() noexcept { return inbox_; }

 private:
  enum class Reach : std::uint8_t {
    Unknown,
    Introduced,  ///< it has not answered yet
    Yes,
    No,
  };
  struct Neighbour {
    Reach reach = Reach::Unknown;
    std::uint32_t attempts = 0;
    int luck = kMostLuck;  ///< rises with the offers that it has claimed in time, falls with others
    /// An allocation that it was told of.
    struct Told {
      std::uint32_t generation = 0;
      std::uint32_t messages = 0;  ///< since then, as long as it has not answered
      std::uint32_t failures = 0;  ///< to tell it
    };
    std::vector<Told> regions;  ///< none, or one for each that there may be
    bool news = false;          ///< its next message is to let it look for introductions
    /// What it has open, and was not told yet that it is freed.
    std::vector<sharing::DeviceExports::Freed> freed;
    std::uint32_t tries = 0;  ///< to tell it
  };
  static constexpr int kMostLuck = 8;
  PostOffice(sharing::SharedDirectory directory, const std::string& job, std::int32_t rank,
             std::int32_t ranks);
  using Sent = sharing::DescriptorSocket::Sent;
  [[nodiscard]] Sent send(std::int32_t rank, const Introduction& made,
                          std::span<const int> descriptors) const noexcept;
  [[nodiscard]] Sent introduce(std::int32_t rank, const sharing::Arenas::Region& region,
                               Place place) const;
  bool introduce(std::int32_t rank);
  /// An allocation, and whether a rank can read it by now.
  struct Reachable {
    sharing::Arenas::Region region;
    bool known = false;
    bool news = false;  ///< it is to look for introductions
  };
  void tell_freed();
  [[nodiscard]] std::optional<Reachable> region_of(std::int32_t rank, const Layout& layout,
                                                   const std::byte* address, Place place);

  static inline constinit std::atomic<PostOffice*> s_open{nullptr};
  std::uint64_t job_;
  std::int32_t rank_;
  std::int64_t limit_;
  std::int64_t direct_limit_;
  bool shares_devices_;
  Outbox outbox_;
  sharing::DescriptorSocket socket_;
  Inbox inbox_;
  std::vector<Neighbour> neighbours_;
  std::uint64_t late_ = 0;
  Unshareable unshareable_{};
  bool freed_untold_ = false;  ///< some Neighbour::freed has any
};

}  // namespace strake::exchange::shared
