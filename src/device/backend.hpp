/// \file  The device back end, as the core uses it: memory, queues, streams. The core loads the
/// plug-in (`libstrake-cuda.so`) only in a process that uses a device runtime. A second factory of
/// the same plug-in makes the copies that a device runs (copy/device_copier.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/driver_maps.hpp"
#include "strake/place.hpp"
#include "strake/stream.hpp"

namespace strake {

/// How other processes can open the memory of a device.
enum class Exportable : std::uint8_t {
  No,        ///< managed memory, a pool's, or what its program did not allocate for that
  ByHandle,  ///< an allocation of cudaMalloc
  ByPieces,  ///< memory of cuMemMap, each piece by a descriptor
};

/// The allocation that an address lies in, as the runtime describes it. In memory of cuMemMap
/// `base` and `size_bytes` are those of the reserved addresses; the rest is the mapped piece's.
struct AllocationInfo {
  Place place;
  std::uint64_t base = 0;        ///< first address of the allocation (0: not known)
  std::uint64_t size_bytes = 0;  ///< its length
  /// Unique in the life of the process: a new allocation at an old address has another one.
  std::uint64_t buffer_id = 0;
  Exportable exportable = Exportable::No;
};

/// Memory that was allocated at once: an allocation of cudaMalloc, or what one call of cuMemMap
/// mapped.
struct MemoryPiece {
  std::uint64_t base = 0;
  std::int64_t bytes = 0;
  std::uint64_t buffer_id = 0;
};

/// Memory of a device, as another process can open it.
struct ExportedMemory {
  static constexpr std::size_t kMostPieces = 128;
  static constexpr std::int64_t kPieceUnit = 64 << 10;

  std::array<std::byte, 64> handle{};  ///< where it has no pieces
  std::uint64_t base = 0;              ///< in the process that has it
  std::int64_t bytes = 0;
  std::int32_t pieces = 0;  ///< each has a descriptor, which goes beside this
  std::array<std::uint32_t, kMostPieces> piece_units{};  ///< their sizes in kPieceUnit
};

/// A point in a queue's work. A ticket that was never issued is done.
struct Ticket {
  /// Counts up as the queue's work completes; lives as long as the queue.
  const volatile std::uint64_t* progress = nullptr;
  std::uint64_t value = 0;
};

/// Work that a queue's work waits for, beside the queue's own earlier work.
enum class QueueOrder : std::uint8_t {
  AfterDefault,  ///< what was in the legacy default stream when it was enqueued
  Own,           ///< nothing
};

/// An in-order queue of device work with a completion count that the host reads without a call: for
/// the library's own work, which the host waits for. For one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Contiguous copy between any two places the device reaches.
  virtual Ticket copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Later work waits, on the device, for the ticket of another queue of the same device.
  virtual void wait_for(const Queue& other, Ticket ticket) = 0;
  /// True once done.
  /// \throws CudaError  the device reported a fault (checked now and then). Any thread may ask,
  /// whichever uses the queue.
  virtual bool done(Ticket ticket) = 0;
  /// Spins, then yields, until done. \throws CudaError
  virtual void wait(Ticket ticket) = 0;
  [[nodiscard]] virtual int device() const noexcept = 0;
};

/// Marks points in the work of a device's legacy default stream. One thread at a time.
class Marker {
 public:
  virtual ~Marker() = default;
  /// Marks the end of the stream's present work. Marks count up. ~0.35 us. \throws CudaError
  virtual std::uint64_t mark() = 0;
  /// Whether the work before `mark` is done. 0.3 to 0.6 us; 1.5 where this call finds it done.
  /// \throws CudaError
  virtual bool reached(std::uint64_t mark) = 0;
};

/// A point in a stream's work, which the host and other streams can wait for (strake::Event).
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  [[nodiscard]] virtual int device() const noexcept = 0;
  /// \{ \throws CudaError; Unsupported  it was recorded in a stream that was being captured.
  [[nodiscard]] virtual bool query() const = 0;
  virtual void synchronize() const = 0;
  /// \}
};

/// A stream of the device's runtime, the user's or made here (strake::Stream). It issues no
/// tickets.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;
  [[nodiscard]] virtual int device() const noexcept = 0;
  /// The runtime's handle.
  [[nodiscard]] virtual void* native() const noexcept = 0;
  /// Whether its work goes into a graph instead of the device.
  /// \throws Unsupported  it is the legacy default stream, which can't be used while another stream
  /// is captured.
  [[nodiscard]] virtual bool capturing() const = 0;
  /// \{ `event` is of the same device (record), of any device (wait). \throws CudaError
  virtual void record(DeviceEvent& event) = 0;
  virtual void wait(const DeviceEvent& event) = 0;
  /// \}
  /// \{ \throws CudaError; Unsupported  it is being captured.
  [[nodiscard]] virtual bool query() const = 0;
  virtual void synchronize() const = 0;
  /// \}
};

/// The inside of a stream, for the library itself.
struct StreamAccess {
  /// Null for the CPU's.
  [[nodiscard]] static DeviceStream* of(const Stream& stream) noexcept {
    return stream.device_stream_.get();
  }
  /// Whether any of them is being captured.
  [[nodiscard]] static bool any_captures(std::span<const Stream> streams) {
    for (const Stream& stream : streams)
      if (of(stream) != nullptr && of(stream)->capturing()) return true;
    return false;
  }
};

/// The streams that a call was given, as objects side by side: those of the runtime are adopted.
class StreamList {
 public:
  /// \throws  as Stream::adopt
  explicit StreamList(const Streams& given);
  [[nodiscard]] std::span<Stream> all() noexcept { return all_; }

 private:
  std::vector<Stream> adopted_;
  std::span<Stream> all_;
};

/// A device runtime. Calls keep the caller's current device as it was and are safe while another
/// thread captures a graph.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  [[nodiscard]] virtual int device_count() const noexcept = 0;
  /// Whether copies can run on the device: there are kernels for it.
  [[nodiscard]] virtual bool usable(int device) const noexcept = 0;
  /// \throws CudaError  the program has reset the device (cudaDeviceReset) since it was first used
  /// here: nothing that was made before is there any more. ~50 ns.
  virtual void require_intact(int device) const = 0;
  /// Asks the runtime (no cache). Managed memory of a device that is not usable counts as host
  /// memory. False if the runtime does not know the address (plain host memory).
  virtual bool query(const void* address, AllocationInfo& info) const noexcept = 0;
  /// Whether the runtime knows the address, and the buffer id of the allocation there (0: none).
  /// 110 ns; 180 ns for an address that it does not know.
  virtual bool knows(const void* address, std::uint64_t& buffer_id) const noexcept = 0;
  /// Counts the driver's calls that map memory. Null: they can't be counted, so each address must
  /// be asked about each time.
  [[nodiscard]] virtual const DriverMaps* maps() const noexcept = 0;
  virtual std::unique_ptr<Queue> make_queue(int device,
                                            QueueOrder order = QueueOrder::AfterDefault) = 0;
  virtual std::unique_ptr<Marker> make_marker(int device) = 0;
  /// One of its own, which is ordered with no other stream. The library's own work goes before
  /// kernels that fill the device: other ranks wait for it.
  enum class StreamOf : std::uint8_t { User, Library };
  virtual std::unique_ptr<DeviceStream> make_stream(int device, StreamOf use = StreamOf::User) = 0;
  /// The user's `stream`, which stays the user's. The device is the stream's own, or, for the
  /// default streams, `device` (-1: the current one).
  /// \throws InvalidArgument  the stream is not of `device` (unless that is -1), or not of the
  /// primary context of its device.
  virtual std::unique_ptr<DeviceStream> adopt_stream(void* stream, int device) = 0;
  virtual std::unique_ptr<DeviceEvent> make_event(int device) = 0;
  /// Device or pinned (mapped) host memory. \throws OutOfMemory
  virtual void* allocate(Place place, std::int64_t bytes) = 0;
  virtual void deallocate(Place place, void* address) noexcept = 0;
  /// A number that all processes have alike for a device, and no other device of the machine has;
  /// 0: not known. \param device  negative: the thread's current one
  [[nodiscard]] virtual std::uint64_t identity(int device) const noexcept = 0;
  /// Lets a device reach what allocate() gave of another one in this process. False: it can't.
  virtual bool reach_peer(int device, int other) = 0;
  /// Lets a device reach whole pages of host memory, until unmap_host(), once for each call. Ranges
  /// that are mapped have nothing in common, or are the same.
  /// \returns their address there.
  /// \throws CudaError
  virtual std::byte* map_host(int device, std::byte* memory, std::int64_t bytes) = 0;
  virtual void unmap_host(int device, std::byte* memory) noexcept = 0;

  /// Lets other processes open an allocation of cudaMalloc. False: the driver refuses.
  virtual bool export_memory(Place place, const MemoryPiece& whole,
                             ExportedMemory& made) const noexcept = 0;
  /// The pieces around an address in memory of cuMemMap that follow each other without a gap, up to
  /// `most`: as many before it as behind it, if there are. ~5 us each.
  [[nodiscard]] virtual std::vector<MemoryPiece> pieces_around(const void* address,
                                                               std::size_t most) const = 0;
  /// A descriptor of a piece that is mapped now, for other processes. The caller closes it.
  /// Negative: the driver refuses.
  [[nodiscard]] virtual int export_piece(const MemoryPiece& piece) const noexcept = 0;
  /// Memory of another process, for the device of `place`; if that is negative, for the thread's
  /// current device, which `place` tells then.
  /// \param descriptors  as many as it has pieces; they stay the caller's
  /// \throws CudaError  that device does not reach it, or it is gone
  virtual std::byte* import_memory(const ExportedMemory& memory, std::span<const int> descriptors,
                                   Place& place) = 0;
  /// \param address  import_memory() gave it for `memory`.
  virtual void release_import(Place place, std::byte* address,
                              const ExportedMemory& memory) noexcept = 0;
};

/// Where device and pinned blocks come from. Usually a pool, since freeing memory of a device waits
/// for all work on that device.
struct BlockSource {
  /// \throws OutOfMemory
  void* (*acquire)(Place place, std::int64_t bytes) = nullptr;
  void (*release)(Place place, void* block) noexcept = nullptr;
};
/// Sets the source for a plug-in that is loaded later. Call it once, before main.
void set_block_source(const BlockSource& source) noexcept;
[[nodiscard]] const BlockSource& block_source() noexcept;

/// The core's options for its plug-in, which reads no settings itself. They are kept with what the
/// plug-in makes by them: a process may have two cores (decision 14), and each
/// makes a back end of its own.
struct DeviceBackendOptions {
  std::int64_t spin_ns = 20000;  ///< a wait spins this long before it yields the core
  BlockSource blocks;            ///< for the plug-in's own blocks
  void (*warn)(const char* text) = nullptr;
};

/// Raise it when this header changes: a plug-in of another version is refused.
inline constexpr int kDeviceBackendVersion = 13;
/// The plug-in's symbol `strake_make_device_backend`. Null if the version differs or no device can
/// be used.
using MakeDeviceBackend = DeviceBackend* (*)(int version, const DeviceBackendOptions& options);

/// The process's device back end, loaded when first needed. Null while the process has loaded no
/// device runtime, or if the plug-in is missing (logged once). ~1 ns (7 ns for the next few
/// thousand calls after a shared object was loaded).
[[nodiscard]] DeviceBackend* device_backend() noexcept;
/// Returns device_backend(). \throws Unsupported  there is none
[[nodiscard]] DeviceBackend& required_device_backend();
/// The loaded back end's maps(); null, too, while none is loaded.
inline constinit std::atomic<const DriverMaps*> g_driver_maps{nullptr};
/// A function of the plug-in that device_backend() loaded; null if it has none of that name.
[[nodiscard]] void* device_plugin_symbol(const char* name) noexcept;

}  // namespace strake
