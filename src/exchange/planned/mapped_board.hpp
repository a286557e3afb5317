/// \file  A board in host memory, where a device reaches it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exchange/planned/board.hpp"

namespace strake::exchange::planned {

/// Some whole pages.
class MappedRange {
 public:
  MappedRange() noexcept = default;
  /// \throws CudaError
  MappedRange(int device, std::byte* begin, std::int64_t bytes);
  ~MappedRange();
  MappedRange(MappedRange&& other) noexcept;
  MappedRange& operator=(MappedRange&& other) noexcept;
  [[nodiscard]] bool is_there() const noexcept { return here_ != nullptr; }
  /// Where the device has something of it.
  [[nodiscard]] std::byte* there(const void* here) const noexcept {
    return there_ + (static_cast<const std::byte*>(here) - here_);
  }

 private:
  int device_ = -1;
  std::byte* here_ = nullptr;
  std::byte* there_ = nullptr;
};

/// Its words, and, if wanted, its packed bytes: these are two ranges, so that both can be mapped
/// whoever else in this process has mapped one of them.
class MappedBoard {
 public:
  MappedBoard() noexcept = default;
  /// \throws CudaError
  MappedBoard(int device, const Board& board, bool packed_too);
  [[nodiscard]] bool is_there() const noexcept { return words_.is_there(); }
  [[nodiscard]] std::byte* word(const void* here) const noexcept { return words_.there(here); }
  [[nodiscard]] std::byte* packed(const std::byte* here) const noexcept {
    return packed_.there(here);
  }

 private:
  MappedRange words_;
  MappedRange packed_;
};

}  // namespace strake::exchange::planned
