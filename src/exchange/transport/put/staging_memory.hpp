/// \file  Staging memory of devices. Small pieces share an allocation, since other processes
/// open allocations, and few can be open at once (sharing::DeviceExports::kMost).
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/pool.hpp"
#include "strake/place.hpp"

namespace strake::exchange::planned {

/// A block of it, from a multiple of 256 bytes on. Freed with this object.
class StagingMemory {
 public:
  StagingMemory() noexcept = default;
  /// \throws OutOfMemory
  StagingMemory(Place place, std::int64_t bytes);
  ~StagingMemory();
  StagingMemory(StagingMemory&& other) noexcept;
  StagingMemory& operator=(StagingMemory&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// Keeps the block from being reused: something may access it for an unknown time.
  void leak() noexcept;

 private:
  struct Slab;

  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Slab* slab_ = nullptr;  ///< null: `own_` has it
  PoolBlock own_;
};

}  // namespace strake::exchange::planned
