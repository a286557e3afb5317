/// \file  The words of the process's shared heap (libstrake-heap.so, tools/heap) to all that is
/// loaded there: where it is, the descriptors of its memory, and its counts. Uses only
/// the C library.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace strake::sharing {

/// Whether large blocks of malloc come from the shared heap, or why not.
enum class HeapUse : std::uint32_t {
  Off,  ///< it was not asked for, or the process is no rank
  On,
  Sanitizer,     ///< a sanitizer has an allocator of its own
  Replaced,      ///< the program's malloc does not lead here
  AddressLimit,  ///< ulimit -v: the heap's addresses would leave the program too few
  FileLimit,     ///< ulimit -f: a slice would be a file that is too long
  DataLimit,     ///< ulimit -d: it counts private memory alone, and a child of fork() has a private
                 ///< copy
  Overcommit,    ///< vm.overcommit_memory=2: a touch of shared memory may end the process
  Resources,     ///< no addresses, or no handlers of fork
  Forked,        ///< a child of fork(), whose memory is its own
};
inline constexpr int kHeapUses = 10;

/// Why a large block is not in the heap.
enum class HeapDeclined : std::uint32_t {
  Full,    ///< longer than a slice, or all slices are in use
  Memory,  ///< the kernel gave no descriptor, no pages or no mapping
};
inline constexpr int kHeapDeclined = 2;

/// Only the heap writes it.
struct HeapView {
  static constexpr std::uint32_t kVersion = 1;
  /// The name of the symbol.
  static constexpr const char* kSymbol = "strake_heap_view";
  /// \{ The heap is kSlices slices of kSliceBytes, one after the other from `base` on. A slice is
  /// one piece of shared memory, from which a peer maps all blocks at once.
  static constexpr std::int32_t kSlices = 32;
  static constexpr std::int64_t kSliceBytes = std::int64_t{32} << 30;
  /// \}

  std::uint32_t version = kVersion;
  std::atomic<HeapUse> use{HeapUse::Off};
  std::atomic<std::byte*> base{nullptr};  ///< null: there is none
  /// \{ By slice: the descriptor of its memory, counted from 1 (0: there is no such slice yet), and
  /// the number of that file, since a program may close descriptors that it did not open.
  std::array<std::atomic<int>, kSlices> descriptors{};
  std::array<std::atomic<std::uint64_t>, kSlices> files{};
  /// \}
  /// \{ Since the process's begin.
  std::atomic<std::uint64_t> blocks{0};
  std::atomic<std::uint64_t> bytes{0};
  std::array<std::atomic<std::uint64_t>, kHeapDeclined> declined{};
  /// \}
  /// Whether the kernel would give private memory huge pages, and gives shared memory none.
  bool loses_huge_pages = false;
};

}  // namespace strake::sharing
