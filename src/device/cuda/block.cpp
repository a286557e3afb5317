#include "device/cuda/block.hpp"

#include <utility>

namespace strake::cuda {

DeviceBackendOptions& core() noexcept {
  static DeviceBackendOptions options;
  return options;
}

Block::Block(Place place, std::int64_t bytes)
    : place_(place), data_(static_cast<std::byte*>(core().blocks.acquire(place, bytes))) {}

Block::~Block() {
  if (data_ != nullptr) core().blocks.release(place_, data_);
}

Block::Block(Block&& other) noexcept
    : place_(other.place_), data_(std::exchange(other.data_, nullptr)) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(place_, other.place_);
  std::swap(data_, other.data_);
  return *this;
}

}  // namespace strake::cuda
