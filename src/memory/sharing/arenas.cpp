#include "memory/sharing/arenas.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

constexpr std::int64_t kPage = 4096;

/// vm.overcommit_memory=2: a page of shared memory is charged when it is touched, and a touch that
/// is refused ends the process by SIGBUS.
bool touches_may_fail() {
  static const bool strict = [] {
    int mode = 0;
    std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
    return mode == 2;
  }();
  return strict;
}

/// Whether the kernel grants the process so much private memory, which is what others allocate.
bool is_granted(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* const tried =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return tried != MAP_FAILED && munmap(tried, size) == 0;
}

/// Whether the bytes around a byte of a message are those at `offset` of the allocation.
bool is_same(const std::byte* byte, const std::byte* twin) {
  // No farther than the page of that byte: the application may have unmapped its neighbours.
  const auto left =
      kPage - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(byte) % kPage);
  return std::memcmp(byte, twin, left < 8 ? static_cast<std::size_t>(left) : 8) == 0;
}

/// Whether all of [data, data + bytes) is mapped to the file of `descriptor`, byte i to its byte i.
bool is_mapped(const std::byte* data, std::int64_t bytes, int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t end = begin + static_cast<std::uintptr_t>(bytes);
  std::uintptr_t reached = begin;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; reached < end && std::getline(maps, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    std::uintptr_t offset = 0;
    std::uintmax_t number = 0;
    constexpr int kFields = 4;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNxPTR " %*s %" SCNuMAX, &from,
                    &to, &offset, &number) != kFields ||
        to <= begin)
      continue;
    if (from > reached || number != file.st_ino || offset != from - begin) return false;
    reached = to;
  }
  return reached >= end;
}

}  // namespace

void* Arenas::allocate(std::int64_t bytes) noexcept {
  if (bytes < kShortest || touches_may_fail()) return nullptr;
  if (!is_granted(bytes)) {
    log::info("{} bytes are allocated as others are: there is no memory for them", bytes);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  for (Allocation& allocation : allocations_) {
    if (allocation.memory.data() != nullptr) continue;
    try {
      SharedMemory made = SharedMemory::make(bytes);
      allocation.twin = SharedMemory::map(made.descriptor(), bytes, SharedMemory::Access::Read);
      allocation.memory = std::move(made);
    } catch (const std::exception& error) {
      log::info("{} bytes are allocated as others are: {}", bytes, error.what());
      return nullptr;
    }
    allocation.covered = false;
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
    look_for_cover(allocation);
    // Other ranks may have it mapped for long. A child's is its parent's.
    if (allocation.owner == getpid()) allocation.memory.discard();
    allocation.memory = {};
    allocation.twin = {};
    count_.fetch_sub(1, std::memory_order_release);
    return true;
  }
  return false;
}

std::optional<Arenas::Region> Arenas::search(const std::byte* first, const std::byte* last) {
  constexpr std::less_equal<> kNotAfter;
  const std::lock_guard lock(mutex_);
  for (std::int32_t number = 0; number < kMost; ++number) {
    Allocation& allocation = allocations_[static_cast<std::size_t>(number)];
    std::byte* const data = allocation.memory.data();
    if (data == nullptr || !kNotAfter(data, first) ||
        !kNotAfter(last, data + allocation.memory.bytes()))
      continue;
    const auto twin_of = [&](const std::byte* byte) {
      return allocation.twin.data() + (byte - data);
    };
    if (first < last && !(is_same(first, twin_of(first)) && is_same(last - 1, twin_of(last - 1))))
      look_for_cover(allocation);
    if (allocation.covered) return std::nullopt;
    return Region{number, allocation.generation, allocation.memory.bytes(),
                  allocation.memory.descriptor(), data};
  }
  return std::nullopt;
}

/// The application may have mapped other memory over the allocation (mmap with MAP_FIXED).
void Arenas::look_for_cover(Allocation& allocation) noexcept {
  if (allocation.covered) return;
  try {
    const SharedMemory& memory = allocation.memory;
    if (is_mapped(memory.data(), memory.bytes(), memory.descriptor())) return;
    allocation.covered = true;
    log::warn(
        "the program has mapped other memory over {} bytes that MPI_Alloc_mem gave it: messages "
        "from there are packed from now on; earlier ones may have brought what lay there before",
        memory.bytes());
  } catch (const std::exception& error) {
    log::info("whether an allocation is still mapped is not known: {}", error.what());
  }
}

}  // namespace strake::sharing
