/// \file  The ranks of a communicator, as planned exchanges see them: one private communicator for
/// all exchanges that have the same parent, which ranks are on which node, and the directory of
/// this process.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "exchange/peers/directory.hpp"
#include "exchange/peers/segments.hpp"

namespace strake::exchange::peers {

/// Tags of a group's communicator.
enum Tag : std::uint8_t {
  kPlanningTag = 0,   ///< and those after it: steps that all ranks plan by
  kPeersTag = 32,     ///< all steps of planning with peers alone
  kFarewellTag = 33,  ///< who takes part in an exchange no longer
  kFirstTag = 64,     ///< from here on: take_tag()
};

/// A rank, in the table of a group. All ranks have the same table, but for the first number.
struct Member {
  std::int32_t world_rank = -1;  ///< in this rank's MPI_COMM_WORLD; negative: it is of another job
  std::int32_t node = 0;         ///< the lowest rank of the group on that node
  std::int32_t pretended = 0;    ///< the node that STRAKE_RANKS_PER_NODE pretends, of that node's
  std::uint64_t device = 0;      ///< its current device, as DeviceBackend::identity(); 0: none
  /// \{ Where its directory is (peers::Directory::locate()); 0: it shares no memory.
  std::uint64_t directory = 0;
  std::uint64_t job = 0;
  /// \}
};

/// The directory and the segments that all exchanges of this process share.
struct SharedByAll {
  std::atomic<bool> has_ended{false};    ///< MPI_Finalize has begun
  std::mutex mutex;                      ///< of all below
  std::unique_ptr<Directory> directory;  ///< null: no other rank of a node was met
  std::uint64_t directory_number = 0;
  /// Sequence counters and offsets; whole segments are mapped to devices.
  Segments control{kFirstSegment, kMostSegments / 2, 256 << 10};
  /// Packed bytes; their pages are mapped to devices.
  Segments staging{kFirstSegment + kMostSegments / 2, kMostSegments / 2, 4 << 20};
  [[nodiscard]] static SharedByAll& get();
};

class Group {
 public:
  /// The group of `parent`. Collective over it: the first call makes a private communicator, which
  /// is kept with `parent`. Later ones cost ~50 ns.
  /// \throws InvalidArgument  ranks with different versions of Strake, or different values of
  /// STRAKE_RANKS_PER_NODE; MpiError
  [[nodiscard]] static std::shared_ptr<Group> of(MPI_Comm parent);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(members_.size()); }
  [[nodiscard]] const std::vector<Member>& members() const noexcept { return members_; }
  /// Whether `rank` is on this node, and may share memory with this rank. Both ranks say the same.
  [[nodiscard]] bool is_near(int rank) const noexcept;
  /// Whether this rank and `rank` have mapped each other's first segment.
  [[nodiscard]] bool is_connected(int rank) const noexcept;
  [[nodiscard]] std::int32_t world_rank(int rank) const noexcept {
    return members_[static_cast<std::size_t>(rank)].world_rank;
  }

  /// \{ Tags for messages that this rank receives. One tag has one user at a time.
  /// \throws Unsupported  all are in use
  [[nodiscard]] int take_tag();
  void give_back(int tag);
  /// Messages may come under tags that nobody receives any more: the communicator is never freed.
  void abandon_tags() noexcept;
  /// \}
  /// MPI_Finalize has begun, and no exchange goes on: communicators go with MPI, and the socket's
  /// name goes now.
  static void end_all() noexcept;

 private:
  explicit Group(MPI_Comm parent);
  void fill_table();
  void open_directory(std::uint64_t number);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<Member> members_;
  std::mutex mutex_;
  std::set<int> free_tags_;
  int next_tag_;
  bool has_strays_ = false;
};

}  // namespace strake::exchange::peers
