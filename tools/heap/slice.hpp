/// \file  A part of the heap's addresses, with one piece of shared memory under it that other
/// processes can map, and the blocks in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "descriptors.hpp"
#include "memory/sharing/buddies.hpp"
#include "memory/sharing/heap_view.hpp"

namespace strake::heap {

/// The smallest part of a slice that a block takes. [bytes]
inline constexpr std::int64_t kUnit = 64 << 10;

/// Under the heap's lock, except where a function says otherwise.
class Slice {
 public:
  static constexpr std::int64_t kBytes = sharing::HeapView::kSliceBytes;

  [[nodiscard]] bool is_open() const noexcept { return data_ != nullptr; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] FileId file() const noexcept { return file_; }
  /// Makes the memory of the addresses from `data` on, which nobody else uses. False: it can't be
  /// had.
  [[nodiscard]] bool open(std::byte* data, bool huge_pages) noexcept;

  struct Block {
    std::byte* address = nullptr;  ///< null: there is none
    std::int64_t bytes = 0;        ///< as the program asked
    std::int64_t capacity = 0;     ///< so many it may have without moving
    /// \{ Where pages of earlier blocks may be left, in the block. All other bytes are zeroes.
    std::int64_t stale_begin = 0;
    std::int64_t stale_end = 0;
    /// \}
  };
  /// A block of `bytes`, which begins `colour` bytes (< kUnit) after a multiple of `alignment`, a
  /// power of two. Null: there is no room. `refused`: there is, but no memory.
  [[nodiscard]] Block take(std::int64_t bytes, std::int64_t alignment, std::int64_t colour,
                           bool& refused) noexcept;
  /// The block at that address; null: none begins there.
  [[nodiscard]] Block find(const std::byte* address) const noexcept;
  /// Changes how long a block is. The pages of what it loses stay. False: it has not the capacity,
  /// or there is no memory.
  [[nodiscard]] bool resize(const Block& block, std::int64_t bytes) noexcept;
  /// Without the heap's lock: gives a block's pages back to the machine. False: they stay, as they
  /// are locked.
  [[nodiscard]] bool drop_pages(const Block& block) const noexcept;
  /// `keeps`: its pages are still there, until drop_kept().
  void give_back(const Block& block, bool keeps) noexcept;
  /// Bytes that are in no block and keep their pages.
  [[nodiscard]] std::int64_t kept_bytes() const noexcept { return kept_ * kUnit; }
  /// Gives such pages back to the machine, about `bytes` of them, perhaps only of those that were
  /// there when age() was called last.
  enum class Drop : std::uint8_t { Old, Any };
  void drop_kept(Drop which, std::int64_t bytes) noexcept;
  void age() noexcept;

  /// In a child of fork(): puts private memory with the same contents in the place of the memory
  /// that it shares with its parent. False: there is no memory for it.
  [[nodiscard]] bool make_private() noexcept;

 private:
  /// \{ Free blocks that are not joined with their neighbours yet: the next block of that size has
  /// their pages.
  [[nodiscard]] std::optional<std::int64_t> take_held(std::int64_t capacity) noexcept;
  void hold(std::int64_t unit, std::int64_t capacity) noexcept;
  void join_held() noexcept;
  /// \}
  [[nodiscard]] bool drop(std::int64_t begin, std::int64_t end) const noexcept;
  [[nodiscard]] bool map(std::int64_t begin, std::int64_t end) noexcept;
  [[nodiscard]] bool is_own_descriptor() const noexcept;
  [[nodiscard]] bool copy_to(std::byte* copy, std::int64_t begin, std::int64_t end) const noexcept;
  /// Calls f(word, mask) for each word of bits, one a unit, of the units [begin, end).
  template <typename F>
  static void for_words(std::int64_t begin, std::int64_t end, F&& f) noexcept;
  void keep(std::int64_t begin, std::int64_t end) noexcept;
  void forget(std::int64_t begin, std::int64_t end) noexcept;

  std::byte* data_ = nullptr;
  int descriptor_ = -1;
  FileId file_;  ///< of the descriptor
  bool huge_pages_ = false;
  bool private_ = false;
  /// So much of a slice is mapped at a time, where that is enough. What is mapped but not used
  /// would be in a core dump, and in memory that is locked.
  static constexpr std::int64_t kStep = 64 << 20;
  std::array<bool, kBytes / kStep> is_mapped_{};
  std::int64_t mapped_ = 0;  ///< [bytes] from the begin to the end of the last step that is mapped
  sharing::Buddies blocks_;
  /// By unit: how long the block is that begins there, and what colour it has; of a block that is
  /// held, the next one; 0: none begins there.
  std::uint64_t* lengths_ = nullptr;
  /// \{ A bit a unit: whether it is in no block and keeps its pages; and whether it did so at the
  /// last age(), too.
  std::uint64_t* kept_units_ = nullptr;
  std::uint64_t* old_units_ = nullptr;
  /// \}
  std::int64_t kept_ = 0;
  static constexpr int kOrders = 32;
  std::array<std::uint32_t, kOrders> held_{};  ///< first by order, counted from 1; 0: none
};

}  // namespace strake::heap
