/// \file  The plug-in's own memory: blocks of the core's pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/backend.hpp"

namespace strake::cuda {

/// What the core told the plug-in. Set before anything else is called.
[[nodiscard]] DeviceBackendOptions& core() noexcept;

/// Device or pinned memory for as long as it is in scope. When it goes out of scope no work may use
/// it any more: the pool reuses it at once, without asking the runtime.
class Block {
 public:
  Block() noexcept = default;
  /// \throws OutOfMemory
  Block(Place place, std::int64_t bytes);
  ~Block();
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  Place place_;
  std::byte* data_ = nullptr;
};

}  // namespace strake::cuda
