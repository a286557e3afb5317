/// \file  The plug-in's own memory: blocks of the pool of the core that it works for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/backend.hpp"

namespace strake::cuda {

/// Device or pinned memory for as long as it is in scope. When it goes out of scope no work may use
/// it any more: the pool reuses it at once, without asking the runtime.
class Block {
 public:
  Block() noexcept = default;
  /// \param source  of the core that asked for what the block is part of; it takes the block back.
  /// \throws OutOfMemory
  Block(const BlockSource& source, Place place, std::int64_t bytes);
  ~Block();
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  void (*release_)(Place place, void* block) noexcept = nullptr;
  Place place_;
  std::byte* data_ = nullptr;
};

}  // namespace strake::cuda
