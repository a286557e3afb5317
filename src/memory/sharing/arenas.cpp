#include "memory/sharing/arenas.hpp"

#include <unistd.h>

#include <functional>

#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::sharing {

void* Arenas::allocate(std::int64_t bytes) noexcept {
  if (bytes < kShortest) return nullptr;
  const std::lock_guard lock(mutex_);
  for (Allocation& allocation : allocations_) {
    if (allocation.memory.data() != nullptr) continue;
    try {
      allocation.memory = SharedMemory::make(bytes);
    } catch (const std::exception& error) {
      log::info("{} bytes are allocated as others are: {}", bytes, error.what());
      return nullptr;
    }
    ++allocation.generation;
    allocation.owner = getpid();
    count_.fetch_add(1, std::memory_order_release);
    return allocation.memory.data();
  }
  return nullptr;
}

bool Arenas::release(const void* address) noexcept {
  if (address == nullptr || count_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  for (Allocation& allocation : allocations_) {
    if (allocation.memory.data() != address) continue;
    // Other ranks may have it mapped for long. A child's is its parent's.
    if (allocation.owner == getpid()) allocation.memory.discard();
    allocation.memory = {};
    count_.fetch_sub(1, std::memory_order_release);
    return true;
  }
  return false;
}

std::optional<Arenas::Region> Arenas::search(const std::byte* first, const std::byte* last) {
  constexpr std::less_equal<> kNotAfter;
  const std::lock_guard lock(mutex_);
  for (std::int32_t number = 0; number < kMost; ++number) {
    const Allocation& allocation = allocations_[static_cast<std::size_t>(number)];
    std::byte* const data = allocation.memory.data();
    if (data == nullptr || !kNotAfter(data, first) ||
        !kNotAfter(last, data + allocation.memory.bytes()))
      continue;
    return Region{number, allocation.generation, allocation.memory.bytes(),
                  allocation.memory.descriptor(), data};
  }
  return std::nullopt;
}

}  // namespace strake::sharing
