#include "exchange/transport/put/staging_memory.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "memory/sharing/ranges.hpp"
#include "state/process_state.hpp"

namespace strake::exchange::planned {
namespace {

constexpr std::int64_t kSlabBytes = 8 << 20;
constexpr std::int64_t kMostInSlab = 1 << 20;
constexpr std::int64_t kUnit = 256;

}  // namespace

/// An allocation, and the blocks that are used of it.
struct StagingMemory::Slab {
  Place place;
  PoolBlock memory;
  sharing::Ranges blocks{kSlabBytes};

  struct All {
    std::mutex mutex;
    std::list<Slab> slabs;
  };
  static std::mutex& mutex() { return ProcessState::part<All>().mutex; }
  static std::list<Slab>& all() { return ProcessState::part<All>().slabs; }
};

StagingMemory::StagingMemory(Place place, std::int64_t bytes)
    : bytes_((bytes + kUnit - 1) / kUnit * kUnit) {
  if (bytes_ > kMostInSlab) {
    own_ = PoolBlock(place, bytes_);
    data_ = own_.data();
    return;
  }
  const std::lock_guard lock(Slab::mutex());
  const auto take_from = [&](Slab& slab) {
    const auto at = slab.place == place ? slab.blocks.take(bytes_, kUnit) : std::nullopt;
    if (!at) return false;
    slab_ = &slab;
    data_ = slab.memory.data() + *at;
    return true;
  };
  if (std::ranges::none_of(Slab::all(), take_from))
    (void)take_from(Slab::all().emplace_back(place, PoolBlock(place, kSlabBytes)));
}

StagingMemory::~StagingMemory() {
  if (slab_ == nullptr || data_ == nullptr) return;
  const std::lock_guard lock(Slab::mutex());
  slab_->blocks.give_back(data_ - slab_->memory.data(), bytes_);
  if (slab_->blocks.is_unused())
    std::erase_if(Slab::all(), [&](Slab& slab) { return &slab == slab_; });
}

StagingMemory::StagingMemory(StagingMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      slab_(other.slab_),
      own_(std::move(other.own_)) {}

StagingMemory& StagingMemory::operator=(StagingMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(slab_, other.slab_);
  std::swap(own_, other.own_);
  return *this;
}

void StagingMemory::leak() noexcept {
  data_ = nullptr;
  own_.leak();
}

}  // namespace strake::exchange::planned
