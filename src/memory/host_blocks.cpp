#include "memory/host_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

#include "memory/per_thread.hpp"
#include "memory/size_class.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// In front of each block; while the block waits, `next` links it. As long as a cache line, to keep
/// the alignment.
struct alignas(64) Header {
  Header* next = nullptr;
  int size_class = 0;
};

/// Free blocks by class, as linked lists: pushing and popping allocates nothing.
class Shelf {
 public:
  void push(Header* header) noexcept {
    auto& head = heads_[static_cast<std::size_t>(header->size_class)];
    header->next = head;
    head = header;
  }
  Header* pop(int size_class) noexcept {
    auto& head = heads_[static_cast<std::size_t>(size_class)];
    Header* const header = head;
    if (header != nullptr) head = header->next;
    return header;
  }

 private:
  std::array<Header*, kSizeClasses> heads_{};
};

struct SharedShelf {
  std::atomic<std::int64_t> bytes{0};  ///< of all blocks
  std::mutex mutex;
  Shelf shelf;
};
SharedShelf& shared_shelf() noexcept { return ProcessState::part<SharedShelf>(); }

/// How many blocks of a class a thread keeps; all threads share the other blocks. An exchange may
/// have a hundred short messages in flight.
constexpr int most_kept(int size_class) noexcept {
  constexpr int kBlocks = 4;
  constexpr std::int64_t kBytes = 256 << 10;
  if (size_class > kLargestWholeClass) return 0;
  return std::max(kBlocks, static_cast<int>(kBytes >> size_class));
}

struct ThreadShelf {
  Shelf shelf;
  std::array<int, kSizeClasses> kept{};
  ThreadShelf() = default;
  ThreadShelf(const ThreadShelf&) = delete;
  ThreadShelf& operator=(const ThreadShelf&) = delete;
  ~ThreadShelf() {
    const std::scoped_lock lock(shared_shelf().mutex);
    for (int size_class = 0; size_class < kSizeClasses; ++size_class) {
      while (Header* header = shelf.pop(size_class)) shared_shelf().shelf.push(header);
    }
  }
};
/// This thread's; null where there is no memory for it.
ThreadShelf* own_shelf() noexcept {
  try {
    return &PerThread<ThreadShelf>::get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* acquire_host_block(std::int64_t bytes) {
  const int size_class = size_class_of(bytes);
  const auto index = static_cast<std::size_t>(size_class);
  ThreadShelf* const own = own_shelf();
  Header* header = own != nullptr ? own->shelf.pop(size_class) : nullptr;
  if (header != nullptr) {
    --own->kept[index];
    return header + 1;
  }
  {
    const std::scoped_lock lock(shared_shelf().mutex);
    header = shared_shelf().shelf.pop(size_class);
  }
  if (header == nullptr) {
    const std::size_t size = sizeof(Header) + static_cast<std::size_t>(class_bytes(size_class));
    void* memory = std::aligned_alloc(alignof(Header), size);
    if (memory == nullptr) {
      free_waiting_host_blocks();
      memory = std::aligned_alloc(alignof(Header), size);
    }
    if (memory == nullptr)
      throw OutOfMemory(fmt::format("no host memory is left for {} bytes", size));
    header = new (memory) Header{nullptr, size_class};
    shared_shelf().bytes.fetch_add(class_bytes(size_class), std::memory_order_relaxed);
  }
  return header + 1;
}

void release_host_block(void* block) noexcept {
  if (block == nullptr) return;
  Header* const header = static_cast<Header*>(block) - 1;
  const auto index = static_cast<std::size_t>(header->size_class);
  ThreadShelf* const own = own_shelf();
  if (own != nullptr && own->kept[index] < most_kept(header->size_class)) {
    own->shelf.push(header);
    ++own->kept[index];
    return;
  }
  const std::scoped_lock lock(shared_shelf().mutex);
  shared_shelf().shelf.push(header);
}

void free_waiting_host_blocks() noexcept {
  const std::scoped_lock lock(shared_shelf().mutex);
  for (int size_class = 0; size_class < kSizeClasses; ++size_class) {
    while (Header* const header = shared_shelf().shelf.pop(size_class)) {
      shared_shelf().bytes.fetch_sub(class_bytes(size_class), std::memory_order_relaxed);
      std::free(header);
    }
  }
}

std::int64_t host_block_bytes() noexcept {
  return shared_shelf().bytes.load(std::memory_order_relaxed);
}

}  // namespace strake
