/// \file  Memory that other processes can map, allocations of its own here and the process's shared
/// heap: a message from there needs no packing, since its receiver can read it where it lies.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "memory/sharing/heap_view.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "state/process_state.hpp"

namespace strake::sharing {

/// All of the process. Threads may share it.
class Arenas {
 public:
  /// Allocations at a time. More are not made here: each costs a descriptor, and a mapping in each
  /// process that reads it.
  static constexpr int kMost = 64;
  /// Regions that there may be: those allocations, and the slices of the shared heap.
  static constexpr int kRegions = kMost + HeapView::kSlices;
  /// Shorter ones are not worth that. [bytes]
  static constexpr std::int64_t kShortest = 64 << 10;

  Arenas() noexcept;
  static Arenas& get() { return ProcessState::part<Arenas>(); }
  /// Zeroes, at a page's begin; null: there is no room, no memory, or `bytes` are too few. Pages
  /// come when they are touched first, near who touches them. ~20 us. Where the kernel would refuse
  /// the process so much private memory, it gets none here: the caller's own allocator then says
  /// so. \param page  as SharedMemory::make_in_pages(), which touches those of the system's pool at
  /// once; 0: the system's
  [[nodiscard]] void* allocate(std::int64_t bytes, std::int64_t page = 0) noexcept;
  /// False: it was not allocated here.
  bool release(const void* address) noexcept;

  /// An allocation, or a slice of the shared heap, as other processes know it.
  struct Region {
    std::int32_t number = 0;       ///< below kRegions
    std::uint32_t generation = 0;  ///< counts the allocations with that number
    std::int64_t bytes = 0;
    int descriptor = -1;
    std::byte* data = nullptr;
    std::uint64_t file = 0;  ///< number of the descriptor's file; 0: the descriptor is Strake's own
    std::int64_t pool_page = 0;  ///< as SharedMemory::pool_page()
  };
  /// Whether the region's descriptor is still that of its memory: a program may have closed it, and
  /// got its number for a file of its own. A system call, for a slice of the shared heap.
  [[nodiscard]] static bool has_descriptor(const Region& region) noexcept;
  /// The region that holds all of [first, last), which are bytes of a message, where the
  /// application has not mapped other memory over it. Noticed is that by the first and the last
  /// bytes, if they differ from those of the region, and logged: such a region is never found
  /// again. < 1 ns where there is none at all, else ~30.
  [[nodiscard]] std::optional<Region> find(const std::byte* first, const std::byte* last) {
    if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
    return search(first, last);
  }

 private:
  /// How a message finds the bytes of a region a second time, and whether they are the same ones.
  struct Seen {
    SharedMemory twin;  ///< the same memory at another address, which the application does not know
    bool covered = false;  ///< by a mapping of the application's
  };
  struct Allocation {
    SharedMemory memory;
    Seen seen;
    std::uint32_t generation = 0;
    pid_t owner = 0;  ///< children of fork() have it, too
  };
  /// \{ The mutex is held by the caller of the first. Null: all are taken.
  [[nodiscard]] Allocation* free_allocation() noexcept;
  [[nodiscard]] bool has_room() noexcept;
  /// \}
  [[nodiscard]] Region region_of(const Allocation& allocation) const noexcept;
  [[nodiscard]] std::optional<Region> search(const std::byte* first, const std::byte* last);
  [[nodiscard]] std::optional<Region> slice_with(const std::byte* first, const std::byte* last);
  [[nodiscard]] static bool is_as_seen(const Region& region, Seen& seen, const std::byte* first,
                                       const std::byte* last) noexcept;
  static void look_for_cover(const Region& region, Seen& seen, const std::byte* first,
                             const std::byte* last) noexcept;

  std::atomic<int> count_{0};  ///< of allocations, and the heap
  std::mutex mutex_;
  std::array<Allocation, kMost> allocations_;
  const HeapView* heap_;  ///< null: there is none
  std::array<Seen, HeapView::kSlices> slices_;
};

/// The words of the process's shared heap; null: none is loaded.
[[nodiscard]] const HeapView* shared_heap() noexcept;

}  // namespace strake::sharing
