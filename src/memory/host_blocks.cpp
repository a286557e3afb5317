#include "memory/host_blocks.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

#include "memory/size_class.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// In front of each block; while the block waits, `next` links it. As long as a cache line, to keep
/// the alignment.
struct alignas(64) Header {
  Header* next = nullptr;
  int size_class = 0;
};

std::atomic<std::int64_t> g_bytes{0};

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
  std::mutex mutex;
  Shelf shelf;
};
/// Never destroyed: threads may end, and release, after static objects are gone.
SharedShelf& shared_shelf() {
  static auto* const shelf = new SharedShelf;
  return *shelf;
}

// A thread keeps this many blocks of each class up to 4 MiB; all threads share the other blocks.
constexpr int kKeptBlocks = 4;
constexpr int kLargestKeptClass = 22;

struct ThreadShelf {
  Shelf shelf;
  std::array<int, kSizeClasses> kept{};
  ~ThreadShelf();
};
// Plain data, so that it can be read after the thread's objects are destroyed.
thread_local bool t_ended = false;

ThreadShelf::~ThreadShelf() {
  t_ended = true;
  const std::scoped_lock lock(shared_shelf().mutex);
  for (int size_class = 0; size_class < kSizeClasses; ++size_class) {
    while (Header* header = shelf.pop(size_class)) shared_shelf().shelf.push(header);
  }
}
thread_local ThreadShelf t_shelf;

}  // namespace

void* acquire_host_block(std::int64_t bytes) {
  const int size_class = size_class_of(bytes);
  const auto index = static_cast<std::size_t>(size_class);
  Header* header = nullptr;
  if (!t_ended) {
    header = t_shelf.shelf.pop(size_class);
    if (header != nullptr) {
      --t_shelf.kept[index];
      return header + 1;
    }
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
    g_bytes.fetch_add(class_bytes(size_class), std::memory_order_relaxed);
  }
  return header + 1;
}

void release_host_block(void* block) noexcept {
  if (block == nullptr) return;
  Header* const header = static_cast<Header*>(block) - 1;
  const auto index = static_cast<std::size_t>(header->size_class);
  if (!t_ended && header->size_class <= kLargestKeptClass && t_shelf.kept[index] < kKeptBlocks) {
    t_shelf.shelf.push(header);
    ++t_shelf.kept[index];
    return;
  }
  const std::scoped_lock lock(shared_shelf().mutex);
  shared_shelf().shelf.push(header);
}

void free_waiting_host_blocks() noexcept {
  const std::scoped_lock lock(shared_shelf().mutex);
  for (int size_class = 0; size_class < kSizeClasses; ++size_class) {
    while (Header* const header = shared_shelf().shelf.pop(size_class)) {
      g_bytes.fetch_sub(class_bytes(size_class), std::memory_order_relaxed);
      std::free(header);
    }
  }
}

std::int64_t host_block_bytes() noexcept { return g_bytes.load(std::memory_order_relaxed); }

}  // namespace strake
