/// \file  The copies that a device compiles and runs: the second interface of the plug-in, beside
/// device/backend.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "copy/put_words.hpp"
#include "device/backend.hpp"
#include "strake/copy.hpp"
#include "strake/layout.hpp"
#include "strake/value_op.hpp"

namespace strake {

/// One compiled dense <-> layout or layout -> layout copy on a device.
class DevicePlan {
 public:
  virtual ~DevicePlan() = default;
  [[nodiscard]] virtual std::int64_t size_bytes() const noexcept = 0;
  [[nodiscard]] virtual std::string description() const = 0;
  /// The device that runs it, whose queues it takes.
  [[nodiscard]] virtual int device() const noexcept = 0;
  /// Enqueues; the ticket is done when `to` is complete. No allocation, no synchronisation.
  virtual Ticket enqueue(Queue& queue, std::byte* to, const std::byte* from,
                         ByteRange part) const = 0;
  /// Enqueues without a ticket: the queue's next ticket covers this copy. Saves the signal (~2 us)
  /// if nobody waits for this copy alone.
  virtual void enqueue_untracked(Queue& queue, std::byte* to, const std::byte* from,
                                 ByteRange part) const {
    (void)enqueue(queue, to, from, part);
  }
  /// Enqueues on a stream of the plan's device. Not for a staged plan. No allocation, no
  /// synchronisation.
  virtual void enqueue(DeviceStream& stream, std::byte* to, const std::byte* from,
                       ByteRange part) const = 0;
  /// Whether a side is pageable host memory, which no kernel reaches: the host takes part.
  [[nodiscard]] virtual bool staged() const noexcept = 0;
};

/// One compiled batch on a device.
class DeviceBatch {
 public:
  virtual ~DeviceBatch() = default;
  [[nodiscard]] virtual std::string description() const = 0;
  /// \{ Enqueues all copies in one launch; bases[i] is the address of slot i. No allocation, no
  /// synchronisation.
  virtual void enqueue(DeviceStream& stream, std::span<std::byte* const> bases) const = 0;
  virtual Ticket enqueue(Queue& queue, std::span<std::byte* const> bases) const = 0;
  /// \}
};

/// \{ Rounds of device puts: the ranks of a node put packed bytes into each other's staging buffers
/// in device memory, and take those in their own (exchange/transport/put/device_put.hpp).

/// Slots of the copies: first the arrays, whose addresses are given at each round, then buffers.
struct PutCopies {
  /// An address of even rounds, and one of odd rounds.
  using Buffer = std::array<std::byte*, 2>;

  std::span<const Place> arrays;
  std::span<const Buffer> buffers;
  std::span<const CopyBatch::Copy> put;  ///< from arrays to buffers of others
  /// Copies within this rank: from array to array, or to a buffer in pinned memory, which is
  /// complete once PutProgress reports the put.
  std::span<const CopyBatch::Copy> own;
  std::span<const CopyBatch::Copy> take;  ///< from buffers of this rank to arrays
  /// \{ Further copies of each kind, for copy engines; kernels do those that engines can't.
  std::span<const CopyBatch::Copy> engine_put;
  std::span<const CopyBatch::Copy> engine_own;
  std::span<const CopyBatch::Copy> engine_take;
  /// \}
  /// One after the other, after `take`: values of `to` are combined with those of `from`, a buffer
  /// or an array.
  struct Combined {
    CopyBatch::Copy copy;
    DeviceCombine how;
  };
  std::span<const Combined> combined;
};

/// State that all rounds of a rank share, whichever copies they make.
struct PutState {
  PutCounts* counts = nullptr;
  PutProgress* progress = nullptr;
  std::span<const PutFlags> flags;
};

/// The copies of a rank's rounds. Rounds of one PutState follow each other: each is put, then
/// taken. Nothing allocates or waits for the device. Kernels count the rounds in device memory.
/// Engines copy between addresses that the host chooses: `round` is its count of them, from 1 on,
/// which only they use. What copies by them can't be captured in a graph, whose rounds no host
/// counts.
class PutRounds {
 public:
  virtual ~PutRounds() = default;
  /// A new round: puts, copies what is the rank's own, and raises this rank's flags.
  virtual void put(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
                   std::uint64_t ticket) const = 0;
  enum class Await : std::uint8_t {
    No,       ///< the caller has seen all flags
    Soon,     ///< in few threads, and one launch if they are enough to take, too
    InBlock,  ///< in one block of threads, beside work that goes on meanwhile
  };
  /// Takes the round that was put last, once the others' flags are raised: the device waits for
  /// them.
  virtual void take(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
                    std::uint64_t ticket, Await await) const = 0;
  /// A whole round, in one launch where few threads are enough for it.
  virtual void run(DeviceStream& stream, std::span<std::byte* const> arrays,
                   std::uint64_t round) const = 0;
};
/// \}

/// A batch of two slots, the target's and the source's, with their addresses.
struct BatchRun {
  const DeviceBatch* batch = nullptr;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
};

/// The hardware that carries a copy out. Auto: whichever was measured faster for its shape and
/// places.
enum class CopyVariant : std::uint8_t {
  Auto,
  Kernel,  ///< load and store on the multiprocessors: any shape, one launch
  Engine,  ///< the copy engines (1D, 2D, 3D and batched copies): leave the multiprocessors to the
           ///< application
};

/// Compiles copies for the devices of one DeviceBackend, and runs many of them at once.
class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;
  /// A plan for `device`, or (-1) for the device of the target, else of the source. It must outlive
  /// its runs. Engine falls back to a kernel where an engine can't reach a place.
  /// \throws Unsupported  both places are plain host memory, or no peer access.
  virtual std::unique_ptr<DevicePlan> compile(const Layout& to, Place to_place, const Layout& from,
                                              Place from_place,
                                              CopyVariant variant = CopyVariant::Auto,
                                              int device = -1) = 0;
  /// A batch for `device` between memories of the given places. It must outlive its runs.
  /// \throws Unsupported  a copy of pageable host memory, or no peer access; OutOfMemory, CudaError
  virtual std::unique_ptr<DeviceBatch> compile_batch(int device, std::span<const Place> slots,
                                                     std::span<const CopyBatch::Copy> copies) = 0;
  /// Slots that the copies of a round can have.
  static constexpr std::size_t kMostPutSlots = 1900;
  /// With more slots each launch takes longer.
  static constexpr std::size_t kFewPutSlots = 24;
  /// `state` is used by it, and stays the caller's.
  /// \throws InvalidArgument  values to be combined that are not aligned; OutOfMemory, CudaError
  virtual std::unique_ptr<PutRounds> compile_put(int device, const PutCopies& copies,
                                                 const PutState& state) = 0;
  /// Enqueues several batches of two slots, of the queue's device, in one launch for each kMostRuns
  /// of them. The ticket is of all. No allocation, no synchronisation.
  virtual Ticket enqueue_together(Queue& queue, std::span<const BatchRun> runs) = 0;
  static constexpr std::size_t kMostRuns = 64;
};

/// The plug-in's second symbol, `strake_make_device_copier`, for the back end that the first one
/// made. Tables lie in blocks of `blocks`. Null if the version (kDeviceBackendVersion) differs.
using MakeDeviceCopier = DeviceCopier* (*)(int version, const BlockSource& blocks);

/// The copier of device_backend(). Null if that is null, or (logged once) if the plug-in has none.
[[nodiscard]] DeviceCopier* device_copier() noexcept;

}  // namespace strake
