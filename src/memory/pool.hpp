/// \file  Reused blocks of every kind of memory, in size classes (size_class.hpp; powers of
/// two in dissertation 5.8.2).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/backend.hpp"
#include "memory/host_blocks.hpp"
#include "memory/size_class.hpp"
#include "strake/memory.hpp"

namespace strake {

/// Thread-safe. Once a size was used, acquiring and releasing it again calls neither malloc nor a
/// device runtime. A released block may be handed out again at once: release it when the work that
/// uses it is complete.
class Pool {
 public:
  struct Stats {
    std::int64_t bytes_held = 0;    ///< allocated: in use, or waiting to be reused
    std::int64_t bytes_in_use = 0;  ///< of those, acquired (not counted for plain host memory)
    std::uint64_t allocations = 0;  ///< by the device runtime (not counted for plain host memory)
  };

  /// \param backend  where pinned and device memory comes from; null: the process's
  /// device_backend().
  explicit Pool(DeviceBackend* backend = nullptr) noexcept : backend_(backend) {}
  /// Frees the waiting blocks if the pool was given a back end; leaks those in use.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// The process's pool.
  static Pool& instance();

  /// At least `bytes`, aligned to 64 (host) or 256 bytes. If a block waits, ~20 ns for host memory,
  /// ~50 ns for other memory.
  /// \throws OutOfMemory  the allocation failed, even after the waiting blocks of this place were
  /// freed.
  /// \throws Unsupported  managed memory, or no device back end.
  [[nodiscard]] void* acquire(Place place, std::int64_t bytes);
  /// `place` as in acquire(). Null is allowed.
  void release(Place place, void* block) noexcept;
  /// Frees the waiting pinned and device blocks (the runtime may synchronise the device).
  void trim() noexcept;
  [[nodiscard]] Stats stats(Place place) const;

 private:
  struct Shelf {
    Place place;
    std::array<std::vector<void*>, kSizeClasses> waiting;
    std::unordered_map<void*, int> classes;
    Stats stats;
  };
  Shelf& shelf_of(Place place);
  DeviceBackend& backend();
  void give_back(Shelf& shelf) noexcept;

  DeviceBackend* backend_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Shelf>> shelves_;
};

/// A block of a pool for as long as it is in scope.
class PoolBlock {
 public:
  PoolBlock() noexcept = default;
  PoolBlock(Place place, std::int64_t bytes)
      : place_(place),
        data_(place.kind == MemoryKind::Host ? acquire_host_block(bytes)
                                             : Pool::instance().acquire(place, bytes)) {}
  PoolBlock(PoolBlock&& other) noexcept
      : place_(other.place_), data_(std::exchange(other.data_, nullptr)) {}
  PoolBlock& operator=(PoolBlock&& other) noexcept {
    std::swap(place_, other.place_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~PoolBlock() {
    if (data_ == nullptr) return;
    place_.kind == MemoryKind::Host ? release_host_block(data_)
                                    : Pool::instance().release(place_, data_);
  }

  /// Keeps the block from being reused: something may access it for an unknown time.
  void leak() noexcept { data_ = nullptr; }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  [[nodiscard]] Place place() const noexcept { return place_; }

 private:
  Place place_;
  void* data_ = nullptr;
};

}  // namespace strake
