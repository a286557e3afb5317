#include "memory/sharing/arenas.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "memory/sharing/memory_file.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

constexpr std::int64_t kPage = 4096;

/// Whether the bytes around a byte of a message are those at `offset` of the allocation.
bool is_same(const std::byte* byte, const std::byte* twin) {
  // No farther than the page of that byte: the application may have unmapped its neighbours.
  const auto left =
      kPage - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(byte) % kPage);
  return std::memcmp(byte, twin, left < 8 ? static_cast<std::size_t>(left) : 8) == 0;
}

/// Whether all of [first, last) is mapped to the file of `descriptor`, byte i of `data` to its byte
/// i.
bool is_mapped(const std::byte* data, const std::byte* first, const std::byte* last,
               int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto end = reinterpret_cast<std::uintptr_t>(last);
  auto reached = reinterpret_cast<std::uintptr_t>(first);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; reached < end && std::getline(maps, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    std::uintptr_t offset = 0;
    std::uintmax_t number = 0;
    constexpr int kFields = 4;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNxPTR " %*s %" SCNuMAX, &from,
                    &to, &offset, &number) != kFields ||
        to <= reached)
      continue;
    if (from > reached || from < begin || number != file.st_ino || offset != from - begin)
      return false;
    reached = to;
  }
  return reached >= end;
}

}  // namespace

const HeapView* shared_heap() noexcept {
  static const HeapView* const found = [] {
    const auto* const view = static_cast<const HeapView*>(dlsym(RTLD_DEFAULT, HeapView::kSymbol));
    return view != nullptr && view->version == HeapView::kVersion ? view : nullptr;
  }();
  return found;
}

Arenas::Arenas() noexcept : heap_(shared_heap()) {
  if (heap_ != nullptr && heap_->base.load(std::memory_order_acquire) != nullptr) count_ = 1;
}

void* Arenas::allocate(std::int64_t bytes, std::int64_t page) noexcept {
  static const bool may_fail = touches_may_fail();
  if (bytes < kShortest || may_fail) return nullptr;
  if (!is_granted(bytes)) {
    log::info("{} bytes are allocated as others are: there is no memory for them", bytes);
    return nullptr;
  }
  if (!has_room()) return nullptr;
  SharedMemory memory;
  Seen seen;
  try {
    memory = page == 0 ? SharedMemory::make(bytes) : SharedMemory::make_in_pages(bytes, page);
    seen.twin = SharedMemory::map(memory.descriptor(), memory.bytes(), SharedMemory::Access::Read);
  } catch (const std::exception& error) {
    log::info("{} bytes are allocated as others are: {}", bytes, error.what());
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  Allocation* const free = free_allocation();
  if (free == nullptr) return nullptr;
  free->memory = std::move(memory);
  free->seen = std::move(seen);
  ++free->generation;
  free->owner = getpid();
  count_.fetch_add(1, std::memory_order_release);
  return free->memory.data();
}

Arenas::Allocation* Arenas::free_allocation() noexcept {
  const auto found = std::ranges::find_if(
      allocations_, [](const Allocation& one) { return one.memory.data() == nullptr; });
  return found == allocations_.end() ? nullptr : &*found;
}

bool Arenas::has_room() noexcept {
  const std::lock_guard lock(mutex_);
  return free_allocation() != nullptr;
}

bool Arenas::release(const void* address) noexcept {
  if (address == nullptr || count_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  for (Allocation& allocation : allocations_) {
    if (allocation.memory.data() != address) continue;
    const std::byte* const end = allocation.memory.data() + allocation.memory.bytes();
    look_for_cover(region_of(allocation), allocation.seen, allocation.memory.data(), end);
    // Other ranks may have it mapped for long. A child's is its parent's.
    if (allocation.owner == getpid()) allocation.memory.discard();
    allocation.memory = {};
    allocation.seen.twin = {};
    count_.fetch_sub(1, std::memory_order_release);
    return true;
  }
  return false;
}

Arenas::Region Arenas::region_of(const Allocation& allocation) const noexcept {
  const SharedMemory& memory = allocation.memory;
  Region region{static_cast<std::int32_t>(&allocation - allocations_.data()), allocation.generation,
                memory.bytes(), memory.descriptor(), memory.data()};
  region.pool_page = memory.pool_page();
  return region;
}

std::optional<Arenas::Region> Arenas::search(const std::byte* first, const std::byte* last) {
  constexpr std::less_equal<> kNotAfter;
  const std::lock_guard lock(mutex_);
  if (const auto slice = slice_with(first, last)) return slice;
  for (Allocation& allocation : allocations_) {
    std::byte* const data = allocation.memory.data();
    if (data == nullptr || !kNotAfter(data, first) ||
        !kNotAfter(last, data + allocation.memory.bytes()))
      continue;
    const Region region = region_of(allocation);
    if (!is_as_seen(region, allocation.seen, first, last)) return std::nullopt;
    return region;
  }
  return std::nullopt;
}

bool Arenas::has_descriptor(const Region& region) noexcept {
  struct stat found {};
  return region.file == 0 || (fstat(region.descriptor, &found) == 0 && found.st_ino == region.file);
}

/// The slice of the shared heap that holds all of [first, last).
std::optional<Arenas::Region> Arenas::slice_with(const std::byte* first, const std::byte* last) {
  constexpr std::less_equal<> kNotAfter;
  std::byte* const base = heap_ == nullptr ? nullptr : heap_->base.load(std::memory_order_acquire);
  constexpr std::int64_t kBytes = HeapView::kSliceBytes;
  if (base == nullptr || !kNotAfter(base, first) ||
      !kNotAfter(last, base + HeapView::kSlices * kBytes))
    return std::nullopt;
  const auto slice = static_cast<std::size_t>((first - base) / kBytes);
  std::byte* const data = base + static_cast<std::int64_t>(slice) * kBytes;
  const int descriptor = heap_->descriptors[slice].load(std::memory_order_acquire) - 1;
  if (descriptor < 0 || last - data > kBytes) return std::nullopt;
  const Region region{
      static_cast<std::int32_t>(kMost + slice),           1, kBytes, descriptor, data,
      heap_->files[slice].load(std::memory_order_relaxed)};
  Seen& seen = slices_[slice];
  if (seen.covered) return std::nullopt;
  if (seen.twin.data() == nullptr) {
    try {
      if (!has_descriptor(region)) throw Error("the program has closed their descriptor");
      seen.twin = SharedMemory::map(descriptor, kBytes, SharedMemory::Access::Read);
    } catch (const std::exception& error) {
      seen.covered = true;
      log::info("messages of the shared heap are packed: {}", error.what());
      return std::nullopt;
    }
  }
  if (!is_as_seen(region, seen, first, last)) return std::nullopt;
  return region;
}

/// Whether the bytes that a message begins and ends with are those of the region.
bool Arenas::is_as_seen(const Region& region, Seen& seen, const std::byte* first,
                        const std::byte* last) noexcept {
  const auto twin_of = [&](const std::byte* byte) {
    return seen.twin.data() + (byte - region.data);
  };
  if (first < last && !(is_same(first, twin_of(first)) && is_same(last - 1, twin_of(last - 1))))
    look_for_cover(region, seen, first, last);
  return !seen.covered;
}

/// The application may have mapped other memory over [first, last) (mmap with MAP_FIXED).
void Arenas::look_for_cover(const Region& region, Seen& seen, const std::byte* first,
                            const std::byte* last) noexcept {
  if (seen.covered) return;
  try {
    if (is_mapped(region.data, first, last, region.descriptor)) return;
    seen.covered = true;
    log::warn(
        "the program has mapped other memory over {} bytes that {} gave it: messages from there "
        "are packed from now on; earlier ones may have brought what lay there before",
        region.bytes, region.number < kMost ? "MPI_Alloc_mem" : "malloc");
  } catch (const std::exception& error) {
    log::info("whether an allocation is still mapped is not known: {}", error.what());
  }
}

}  // namespace strake::sharing
