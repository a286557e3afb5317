/// \file  Cells: how a rank tells another one of the same node, without a message of MPI's, what
/// it sends in a collective call. Each rank has a ring of cells for each rank that it is connected
/// with, in its own segment. A cell names its message by communicator, call and edge, so that ranks
/// may make nonblocking calls on several communicators in different orders (decision 28).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "exchange/transport/shared/shm_endpoint.hpp"

namespace strake::exchange::shared {

/// One message of a collective call between two ranks, as both know it.
struct CellName {
  /// The number of the communicator, or of a persistent call on it (mpi/own_world.hpp).
  std::int32_t comm = 0;
  std::uint32_t call = 0;  ///< of the calls with that number
  std::uint32_t edge = 0;  ///< of the messages from this sender to this receiver in that call
  bool operator==(const CellName&) const = default;
};

/// A sender tells of one message. Receivers copy a cell before they look at it, as its sender may
/// change its memory at any time.
struct Cell {
  /// The bytes of the message are here.
  enum class Carrier : std::uint32_t {
    Inside,   ///< its bytes are in the cell
    Segment,  ///< `header` names its descriptor
    Message,  ///< MPI carries it, with `tag`
  };
  static constexpr std::int64_t kMostInside = 72;

  CellName name;
  Carrier carrier = Carrier::Inside;
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  Header header;
  std::array<std::byte, kMostInside> inside;
};

/// One thread at a time.
class Cells {
 public:
  explicit Cells(ShmEndpoint& endpoint)
      : endpoint_(endpoint), parts_(endpoint.directory().ranks()) {}
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  /// \{ Two ranks connect while both are in one collective call: each opens its ring for the other,
  /// if both have mapped each other's segment; after a barrier each maps the other's ring, and says
  /// so there; after another one connects() holds.
  void open(std::int32_t rank) noexcept;
  void settle(std::int32_t rank) noexcept;
  /// \}
  /// Whether cells go between this rank and that one. Both say the same.
  [[nodiscard]] bool connects(std::int32_t rank) const noexcept {
    const auto at = static_cast<std::size_t>(rank);
    return at < pairs_.size() && pairs_[at].theirs != nullptr &&
           pairs_[at].own->mapped.load(std::memory_order_acquire) != 0;
  }
  /// Tells a connected rank of a message. False: the ring is full, as that rank has not looked at
  /// it for long.
  [[nodiscard]] bool post(std::int32_t rank, const Cell& cell) noexcept;
  /// A cell of a full ring goes to that rank by MPI: from now on it asks MPI for it.
  void note_spilled(std::int32_t rank) noexcept;
  /// How many cells of that rank are to be had from MPI: the caller takes them, and keep()s them.
  [[nodiscard]] std::uint64_t spilled(std::int32_t rank) const noexcept;
  /// The cell of that name from that rank, if it has come.
  [[nodiscard]] std::optional<Cell> take(std::int32_t rank, const CellName& name);
  /// A cell has come by MPI.
  void keep(std::int32_t rank, const Cell& cell);

 private:
  static constexpr std::uint64_t kSlots = 31;
  struct alignas(128) Slot {
    Cell cell;
    std::atomic<std::uint64_t> number{0};  ///< counts the ring's cells, from 1 on; written last
  };
  static_assert(sizeof(Slot) == 128, "two lines of the cache");
  struct Ring {
    alignas(64) std::atomic<std::uint64_t> taken{0};    ///< cells, by the receiver
    std::atomic<std::uint32_t> mapped{0};               ///< by the receiver, which can take cells
    alignas(64) std::atomic<std::uint64_t> spilled{0};  ///< cells that went by MPI
    std::array<Slot, kSlots> slots;
  };
  static_assert(sizeof(Ring) == 4096, "a page");
  struct Pair {
    Ring* own = nullptr;
    Ring* theirs = nullptr;  ///< null: the ranks are not connected
    std::uint64_t posted = 0;
    std::uint64_t taken = 0;
    std::uint64_t spilled_taken = 0;
    std::deque<Cell> kept;  ///< of calls that this rank has not made, or not come to, yet
  };
  [[nodiscard]] std::atomic<std::int64_t>& ring_word(sharing::SharedMemory& segment,
                                                     std::int32_t of) const noexcept;
  [[nodiscard]] Pair& pair(std::int32_t rank) noexcept {
    return pairs_[static_cast<std::size_t>(rank)];
  }
  void drain(Pair& from);

  ShmEndpoint& endpoint_;
  Parts parts_;
  std::vector<Pair> pairs_;  ///< none, or one for each rank of MPI_COMM_WORLD
};

}  // namespace strake::exchange::shared
