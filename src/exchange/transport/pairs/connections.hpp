/// \file  The memory of one exchange that its ranks on a node share: this rank's block, and where
/// those of its peers are mapped here. All exchanges of a process share one directory and few
/// segments (exchange/peers), so that one more costs no descriptor and no mapping.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "exchange/peers/group.hpp"
#include "exchange/transport/pairs/sequence_counters.hpp"
#include "exchange/transport/pairs/setup.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"

namespace strake::exchange::planned {

/// A memory of this rank's and one of a rank's, which may be this one, between which there are
/// transfers. Both ranks list those between them in the same order.
struct Pair {
  int rank = 0;
  std::size_t other_end = 0;  ///< if it is this rank's: the pair that is the other end
  std::array<std::int64_t, 2> packed_bytes{};  ///< by schedule: of one round
  bool on_devices = false;                     ///< both memories are devices'
  bool connected = false;                      ///< the ranks say so, both alike
};

/// Pairs are named by their numbers.
class Connections {
 public:
  /// All who plan call it. \throws OutOfMemory  as Setup::agree(); Error, MpiError  as
  /// Setup::swap()
  Connections(std::shared_ptr<peers::Group> group, Setup& setup, const std::vector<Pair>& pairs,
              std::size_t arrays);
  /// The memory is used again once all peers have closed their ends, too; never, unless this rank
  /// has. Local.
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// This rank accesses the memory of its peers no more, and has left well. Local.
  void close() noexcept;
  /// This rank accesses the memory of one pair no more, whose rank never was in the exchange.
  /// Local.
  void close_end(std::size_t pair) noexcept;

  /// Whether both ends of the pair have the other's memory mapped.
  [[nodiscard]] bool reaches(std::size_t pair) const noexcept {
    return here_[pair].theirs != nullptr;
  }
  /// The pair that is the other end of one with this rank itself.
  [[nodiscard]] std::size_t other_end_of(std::size_t pair) const noexcept {
    return here_[pair].other_end;
  }
  /// \{ For pairs that are reached. Returns the end that this rank has of a schedule, and the end
  /// that the other rank has of its schedule.
  [[nodiscard]] SequenceCounters& own_counters(std::size_t pair,
                                               std::size_t schedule) const noexcept {
    return counters()[pair].schedules[schedule];
  }
  [[nodiscard]] SequenceCounters& their_counters(std::size_t pair,
                                                 std::size_t their_schedule) const noexcept {
    return here_[pair].theirs->schedules[their_schedule];
  }
  /// The packed bytes of a schedule: those of two rounds that follow each other lie side by side.
  [[nodiscard]] std::byte* own_packed(std::size_t pair, std::size_t schedule) const noexcept {
    return here_[pair].packed + (schedule == kSends ? 0 : here_[pair].receives_at);
  }
  [[nodiscard]] const std::byte* their_packed(std::size_t pair,
                                              std::size_t their_schedule) const noexcept {
    return here_[pair].their_packed +
           (their_schedule == kSends ? 0 : here_[pair].their_receives_at);
  }
  /// Before `bytes` of this rank's, from own_packed() + `at` on, are written.
  /// \throws OutOfMemory  no memory for them
  void populate(std::size_t pair, std::size_t schedule, std::int64_t at, std::int64_t bytes);
  /// Tells where an array of this rank in host memory lies now; false: the other rank can't read it
  /// there.
  bool show(std::size_t pair, std::int64_t array, const std::byte* address, ByteRange touched);
  /// Where the other rank's array is that it has shown; null: these of its bytes can't be read
  /// there.
  [[nodiscard]] const std::byte* find(std::size_t pair, std::int64_t array, ByteRange touched);
  /// \}
  /// Takes what peers announce, so that they can announce more. A system call.
  static void look();
  /// Whether the process of that pair's rank is known to be gone. Four system calls.
  [[nodiscard]] bool is_gone(std::size_t pair) const noexcept;

  /// Where something lies in memory of a device that peers have.
  struct InDevice {
    std::int32_t region = -1;  ///< negative: they don't have it
    std::uint32_t generation = 0;
    std::int64_t offset = 0;
  };
  /// Gives the memory of [first, last) to the peers of pairs between devices, who call this, or
  /// look(), meanwhile.
  [[nodiscard]] InDevice give_device_memory(const std::byte* first, const std::byte* last);
  /// Returns where memory is that a pair's rank has given; null: `place` does not reach it.
  [[nodiscard]] std::byte* device_memory(std::size_t pair, const InDevice& where, Place place);

  /// \{ Whole pages of shared memory: with the ends of a pair that is reached, and with the packed
  /// bytes; of this rank's block, or the other's.
  struct Pages {
    std::byte* begin = nullptr;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] Pages own_pages(bool packed) const;
  /// \param pair  between devices
  [[nodiscard]] Pages their_pages(std::size_t pair, bool packed) const;
  /// \}

 private:
  /// A pair, as this process knows it.
  struct Here {
    int rank = 0;
    std::uint32_t other_end = 0;
    PairCounters* theirs = nullptr;  ///< null: it is not reached
    ArrayPlace* their_arrays = nullptr;
    /// \{ The packed bytes of kSends, and how far behind them those of kReceives begin. [bytes]
    std::byte* packed = nullptr;
    std::byte* their_packed = nullptr;
    std::int64_t receives_at = 0;
    std::int64_t their_receives_at = 0;
    /// \}
  };
  struct Places;
  struct Ended;
  [[nodiscard]] PairCounters* counters() const noexcept {
    return reinterpret_cast<PairCounters*>(control_.data);
  }
  [[nodiscard]] ArrayPlace* arrays() const noexcept {
    return reinterpret_cast<ArrayPlace*>(counters() + here_.size());
  }
  [[nodiscard]] bool is_own(std::size_t pair) const noexcept {
    return here_[pair].rank == group_->rank();
  }
  void take_blocks(const std::vector<Pair>& pairs, std::size_t arrays);
  void give_blocks_back();
  void connect(Setup& setup, const std::vector<Pair>& pairs);
  void announce_segments(const Setup& setup, const std::vector<int>& ranks) const;
  void swap_places(Setup& setup, const std::vector<Pair>& pairs);
  [[nodiscard]] Places own_places(std::size_t pair) const;
  [[nodiscard]] bool resolve(std::size_t pair, const Places& theirs, bool on_devices);
  static void reuse_ended(std::size_t most);

  std::shared_ptr<peers::Group> group_;
  std::vector<Here> here_;  ///< by pair
  struct TheirPages {
    Pages ends;
    Pages packed;
  };
  std::map<std::size_t, TheirPages> their_pages_;  ///< of pairs between devices
  peers::Segments::Block control_;
  peers::Segments::Block staging_;
  bool are_known_ = false;  ///< the blocks, to peers
  bool closed_ = false;
};

}  // namespace strake::exchange::planned
