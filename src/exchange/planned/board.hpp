/// \file  What the ranks of a node share in a planned exchange: for each pair and direction (a
/// lane) how far either end is, where the arrays lie, and room for packed bytes.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "memory/sharing/arenas.hpp"
#include "memory/sharing/descriptor_socket.hpp"
#include "memory/sharing/device_memory.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange::planned {

enum class Offer : std::uint8_t {
  Open,
  Claimed,  ///< the taker is reading them, and will say so
  Back,     ///< they are packed: the giver waited too long, or the taker can't read them
};
[[nodiscard]] constexpr std::uint64_t offer_of(std::uint64_t number, Offer offer) noexcept {
  return number * 4 + static_cast<std::uint64_t>(offer);
}

/// One end of a lane, in the board of its rank. Written by that rank alone. Exchanges count from 1
/// on, whichever way they go.
struct alignas(64) LaneEnd {
  std::atomic<std::uint64_t> given{0};  ///< the last exchange whose bytes are there
  std::atomic<std::uint64_t> taken{0};  ///< the last exchange whose bytes were taken
  /// Whether the given bytes that may be read in their arrays are to be; else all are packed. By
  /// the exchange's parity.
  std::array<std::atomic<std::uint32_t>, 2> in_place{};
  std::atomic<std::uint64_t> rounds_and_kind{0};  ///< of its rank's Ending
  /// Of bytes that are to be read in place: an exchange and its Offer. Both ends decide at once:
  /// each changes Open, and only Open, to what it wants.
  std::atomic<std::uint64_t> offer{0};
  std::atomic<std::uint64_t> packed{0};  ///< the last exchange whose bytes were packed after all
  /// The one word here that the other end writes, or its device does: its last round of mail.
  std::uint64_t mail = 0;
  std::atomic<std::uint64_t> cause{0};  ///< of its rank's Ending, which is written before
};
static_assert(sizeof(LaneEnd) == 64);

/// Where an array is, in an exchange that its rank has given bytes of.
struct ArrayPlace {
  std::atomic<std::int32_t> region{-1};  ///< of sharing::Arenas
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::int64_t> offset{0};
};

/// Where a peer finds what concerns it in a board: two ends, of the lane to it and of that from it,
/// and where the packed bytes of each begin.
struct Corner {
  std::int64_t lane = 0;
  std::array<std::int64_t, 2> packed_at{};
};
/// A memory of a rank that a memory of this one has dealings with. Both ranks list those between
/// them in the same order.
struct Neighbour {
  int rank = 0;
  Corner corner;         ///< in this rank's board
  std::size_t twin = 0;  ///< if it is this rank's: the neighbour that is the other end
};
enum : std::size_t { kSends = 0, kReceives = 1 };

/// The sizes of a rank's board: ends of lanes, then arrays, then packed bytes.
struct BoardShape {
  std::int64_t lanes = 0;
  std::int64_t arrays = 0;
  std::int64_t packed_bytes = 0;

  [[nodiscard]] std::int64_t arrays_at() const noexcept {
    return lanes * std::int64_t{sizeof(LaneEnd)};
  }
  [[nodiscard]] std::int64_t packed_at() const noexcept {
    constexpr std::int64_t kPage = 4096;
    const std::int64_t end = arrays_at() + arrays * std::int64_t{sizeof(ArrayPlace)};
    return (end + kPage - 1) / kPage * kPage;
  }
  [[nodiscard]] std::int64_t bytes() const noexcept { return packed_at() + packed_bytes; }
};

/// A board, this rank's or another's.
class Board {
 public:
  Board() = default;
  /// \throws OutOfMemory
  explicit Board(const BoardShape& shape)
      : shape_(shape), memory_(sharing::SharedMemory::make(shape.bytes())) {}
  Board(const BoardShape& shape, sharing::SharedMemory memory)
      : shape_(shape), memory_(std::move(memory)) {}
  [[nodiscard]] const BoardShape& shape() const noexcept { return shape_; }
  [[nodiscard]] bool is_there() const noexcept { return memory_.data() != nullptr; }
  [[nodiscard]] LaneEnd& lane(std::int64_t number) const noexcept {
    return reinterpret_cast<LaneEnd*>(memory_.data())[number];
  }
  [[nodiscard]] ArrayPlace& array(std::int64_t number) const noexcept {
    return reinterpret_cast<ArrayPlace*>(memory_.data() + shape_.arrays_at())[number];
  }
  [[nodiscard]] std::byte* packed() const noexcept { return memory_.data() + shape_.packed_at(); }
  /// What is not packed bytes.
  [[nodiscard]] std::byte* words() const noexcept { return memory_.data(); }
  [[nodiscard]] int descriptor() const noexcept { return memory_.descriptor(); }
  /// Of another rank's, once it has come.
  void take(sharing::SharedMemory memory) noexcept { memory_ = std::move(memory); }
  /// \throws OutOfMemory  no memory for those packed bytes
  void populate(std::int64_t begin, std::int64_t end);

 private:
  BoardShape shape_;
  sharing::SharedMemory memory_;
};

/// The boards of the ranks of this node that an exchange has dealings with, and their arrays.
class Boards {
 public:
  /// Collective over `comm`. `own` is the shape of this rank's board.
  /// \throws OutOfMemory  on all ranks; MpiError
  Boards(MPI_Comm comm, std::vector<Neighbour> neighbours, const BoardShape& own);
  ~Boards();
  Boards(const Boards&) = delete;
  Boards& operator=(const Boards&) = delete;

  [[nodiscard]] Board& own() noexcept { return own_; }
  /// Whether that rank's board is here, and this one's there.
  [[nodiscard]] bool reaches(int peer) const noexcept {
    return peer == rank_ || peers_.count(peer) != 0;
  }
  [[nodiscard]] const Board& of(int peer) const {
    return peer == rank_ ? own_ : peers_.at(peer).board;
  }
  [[nodiscard]] const Neighbour& neighbour(std::size_t number) const { return neighbours_[number]; }
  /// What a neighbour's rank, which is reached, has for the other end in its board. By the
  /// neighbour's number.
  [[nodiscard]] const Corner& corner(std::size_t neighbour) const { return corners_[neighbour]; }
  /// Takes what peers tell of their arrays, so that they can tell more. A system call.
  void look();
  /// Whether that rank's process is known to be gone. Four system calls.
  [[nodiscard]] bool is_gone(int peer) const noexcept;

  /// Tells where an array of this rank in host memory lies now, for all peers; false: they can't
  /// read it there.
  bool show(std::int64_t array, const std::byte* address, std::int64_t begin, std::int64_t end);
  /// Where a peer's array is that it has shown; null: these of its bytes can't be read there.
  [[nodiscard]] const std::byte* find(int peer, std::int64_t array, ByteRange touched);

  /// Where something lies in memory of a device that peers have.
  struct InDevice {
    std::int32_t region = -1;  ///< of DeviceExports; negative: they don't have it
    std::uint32_t generation = 0;
    std::int64_t offset = 0;
  };
  /// Gives the memory of [first, last) to all peers, who call this, or look(), meanwhile.
  [[nodiscard]] InDevice give_device_memory(const std::byte* first, const std::byte* last);
  /// What a peer has given; null: it can't be reached from `place`.
  [[nodiscard]] std::byte* device_memory(int peer, const InDevice& where, Place place);

 private:
  static constexpr std::size_t kRegions = sharing::Arenas::kMost + sharing::DeviceExports::kMost;
  struct Mapped {
    std::uint32_t generation = 0;
    sharing::SharedMemory memory;
    /// \{ Of a device: opened for each device that reads it.
    ExportedMemory exported{};
    std::vector<sharing::Descriptor> pieces;
    std::vector<sharing::DeviceImport> imports;
    /// \}
  };
  struct Peer {
    Board board;
    std::uint64_t nonce = 0;
    std::vector<Mapped> regions = std::vector<Mapped>(kRegions);
    std::vector<std::uint32_t> told = std::vector<std::uint32_t>(kRegions);
  };
  /// The ranks of this node, but for this one, and the number of the directory for their sockets.
  struct OnNode {
    std::vector<int> ranks;
    std::uint64_t directory = 0;
  };
  [[nodiscard]] static OnNode on_this_node(MPI_Comm comm, const std::set<int>& peers);
  void swap_boards(MPI_Comm comm, const std::vector<int>& on_node, const BoardShape& shape);
  void swap_corners(MPI_Comm comm);
  void send_board(const BoardShape& shape);
  void take_messages();
  [[nodiscard]] Mapped* mapped(int peer, std::int32_t number, std::uint32_t generation);
  bool tell(const sharing::Arenas::Region& region, bool device);

  int rank_ = 0;
  Board own_;
  std::vector<Neighbour> neighbours_;
  std::vector<Corner> corners_;  ///< theirs
  std::uint64_t nonce_ = 0;
  std::unique_ptr<sharing::DescriptorSocket> socket_;
  std::map<int, Peer> peers_;
  std::map<std::uint64_t, int> rank_of_;  ///< by nonce
};

}  // namespace strake::exchange::planned
