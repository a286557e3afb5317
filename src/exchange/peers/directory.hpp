/// \file  The directory of this core: which ranks of the node share memory with this one, and what
/// of their memory is mapped here. Messages and planned exchanges use the same one (decision 22).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "exchange/peers/control.hpp"
#include "memory/sharing/arenas.hpp"
#include "memory/sharing/descriptor.hpp"
#include "memory/sharing/descriptor_socket.hpp"
#include "memory/sharing/device_memory.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "strake/place.hpp"

namespace strake::exchange::peers {

/// One thread at a time. Ranks are those of MPI_COMM_WORLD.
class Directory {
 public:
  struct Options {
    std::int32_t rank = 0;
    std::int32_t ranks = 1;
    std::uint64_t job = 0;           ///< as in socket_name()
    std::int64_t payload_bytes = 0;  ///< of the first segment
    /// How many of these peers touch at once. [bytes]
    std::int64_t populated_bytes = 0;
    /// Whether a rank says in its peers' control blocks what it has mapped.
    bool answers = false;
    bool opens_device_memory = false;  ///< at once, for the thread's current device
    std::int64_t ranks_per_node = 0;   ///< pretended; 0: none
  };
  /// \throws OutOfMemory, Unsupported
  Directory(sharing::SharedDirectory directory, const Options& options);
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] std::int32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint64_t job() const noexcept { return job_; }
  [[nodiscard]] std::int32_t ranks() const noexcept {
    return static_cast<std::int32_t>(peers_.size());
  }
  /// \{ This rank's first segment.
  [[nodiscard]] const Identity& identity() const noexcept {
    return *reinterpret_cast<const Identity*>(own_.data());
  }
  [[nodiscard]] sharing::SharedMemory& own() noexcept { return own_; }
  [[nodiscard]] const sharing::SharedMemory& own() const noexcept { return own_; }
  [[nodiscard]] const ControlParts& parts() const noexcept { return parts_; }
  /// \}

  /// Says where a rank has its socket, if that is not in this rank's directory, or of another job.
  void locate(std::int32_t rank, std::uint64_t directory, std::uint64_t job);

  /// \{ Connections. Two ranks are connected once each has mapped the first segment of the other.
  /// Whether `rank` has mapped this rank's. Announces this rank at the first call, and at some of
  /// the later ones. ~1 ns once the answer is known.
  [[nodiscard]] bool reaches(std::int32_t rank) {
    const Link known = peer(rank).link;
    return known == Link::Yes || (known != Link::No && announce_self(rank));
  }
  /// Before something is received from there (negative: from any rank): its announcement is taken,
  /// and it gets this rank's. ~1 ns once both are known.
  void expect(std::int32_t rank) {
    if (rank < 0) return look(rank);
    const Link known = peer(rank).link;
    if (known != Link::Yes && known != Link::No) {
      (void)announce_self(rank);  // which looks, too
    } else if (!knows(rank)) {
      look(rank);
    }
  }
  /// Whether the first segment of `rank` is mapped here.
  [[nodiscard]] bool knows(std::int32_t rank) const noexcept {
    return peer(rank).segment.data() != nullptr;
  }
  /// Whether this rank and `rank` have each other's first segment mapped. ~1 ns.
  [[nodiscard]] bool both_know(std::int32_t rank) const noexcept {
    return peer(rank).link == Link::Yes && knows(rank);
  }
  /// Whether `rank` has mapped this rank's first segment.
  [[nodiscard]] bool is_read_by(std::int32_t rank) const noexcept {
    const auto* const readers = reinterpret_cast<const ReaderByte*>(own_.data() + parts_.readers);
    return readers[rank].load(std::memory_order_acquire) != 0;
  }
  /// Whether `rank` may share memory with this rank: it is on this node, and takes part.
  [[nodiscard]] bool may_reach(std::int32_t rank) {
    return reaches(rank) || peer(rank).link == Link::Asked;
  }
  /// Whether a rank that is not reached may be, once it has taken announcements. False after
  /// several attempts that did not find it.
  [[nodiscard]] bool may_answer(std::int32_t rank) const noexcept {
    constexpr std::uint32_t kOften = 4;
    return peer(rank).link == Link::Asked ||
           (peer(rank).link == Link::Unknown && peer(rank).attempts < kOften);
  }
  /// Whether nothing will ever come from there: it is on another node, or takes no part. ~1 ns.
  [[nodiscard]] bool refuses(std::int32_t rank) const noexcept { return peer(rank).refused; }
  /// Nothing is sent to that rank any more; what is on its way still comes.
  void stop_reaching(std::int32_t rank) noexcept { peer(rank).link = Link::No; }
  void stop_reaching_all() noexcept;
  /// How many other ranks have mapped this one's first segment.
  [[nodiscard]] int ranks_reached() const noexcept;
  /// \{ Both ranks connect at a time, in a collective call: each announces itself, and takes what
  /// comes meanwhile. Both settle() alike, once both have said whether they know() the other.
  /// False: that rank's queue is full.
  [[nodiscard]] bool announce_to(std::int32_t rank) noexcept {
    return send_self(rank) != Sent::Full;
  }
  void settle(std::int32_t rank, bool connected) noexcept {
    peer(rank).link = connected ? Link::Yes : Link::No;
  }
  /// \}
  /// Maps what was announced, and tells the owners. A system call.
  void take_announcements();
  /// Whether the process of `rank` is known to be gone. Up to four system calls, until it is.
  [[nodiscard]] bool is_gone(std::int32_t rank) const noexcept;
  /// Takes the socket away: no more will come. The log gets a line on device memory.
  void retire() noexcept;
  /// \}

  /// The first segment of a rank; its data() is null: it is not mapped here.
  [[nodiscard]] sharing::SharedMemory& segment_of(std::int32_t rank) noexcept {
    return peer(rank).segment;
  }

  /// \{ This rank's regions. Whether that rank has mapped a region; then what it is, if not.
  using Region = sharing::Arenas::Region;
  [[nodiscard]] bool is_mapped_by(std::int32_t rank, const Region& region) const noexcept {
    return mapped_word(own_, rank, region.number).load(std::memory_order_acquire) ==
           region.generation;
  }
  enum class Announced : std::uint8_t {
    No,  ///< it can't be announced now
    Yes,
    Look,  ///< the next message is to make that rank look for announcements
  };
  /// Announces a region that a rank has not mapped, at the first call, and at some of the later
  /// ones.
  [[nodiscard]] Announced announce(std::int32_t rank, const Region& region);
  /// Announces a region once to a rank that takes announcements meanwhile. False: it can't be
  /// announced now.
  [[nodiscard]] bool announce_once(std::int32_t rank, const Region& region);
  /// A rank could not map a region: announce_once() announces it again.
  void forget_announcement(std::int32_t rank, const Region& region) noexcept;
  /// Whether the next message to a rank is to make it look for announcements.
  [[nodiscard]] bool owes_look(std::int32_t rank) const noexcept { return peer(rank).owes_look; }
  void has_looked(std::int32_t rank) noexcept { peer(rank).owes_look = false; }
  /// Numbers of freed device memory are used again, other than those of which `in_use` says yes.
  /// Ranks that have it open are to close it, since they keep its memory.
  void announce_freed(const std::function<bool(std::int32_t)>& in_use);
  /// \}

  /// \{ A region of another rank's.
  struct Mapped {
    std::byte* data = nullptr;
    std::int64_t bytes = 0;
    Place place;
  };
  /// Returns how a region is mapped here; nothing if it is not. A device's memory is found as the
  /// device reaches it for which it was opened at once.
  [[nodiscard]] std::optional<Mapped> find(std::int32_t rank, std::int32_t number,
                                           std::uint32_t generation) const noexcept;
  /// Finds a region that was announced before it was named: announcements are taken.
  [[nodiscard]] std::optional<Mapped> find_announced(std::int32_t rank, std::int32_t number,
                                                     std::uint32_t generation);
  /// Finds memory of a device as the device of `place` reaches it. Nothing, and the log says why,
  /// if it does not.
  [[nodiscard]] std::optional<Mapped> find_announced(std::int32_t rank, std::int32_t number,
                                                     std::uint32_t generation, Place place);
  /// \}

 private:
  enum class Link : std::uint8_t {
    Unknown,
    Asked,  ///< it has not answered yet
    Yes,
    No,
  };
  /// A region of another rank's, as it is mapped here.
  struct Import {
    std::uint32_t generation = 0;
    sharing::SharedMemory memory;
    /// \{ For memory of a device: what opens it, and the mappings, by the device that reads it.
    ExportedMemory exported{};
    std::vector<sharing::FileDescriptor> pieces;
    std::vector<sharing::DeviceImport> opened;
    /// \}
    [[nodiscard]] bool is_open() const noexcept {
      return memory.data() != nullptr || !opened.empty();
    }
  };
  /// A region that was announced to a rank.
  struct Announcing {
    std::uint32_t generation = 0;
    std::uint32_t messages = 0;  ///< since then, as long as it has not answered
    std::uint32_t failures = 0;  ///< to tell it
  };
  struct Peer {
    Link link = Link::Unknown;
    bool refused = false;
    bool owes_look = false;
    mutable bool gone = false;   ///< its process
    std::uint32_t attempts = 0;  ///< to announce this rank
    std::uint32_t looks = 0;     ///< how often its announcement was looked for
    std::uint64_t job = 0;
    sharing::SharedDirectory directory;  ///< null: this rank's
    sharing::SharedMemory segment;
    std::vector<Import> imports;        ///< none, or one for each region that there may be
    std::vector<Announcing> announced;  ///< none, or one for each of this rank's
    /// Regions that it has open, and of which it was not told yet that they are freed.
    std::vector<sharing::DeviceExports::Freed> freed;
    std::uint32_t tries = 0;  ///< to tell it
  };
  using Sent = sharing::DescriptorSocket::Sent;
  [[nodiscard]] Peer& peer(std::int32_t rank) noexcept {
    return peers_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const Peer& peer(std::int32_t rank) const noexcept {
    return peers_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] MappedWord& mapped_word(const sharing::SharedMemory& segment, std::int32_t rank,
                                        std::int32_t number) const noexcept {
    return reinterpret_cast<MappedWord*>(segment.data() + parts_.mapped)[rank * kRegions + number];
  }
  bool announce_self(std::int32_t rank);
  void look(std::int32_t rank);
  [[nodiscard]] Sent send(std::int32_t rank, const Announcement& made,
                          std::span<const int> descriptors) const noexcept;
  [[nodiscard]] Sent send_self(std::int32_t rank) const noexcept;
  [[nodiscard]] Sent send_region(std::int32_t rank, const Region& region) const;
  bool refuse(std::int32_t rank) noexcept;
  [[nodiscard]] bool is_expected(const Announcement& made) const noexcept;
  void take_segment(const Announcement& made, int descriptor);
  void take_region(const Announcement& made, sharing::DescriptorSocket::Received& received);
  void take_device_region(Peer& owner, Import& import, const Announcement& made,
                          sharing::DescriptorSocket::Received& received);
  void close_freed(const Announcement& made);
  [[nodiscard]] Peer* owner_of(const Announcement& made);
  void answer(const Peer& owner, const Import& import, std::uint32_t generation) noexcept;
  void close(const Peer& owner, Import& import) noexcept;
  const sharing::DeviceImport& open(Import& import, int device);

  std::int32_t rank_;
  std::uint64_t job_;
  bool answers_;
  bool opens_device_memory_;
  std::int64_t populated_bytes_;
  ControlParts parts_;
  sharing::SharedMemory own_;
  sharing::DescriptorSocket socket_;
  std::vector<Peer> peers_;  ///< by rank
  std::map<std::uint64_t, sharing::SharedDirectory> visited_;
  std::uint32_t looks_ = 0;  ///< for announcements of any rank
  bool freed_untold_ = false;
  std::int64_t device_bytes_ = 0;  ///< that are open
  std::int64_t most_device_bytes_ = 0;
};

}  // namespace strake::exchange::peers
