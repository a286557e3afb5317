/// \file  Copies: a plan is compiled once from two layouts and two places, and run many times,
/// whole or in part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "strake/api.hpp"
#include "strake/layout.hpp"
#include "strake/memory.hpp"
#include "strake/stream.hpp"

namespace strake {

/// A layout compiled for one pair of memories: the fewest launches that move its bytes. Packing is
/// dense ← layout, unpacking layout ← dense. Immutable once made: threads may share one plan and
/// run it on different streams at the same time. Destroy it only when all its runs are complete and
/// no graph will run it: its tables are reused at once.
class STRAKE_API CopyPlan {
 public:
  /// Local (no communication). Host-only plans need no device. Byte i of `from` in packed order
  /// becomes byte i of `to`. `device` runs the copy. Between two devices, the target's device pulls
  /// and the source's pushes. -1: the target's, else the source's, or the CPU if neither needs a
  /// device. Memory of another device is reached as cudaDeviceEnablePeerAccess() allows: its owner
  /// must have opened what comes from a memory pool or a mapping of the driver's.
  /// \throws InvalidArgument  the two sizes differ, or there is no such device.
  /// \throws Unsupported  no back end reaches both memories.
  /// \throws OutOfMemory
  /// \throws CudaError
  static CopyPlan compile(const Layout& to, Place to_place, const Layout& from, Place from_place,
                          int device = -1);

  CopyPlan();
  CopyPlan(CopyPlan&&) noexcept;
  CopyPlan& operator=(CopyPlan&&) noexcept;
  ~CopyPlan();

  /// Bytes moved by a whole run. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept;
  /// The back end, the kernel and the word size, for people ("cpu box 24B avx512", "cuda box 8B
  /// words").
  [[nodiscard]] std::string description() const;
  /// "cpu", "cuda".
  [[nodiscard]] const char* backend() const noexcept;

  /// Moves the packed bytes `part` and returns when `to` is complete and `from` reusable. `to` and
  /// `from` are the base addresses of the layouts. On a device it runs after the work that is in
  /// the legacy default stream, and in no order with other streams.
  /// \throws CudaError
  void run(std::byte* to, const std::byte* from, ByteRange part = ByteRange::all()) const;
  /// Enqueues the same on `stream` and returns: `to` is complete, and `from` reusable, once
  /// `stream` has passed this point. Within a capture it becomes part of the graph, which copies
  /// between these two addresses at every launch. It allocates nothing and waits for nothing, with
  /// one exception: if one end is pageable host memory, the host waits for the stream, then copies,
  /// and returns when the copy is done. Plans for the CPU run at once, on the CPU's stream alone. A
  /// kernel that is enqueued next with the attribute of programmatic stream serialization must call
  /// cudaGridDependencySynchronize() before it uses what earlier work wrote.
  /// \throws InvalidArgument  the stream is not of the plan's device; Unsupported  the stream is
  /// being captured and the host would have to take part, or it is the legacy default stream and
  /// another stream of the device is being captured; CudaError
  void enqueue(Stream& stream, std::byte* to, const std::byte* from,
               ByteRange part = ByteRange::all()) const;

 private:
  friend struct CopyPlanAccess;  // the library's own
  class Impl;
  explicit CopyPlan(std::unique_ptr<const Impl> impl) noexcept;
  std::unique_ptr<const Impl> impl_;  // null for a plan of no bytes
};

/// Many different copies in one: on a device one launch, whatever their number. Each copy is
/// between two slots, whose base addresses are given at each run, so that buffers may alternate.
/// The copies are in no order on a device, and one after the other on the CPU. Where two of them
/// write the same byte, or (on a device) one reads what one writes, the result is undefined;
/// STRAKE_CHECK=1 finds that. Immutable once made: threads may share one batch and run it on
/// different streams at the same time. Destroy it only when all its runs are complete and no graph
/// will run it: its tables are reused at once.
class STRAKE_API CopyBatch {
 public:
  /// A memory that copies are from or to.
  struct Slot {
    Place place;
    /// How much may be touched from the base address on. [bytes]
    std::int64_t size_bytes = std::numeric_limits<std::int64_t>::max();
  };
  /// Byte i of `from` in packed order becomes byte i of `to`. Layouts are relative to the base of
  /// their slot.
  struct Copy {
    Layout to;
    std::int32_t to_slot = 0;
    Layout from;
    std::int32_t from_slot = 0;
  };
  /// The addresses of all slots travel with the launch, whose parameters have room for so many.
  static constexpr std::int32_t kMaxSlots = 4000;

  /// Local (no communication). Uploads what a device needs: ~240 bytes a copy, 8 bytes for each
  /// tile of 32 to 512 words, and the tables of layouts that are no boxes. `device` runs all
  /// copies; -1: the device of the first target in device memory, else of the first such source,
  /// else of managed memory, or the CPU. Memory of another device is reached as for a plan.
  /// \throws InvalidArgument  sizes that differ, a slot or a device that does not exist, bytes
  /// outside of a slot whose size was given, too many slots; Unsupported  pageable memory in a copy
  /// of a device, a device that can't reach a slot, no back end; OutOfMemory, CudaError
  static CopyBatch compile(std::span<const Slot> slots, std::span<const Copy> copies,
                           int device = -1);

  CopyBatch();
  CopyBatch(CopyBatch&&) noexcept;
  CopyBatch& operator=(CopyBatch&&) noexcept;
  ~CopyBatch();

  /// Bytes moved by a run. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept;
  /// The device that runs it; -1: the CPU.
  [[nodiscard]] int device() const noexcept;
  /// For people ("cuda batch of 208 copies, 8B words").
  [[nodiscard]] std::string description() const;

  /// Enqueues all copies, between the slots at `bases`, in one launch, without allocation or
  /// synchronisation: all targets are complete, and all sources reusable, once `stream` has passed
  /// this point. Within a capture it becomes part of the graph, which keeps these addresses. A
  /// batch for the CPU runs at once, on the CPU's stream alone.
  /// \throws InvalidArgument  the stream is not of the batch's device, `bases` are not as many as
  /// the slots; with STRAKE_CHECK=1 also bytes that are touched twice, an address that is not of
  /// its slot's place, and bytes outside of the memory there; Unsupported  as for a plan, whose
  /// rule for kernels that are enqueued next holds, too; CudaError. Nothing is enqueued then.
  void enqueue(Stream& stream, std::span<std::byte* const> bases) const;
  /// Runs all copies and returns when they are complete. On a device they run after the work that
  /// is in the legacy default stream, and in no order with other streams.
  /// \throws  as enqueue()
  void run(std::span<std::byte* const> bases) const;

 private:
  class Impl;
  explicit CopyBatch(std::unique_ptr<const Impl> impl) noexcept;
  std::unique_ptr<const Impl> impl_;  // null for a batch of no copies
};

}  // namespace strake
