/// \file  What a device back end offers to the core: its memory and its queues. The core loads the
/// plug-in (`libstrake-cuda.so`) only in a process whose device runtime is loaded; nothing here
/// names CUDA. The copies that a device runs come from a second factory of the same plug-in
/// (copy/device_copier.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "strake/place.hpp"
#include "strake/queue.hpp"

namespace strake {

/// What the runtime knows of the allocation that an address lies in.
struct AllocationInfo {
  Place place;
  std::uint64_t base = 0;        ///< first address of the allocation (0: not known)
  std::uint64_t size_bytes = 0;  ///< its length
  std::uint64_t buffer_id =
      0;  ///< unique in the life of the process: a new allocation at an old address differs
};

/// An in-order queue of device work (a stream) with a completion count that the host reads without
/// a call. One thread at a time. Work is ordered after what the legacy default stream held when it
/// was enqueued.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Contiguous copy between any two places the device reaches.
  virtual Ticket copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Later work waits, on the device, for the ticket of another queue of the same device.
  virtual void wait_for(const Queue& other, Ticket ticket) = 0;
  /// True once done. \throws CudaError  the device reported a fault (checked now and then).
  virtual bool done(Ticket ticket) = 0;
  /// Spins, then yields, until done. \throws CudaError
  virtual void wait(Ticket ticket) = 0;
  [[nodiscard]] virtual int device() const noexcept = 0;
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
  /// Asks the runtime (no cache). Managed memory of a device that is not usable is taken for the
  /// host's. False where it knows nothing of the address (plain host memory).
  virtual bool query(const void* address, AllocationInfo& info) const noexcept = 0;
  /// Whether the runtime knows the address, and the buffer id of the allocation there (0: it has
  /// none): one cheap question (110 ns; 180 ns for an address that it does not know).
  virtual bool knows(const void* address, std::uint64_t& buffer_id) const noexcept = 0;
  virtual std::unique_ptr<Queue> make_queue(int device) = 0;
  /// Device or pinned (mapped) host memory. \throws OutOfMemory
  virtual void* allocate(Place place, std::int64_t bytes) = 0;
  virtual void deallocate(Place place, void* address) noexcept = 0;
};

/// Where device and pinned blocks come from. A pool, as a rule: giving memory back to a device's
/// runtime waits for all that runs there.
struct BlockSource {
  /// \throws OutOfMemory
  void* (*acquire)(Place place, std::int64_t bytes) = nullptr;
  void (*release)(Place place, void* block) noexcept = nullptr;
};
/// Names the source for a plug-in that is loaded from now on. Once, before main.
void set_block_source(const BlockSource& source) noexcept;

/// What the core tells its plug-in, which has no settings of its own.
struct DeviceBackendOptions {
  std::int64_t spin_ns = 20000;  ///< a wait spins this long before it yields the core
  BlockSource blocks;            ///< for the plug-in's own blocks
  void (*warn)(const char* text) = nullptr;
};

/// Raised when this header changes: a plug-in of another version is refused.
inline constexpr int kDeviceBackendVersion = 5;
/// The one symbol of a plug-in, `strake_make_device_backend`. Null where the version differs or no
/// device can be used.
using MakeDeviceBackend = DeviceBackend* (*)(int version, const DeviceBackendOptions& options);

/// The process's device back end, loaded at first need: null while no device runtime is loaded in
/// the process, or the plug-in is missing (logged once). Cheap to ask again and again (~1 ns; a
/// few thousand times 7 ns after a shared object was loaded).
[[nodiscard]] DeviceBackend* device_backend() noexcept;
/// A function of the plug-in that device_backend() loaded; null where it has none of that name.
[[nodiscard]] void* device_plugin_symbol(const char* name) noexcept;

}  // namespace strake
