#include "exchange/planned/mapped_board.hpp"

#include <utility>

#include "device/backend.hpp"

namespace strake::exchange::planned {

MappedRange::MappedRange(int device, std::byte* begin, std::int64_t bytes)
    : device_(device),
      here_(begin),
      there_(required_device_backend().map_host(device, begin, bytes)) {}

MappedRange::~MappedRange() {
  if (here_ != nullptr) device_backend()->unmap_host(device_, here_);
}

MappedRange::MappedRange(MappedRange&& other) noexcept
    : device_(other.device_), here_(std::exchange(other.here_, nullptr)), there_(other.there_) {}

MappedRange& MappedRange::operator=(MappedRange&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(here_, other.here_);
  std::swap(there_, other.there_);
  return *this;
}

MappedBoard::MappedBoard(int device, const Board& board, bool packed_too)
    : words_(device, board.words(), board.shape().packed_at()) {
  if (packed_too && board.shape().packed_bytes > 0)
    packed_ = MappedRange(device, board.packed(), board.shape().packed_bytes);
}

}  // namespace strake::exchange::planned
