#include "heap.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "memory/sharing/memory_file.hpp"

using strake::sharing::HeapDeclined;
using strake::sharing::HeapUse;
using strake::sharing::HeapView;

/// The heap's words to others.
extern "C" __attribute__((visibility("default"))) HeapView strake_heap_view;
constinit HeapView strake_heap_view;

namespace strake::heap {
namespace {

/// The first slice begins at a multiple of this many bytes. No block has a greater alignment.
/// [bytes]
constexpr std::int64_t kAlignment = std::int64_t{1} << 30;
/// \{ Pages of freed blocks are kept for the next blocks, since a new page takes longer than its
/// bytes do: a part of the memory that there is for each core, but not more than so many bytes; or
/// more, a part of what is in use, as long as both are no more than was in use before. [bytes]
constexpr std::int64_t kPartOfCore = 16;
constexpr std::int64_t kMost = 256 << 20;
constexpr std::int64_t kPartOfUsed = 2;
/// \}
/// From here on the kernel is asked whether it would grant private memory of that size.
/// [bytes]
constexpr std::int64_t kAsked = 64 << 20;

HeapView& view() noexcept { return strake_heap_view; }

void decline(HeapDeclined why) noexcept {
  view().declined[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

[[noreturn]] void abort_with(std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  abort();
}

/// Blocks of powers of two would all begin at the same place in a cache: each gets a place of its
/// own.
std::int64_t next_colour(std::uint32_t& last) noexcept {
  constexpr std::uint32_t kColours = 15;
  constexpr std::int64_t kPageAndLine = 4096 + 64;
  last = (last + 1) % kColours;
  return last * kPageAndLine;
}

}  // namespace

// Constant initialisation: blocks may be asked for before any constructor has run.
constinit Heap g_heap;

bool Heap::begin(bool huge_pages, std::int64_t core_bytes) noexcept {
  constexpr std::int64_t kAll = HeapView::kSlices * Slice::kBytes;
  void* const reserved = mmap(nullptr, static_cast<std::size_t>(kAll + kAlignment), PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return false;
  auto* const first = static_cast<std::byte*>(reserved);
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) % kAlignment);
  base_ = first + (over == 0 ? 0 : kAlignment - over);
  huge_pages_ = huge_pages;
  least_kept_ = std::min(core_bytes / kPartOfCore, kMost);
  bytes_ = static_cast<std::size_t>(kAll);
  view().base.store(base_, std::memory_order_release);
  return true;
}

Slice::Block Heap::take_block(std::size_t bytes, std::size_t alignment) noexcept {
  constexpr std::size_t kColoured = 64;
  if (base_ == nullptr || forked_) return {};
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (bytes > static_cast<std::size_t>(Slice::kBytes) - kUnit ||
      alignment > static_cast<std::size_t>(kAlignment)) {
    decline(HeapDeclined::Full);
    return {};
  }
  if (wanted >= kAsked && !sharing::is_granted(wanted)) {
    decline(HeapDeclined::Memory);
    return {};
  }
  lock();
  const std::int64_t colour = alignment <= kColoured ? next_colour(colour_) : 0;
  Slice::Block block;
  bool refused = false;
  for (std::size_t i = 0; i < slices_.size() && block.address == nullptr && !refused; ++i) {
    Slice& slice = slices_[i];
    if (!slice.is_open()) {
      refused = !slice.open(base_ + static_cast<std::int64_t>(i) * Slice::kBytes, huge_pages_);
      if (refused) break;
      view().files[i].store(slice.file().number, std::memory_order_relaxed);
      view().descriptors[i].store(slice.descriptor() + 1, std::memory_order_release);
    }
    block = slice.take(wanted, static_cast<std::int64_t>(alignment), colour, refused);
  }
  if (block.address != nullptr) {
    count(wanted);
    drop_excess(0);
  }
  unlock();
  if (block.address == nullptr) decline(refused ? HeapDeclined::Memory : HeapDeclined::Full);
  return block;
}

void Heap::count(std::int64_t bytes) noexcept {
  used_ += bytes;
  most_used_ = std::max(most_used_, used_);
  view().blocks.fetch_add(1, std::memory_order_relaxed);
  view().bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

void* Heap::take(std::size_t bytes, std::size_t alignment) noexcept {
  return take_block(bytes, alignment).address;
}

void* Heap::take_zeroes(std::size_t bytes) noexcept {
  const Slice::Block block = take_block(bytes, alignof(std::max_align_t));
  if (block.address != nullptr && block.stale_end > block.stale_begin) {
    std::memset(block.address + block.stale_begin, 0,
                static_cast<std::size_t>(block.stale_end - block.stale_begin));
  }
  return block.address;
}

Slice::Block Heap::block_at(void* address) noexcept {
  const Slice& slice = slice_of(address);
  const Slice::Block block =
      slice.is_open() ? slice.find(static_cast<std::byte*>(address)) : Slice::Block{};
  if (block.address == nullptr) {
    unlock();  // a handler of SIGABRT may allocate
    abort_with("strake: a block of memory is freed or resized that was not allocated, or twice\n");
  }
  return block;
}

std::int64_t Heap::most_kept() const noexcept {
  if (forked_) return 0;
  return std::max(least_kept_, std::min(used_ / kPartOfUsed, most_used_ - used_));
}

void Heap::age(std::int64_t bytes) noexcept {
  freed_ += bytes;
  if (freed_ >= most_kept() / 2) {
    freed_ = 0;
    for (Slice& slice : slices_) {
      if (slice.is_open()) slice.age();
    }
  }
}

/// Gives pages back until so many bytes more may keep theirs: those first that were kept for
/// longest.
void Heap::drop_excess(std::int64_t bytes) noexcept {
  for (const Slice::Drop which : {Slice::Drop::Old, Slice::Drop::Any}) {
    for (Slice& slice : slices_) {
      std::int64_t kept = 0;
      for (const Slice& each : slices_) kept += each.kept_bytes();
      const std::int64_t excess = kept + bytes - most_kept();
      if (excess <= 0) return;
      if (slice.is_open()) slice.drop_kept(which, excess);
    }
  }
}

void Heap::give_back(void* address) noexcept {
  lock();
  Slice& slice = slice_of(address);
  const Slice::Block block = block_at(address);
  used_ -= block.bytes;
  bool keeps = block.bytes <= most_kept();
  if (!keeps) {
    unlock();  // nobody else takes the block meanwhile
    keeps = !slice.drop_pages(block);
    lock();
  }
  age(block.bytes);
  drop_excess(keeps ? block.bytes : 0);
  slice.give_back(block, keeps);
  unlock();
}

std::size_t Heap::size_of(void* address) noexcept {
  lock();
  const Slice::Block block = block_at(address);
  unlock();
  return static_cast<std::size_t>(block.bytes);
}

bool Heap::resize(void* address, std::size_t bytes) noexcept {
  constexpr std::int64_t kLeastPart = 4;  // what is much shorter than its block moves
  lock();
  const Slice::Block block = block_at(address);
  const auto wanted =
      static_cast<std::int64_t>(std::min(bytes, static_cast<std::size_t>(Slice::kBytes) + 1));
  const bool fits =
      wanted >= block.capacity / kLeastPart && slice_of(address).resize(block, wanted);
  if (fits) {
    used_ += wanted - block.bytes;
    most_used_ = std::max(most_used_, used_);
    drop_excess(0);
  }
  unlock();
  return fits;
}

bool Heap::make_private() noexcept {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    view().descriptors[i].store(0, std::memory_order_release);
    if (slices_[i].is_open() && !slices_[i].make_private()) return false;
  }
  forked_ = true;
  view().use.store(HeapUse::Forked, std::memory_order_release);
  return true;
}

}  // namespace strake::heap
