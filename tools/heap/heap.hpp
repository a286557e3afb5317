/// \file  The shared heap of this process: large blocks in memory that other processes can map.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/sharing/heap_view.hpp"
#include "owned_lock.hpp"
#include "slice.hpp"

namespace strake::heap {

/// Threads may share it. It is in use from begin() on; before, and without, it has no block.
class Heap {
 public:
  /// Reserves the addresses. False: they can't be had. `core_bytes`: memory that there is for each
  /// core.
  [[nodiscard]] bool begin(bool huge_pages, std::int64_t core_bytes) noexcept;

  /// \{ ~100 ns beside the pages, which come when they are touched. Null: the block is to come from
  /// elsewhere, for a reason that is counted.
  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment) noexcept;
  [[nodiscard]] void* take_zeroes(std::size_t bytes) noexcept;
  /// \}
  /// Whether an address is one of the heap's. ~1 ns.
  [[nodiscard]] bool has(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_) < bytes_;
  }
  /// \{ For a block that take() gave; the process ends if there is none at the address.
  void give_back(void* address) noexcept;
  [[nodiscard]] std::size_t size_of(void* address) noexcept;
  /// Makes a block longer or shorter where it is. False: it has to move.
  [[nodiscard]] bool resize(void* address, std::size_t bytes) noexcept;
  /// \}
  /// \{ Around fork(): nobody takes blocks meanwhile.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }
  /// Whether this thread has the lock: a signal has interrupted it in the heap.
  [[nodiscard]] bool is_locked_here() const noexcept { return lock_.is_mine(); }
  /// Under the lock: whether a child has something to copy.
  [[nodiscard]] bool is_shared() const noexcept { return slices_[0].is_open() && !forked_; }
  /// In the child, under the lock. False: there is no memory.
  [[nodiscard]] bool make_private() noexcept;
  /// \}

 private:
  [[nodiscard]] Slice::Block take_block(std::size_t bytes, std::size_t alignment) noexcept;
  [[nodiscard]] Slice& slice_of(const void* address) noexcept {
    return slices_[static_cast<std::size_t>((static_cast<const std::byte*>(address) - base_) /
                                            Slice::kBytes)];
  }
  [[nodiscard]] Slice::Block block_at(void* address) noexcept;
  void count(std::int64_t bytes) noexcept;
  /// How many bytes that are in no block may keep their pages.
  [[nodiscard]] std::int64_t most_kept() const noexcept;
  /// So many bytes were freed: after enough of them, pages that are kept count as old.
  void age(std::int64_t bytes) noexcept;
  void drop_excess(std::int64_t bytes) noexcept;

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  OwnedLock lock_;
  bool huge_pages_ = false;
  bool forked_ = false;
  std::int64_t used_ = 0;        ///< [bytes] in blocks
  std::int64_t most_used_ = 0;   ///< [bytes] that used_ has been
  std::int64_t least_kept_ = 0;  ///< [bytes] that most_kept() is at least
  std::int64_t freed_ = 0;       ///< [bytes] since pages have aged last
  std::uint32_t colour_ = 0;     ///< of the next block
  std::array<Slice, sharing::HeapView::kSlices> slices_{};
};

/// The heap of the process.
extern Heap g_heap;

}  // namespace strake::heap
