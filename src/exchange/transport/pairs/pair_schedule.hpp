/// \file  The transfers of a planned exchange from one memory to another, and the copies that they
/// take, compiled once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/transport/launch_batcher.hpp"
#include "exchange/transport/pairs/matched_transfer.hpp"
#include "memory/pool.hpp"
#include "strake/copy.hpp"
#include "strake/exchange.hpp"
#include "strake/place.hpp"

namespace strake::exchange::planned {

/// Where a start has this rank's arrays, by number.
using Bases = std::span<std::byte* const>;

/// Some of a schedule: its transfers from `first` to before `last`; if that is one, perhaps only a
/// part of its packed bytes.
struct Slice {
  std::size_t first = 0;
  std::size_t last = SIZE_MAX;
  ByteRange part = ByteRange::all();
};

/// One direction between two memories: one end packs, the other one unpacks. In a reverse exchange
/// the ends change their parts. Copies on a device are collected
/// (exchange/transport/launch_batcher.hpp): what begins is done once idle() says so.
class PairSchedule {
 public:
  /// `transfers` are this rank's end of it, in memory of `place`. `direct`: short blocks in host
  /// memory are read in place, too; both ends say the same.
  PairSchedule(std::vector<MatchedTransfer> transfers, Place place, bool direct);
  /// Waits for what was begun.
  ~PairSchedule();
  PairSchedule(PairSchedule&&) noexcept = default;
  PairSchedule& operator=(PairSchedule&&) noexcept = default;

  /// Size of the packed bytes, with each transfer rounded up to whole lines. [bytes]
  [[nodiscard]] std::int64_t packed_bytes() const noexcept { return packed_bytes_; }
  /// Size of the transfers. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] bool is_empty() const noexcept { return transfers_.empty(); }
  /// Whether this rank's end is in device memory.
  [[nodiscard]] bool on_device() const noexcept { return place_.kind == MemoryKind::Device; }
  /// Where this rank's arrays are.
  [[nodiscard]] Place place() const noexcept { return place_; }
  [[nodiscard]] const std::vector<MatchedTransfer>& transfers() const noexcept {
    return transfers_;
  }
  /// How many of the bytes are read in place, if this rank's arrays are shared.
  [[nodiscard]] std::int64_t bytes_in_place() const noexcept;
  /// The arrays of this rank that are read in place, with what is touched there.
  struct Shown {
    int array = 0;
    ByteRange touched;
  };
  [[nodiscard]] const std::vector<Shown>& shown() const noexcept { return shown_; }

  /// Begins to pack this rank's bytes to `packed`, those that are read in place only if `all`.
  /// \param there  the memory of `packed`: this rank's device packs into it, if it reaches it; else
  ///               the CPU copies there from pinned memory
  void pack(Bases bases, std::byte* packed, bool all, Place there = {}, const Slice& slice = {});
  /// Where the other end's array lies; null: it can't be read there.
  using Find = std::function<const std::byte*(int array, ByteRange touched)>;
  /// Begins to unpack the other end's bytes: from `packed`, or, where they are read in place, if
  /// `find` is not empty, from there. `combine` is empty where they take the place of what is here.
  /// False: they have to be packed, all of them, and nothing was begun.
  [[nodiscard]] bool unpack(Bases bases, const std::byte* packed, const Find& find,
                            std::span<const Combine> combine, Place there = {},
                            const Slice& slice = {});
  /// Whether what was begun of that is done. \throws CudaError
  [[nodiscard]] bool idle(const Slice& slice = {});

 private:
  /// Compiled when first needed: a reverse exchange may never be.
  struct Plans {
    std::optional<CopyPlan> pack;         ///< packed <- mine
    std::optional<CopyPlan> unpack;       ///< mine <- packed
    std::optional<CopyPlan> pull;         ///< mine <- theirs
    std::optional<CopyPlan> pack_theirs;  ///< packed <- theirs
  };
  /// A copy on a device: with others in one launch, or, of a part of a transfer, in its own.
  struct PieceCopy {
    DeviceCopy whole;
    std::optional<CopyPlan> parts;
  };
  struct DeviceCopies {
    PieceCopy pack;
    PieceCopy unpack;
  };
  void pack_on_device(std::size_t i, std::byte* packed, const std::byte* from, Place there,
                      ByteRange part);
  void unpack_transfer(std::size_t i, std::byte* to, const std::byte* from, bool there,
                       ByteRange part);
  void unpack_on_device(std::size_t i, std::byte* to, const std::byte* packed, Place there,
                        ByteRange part);
  void combine_transfer(std::size_t i, std::byte* to, const std::byte* from, bool there,
                        const Combine& how);
  /// One end of a copy.
  struct End {
    const Layout& layout;
    Place place;
  };
  void begin(std::size_t i, PieceCopy& copy, const End& to, const End& from, std::byte* target,
             const std::byte* source, ByteRange part);
  [[nodiscard]] std::byte* stage();
  [[nodiscard]] Place stage_place() const noexcept { return {MemoryKind::Pinned, place_.device}; }

  /// Bytes that are copied from the stage once the device's copies are done.
  struct Staged {
    std::size_t transfer = 0;
    ByteRange part;
    std::byte* to = nullptr;  ///< where the transfer goes
  };
  /// A copy of a transfer that a device carries out.
  struct Running {
    std::size_t transfer = 0;
    ByteRange part;
    std::shared_ptr<const LaunchBatch> launch;  ///< null: it has a launch of its own
    Queue* queue = nullptr;
    Ticket ticket;
    [[nodiscard]] bool done() const { return launch ? launch->done() : queue->done(ticket); }
  };
  /// Plans and memory of copies, made at the first: an exchange that waits for its first round
  /// costs little.
  struct Work {
    std::vector<Plans> plans;                 ///< by transfer, in host memory
    std::vector<DeviceCopies> device_copies;  ///< by transfer, on a device
    std::vector<const std::byte*> sources;
    std::vector<std::byte> scratch;
    PoolBlock stage;  ///< packed bytes that the device reaches
    std::vector<Running> running;
    std::vector<Staged> staged;
  };
  [[nodiscard]] Work& work();

  std::vector<MatchedTransfer> transfers_;
  std::vector<Shown> shown_;
  Place place_;
  std::int64_t packed_bytes_ = 0;
  std::int64_t size_bytes_ = 0;
  std::unique_ptr<Work> work_;
};

/// The transfers between two memories: what this rank sends, and what it receives (kSends,
/// kReceives).
using Schedules = std::array<PairSchedule, 2>;

/// `combine` of one array: as many as arrays, or one for all.
[[nodiscard]] inline const Combine& combine_of(std::span<const Combine> combine, int array) {
  return combine[combine.size() == 1 ? 0 : static_cast<std::size_t>(array)];
}

/// Combines packed values with a layout's bytes.
void combine_packed(const Layout& layout, std::byte* base, const std::byte* packed,
                    const Combine& combine);

}  // namespace strake::exchange::planned
