#include "device/cuda/block.hpp"

#include <utility>

namespace strake::cuda {

Block::Block(const BlockSource& source, Place place, std::int64_t bytes)
    : release_(source.release),
      place_(place),
      data_(static_cast<std::byte*>(source.acquire(place, bytes))) {}

Block::~Block() {
  if (data_ != nullptr) release_(place_, data_);
}

Block::Block(Block&& other) noexcept
    : release_(other.release_), place_(other.place_), data_(std::exchange(other.data_, nullptr)) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(release_, other.release_);
  std::swap(place_, other.place_);
  std::swap(data_, other.data_);
  return *this;
}

}  // namespace strake::cuda
