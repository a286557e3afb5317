#include "slice.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "descriptors.hpp"
#include "memory/sharing/memory_file.hpp"

namespace strake::heap {
namespace {

constexpr std::int64_t kUnits = Slice::kBytes / kUnit;

int order_of(std::int64_t capacity) noexcept {
  return std::countr_zero(static_cast<std::uint64_t>(capacity / kUnit));
}

/// A block's record, as a word that is no smaller than 1 << (kColourBits + kOrderBits). The word of
/// a block that is held is smaller.
struct Length {
  std::int64_t bytes;
  std::int64_t capacity;  ///< kUnit times a power of two, colour included
  std::int64_t colour;

  static constexpr int kColourBits = 16;
  static constexpr int kOrderBits = 6;
  static_assert(kUnit <= std::int64_t{1} << kColourBits);
  static_assert(kUnits < std::int64_t{1} << (kColourBits + kOrderBits));

  [[nodiscard]] std::uint64_t packed() const noexcept {
    const int order = order_of(capacity);
    return (static_cast<std::uint64_t>(bytes) << kOrderBits | static_cast<unsigned>(order))
               << kColourBits |
           static_cast<std::uint64_t>(colour);
  }
  static Length of(std::uint64_t packed) noexcept {
    const auto bits = [packed](int from, int count) {
      return static_cast<std::int64_t>(packed >> from & ((std::uint64_t{1} << count) - 1));
    };
    return {bits(kColourBits + kOrderBits, 64 - kColourBits - kOrderBits),
            kUnit << bits(kColourBits, kOrderBits), bits(0, kColourBits)};
  }
};

std::int64_t units_of(std::int64_t bytes) noexcept { return (bytes + kUnit - 1) / kUnit; }

/// Zeroes, of which only what is touched takes memory. Null: they can't be had.
void* zeroes(std::int64_t bytes) noexcept {
  void* const made = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : made;
}

}  // namespace

bool Slice::open(std::byte* data, bool huge_pages) noexcept {
  using Unit = sharing::Buddies::Unit;
  constexpr std::int64_t kUnitBytes = kUnits * static_cast<std::int64_t>(sizeof(Unit));
  constexpr std::int64_t kLengthBytes = kUnits * static_cast<std::int64_t>(sizeof(std::uint64_t));
  constexpr std::int64_t kBitBytes = kUnits / 8;
  auto* const known = static_cast<std::byte*>(zeroes(kUnitBytes + kLengthBytes + 2 * kBitBytes));
  if (known == nullptr) return false;
  const int cancellation = stop_cancellation();
  descriptor_ = moved_high(sharing::make_memory_file("strake-heap", kBytes));
  restore_cancellation(cancellation);
  if (descriptor_ < 0) {
    munmap(known, static_cast<std::size_t>(kUnitBytes + kLengthBytes + 2 * kBitBytes));
    return false;
  }
  file_ = file_of(descriptor_);
  lengths_ = reinterpret_cast<std::uint64_t*>(known);
  kept_units_ = reinterpret_cast<std::uint64_t*>(known + kLengthBytes);
  old_units_ = reinterpret_cast<std::uint64_t*>(known + kLengthBytes + kBitBytes);
  auto* const units = reinterpret_cast<Unit*>(known + kLengthBytes + 2 * kBitBytes);
  blocks_ = sharing::Buddies({units, static_cast<std::size_t>(kUnits)}, kUnit);
  huge_pages_ = huge_pages;
  data_ = data;
  return true;
}

/// Whether the descriptor is still that of the slice: the program may have closed it, and opened
/// something else.
bool Slice::is_own_descriptor() const noexcept {
  return descriptor_ >= 0 && file_of(descriptor_) == file_;
}

/// Maps the steps of [begin, end) that are not mapped yet.
bool Slice::map(std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t last = (end + kStep - 1) / kStep;
  for (std::int64_t step = begin / kStep; step < last; ++step) {
    if (is_mapped_[static_cast<std::size_t>(step)]) continue;
    std::int64_t stop = step + 1;
    while (stop < last && !is_mapped_[static_cast<std::size_t>(stop)]) ++stop;
    if (private_ || !is_own_descriptor()) return false;
    const auto bytes = static_cast<std::size_t>((stop - step) * kStep);
    void* const mapped = mmap(data_ + step * kStep, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor_, step * kStep);
    if (mapped == MAP_FAILED) return false;
    if (huge_pages_) (void)madvise(mapped, bytes, MADV_HUGEPAGE);
    for (; step < stop; ++step) is_mapped_[static_cast<std::size_t>(step)] = true;
    --step;
  }
  mapped_ = std::max(mapped_, last * kStep);
  return true;
}

Slice::Block Slice::take(std::int64_t bytes, std::int64_t alignment, std::int64_t colour,
                         bool& refused) noexcept {
  // A block begins at a multiple of its size.
  const std::int64_t wanted = std::max(bytes + colour, alignment);
  auto at = take_held(blocks_.rounded(wanted));
  if (!at) at = blocks_.take(wanted);
  if (!at) {
    join_held();
    at = blocks_.take(wanted);
  }
  if (!at) return {};
  if (!map(*at, *at + bytes + colour)) {
    blocks_.give_back(*at, wanted);
    refused = true;
    return {};
  }
  const std::int64_t begin = *at / kUnit;
  const std::int64_t end = begin + units_of(bytes + colour);
  const Length length{bytes, blocks_.rounded(wanted), colour};
  Block block{data_ + *at + colour, bytes, length.capacity - colour, 0, 0};
  std::int64_t first = -1;  // of the units that keep pages
  std::int64_t last = -1;
  for_words(begin, end, [&](std::int64_t word, std::uint64_t mask) {
    const std::uint64_t kept = kept_units_[word] & mask;
    if (kept == 0) return;
    if (first < 0) first = word * 64 + std::countr_zero(kept) - begin;
    last = word * 64 + 63 - std::countl_zero(kept) - begin;
  });
  if (first >= 0) {
    block.stale_begin = std::max<std::int64_t>(first * kUnit - colour, 0);
    block.stale_end = std::min((last + 1) * kUnit - colour, bytes);
  }
  forget(begin, end);
  lengths_[begin] = length.packed();
  return block;
}

Slice::Block Slice::find(const std::byte* address) const noexcept {
  const std::int64_t at = address - data_;
  const std::uint64_t packed = lengths_[at / kUnit];
  const Length length = Length::of(packed);
  if (length.bytes == 0 || at % kUnit != length.colour) return {};
  return {data_ + at, length.bytes, length.capacity - length.colour, 0, 0};
}

bool Slice::resize(const Block& block, std::int64_t bytes) noexcept {
  const std::int64_t at = block.address - data_;
  if (bytes > block.capacity || !map(at, at + bytes)) return false;
  const std::int64_t first = at / kUnit;
  const std::int64_t colour = at % kUnit;
  const std::int64_t before = first + units_of(block.bytes + colour);
  const std::int64_t after = first + units_of(bytes + colour);
  forget(before, after);
  keep(after, before);
  lengths_[first] = Length{bytes, block.capacity + colour, colour}.packed();
  return true;
}

void Slice::give_back(const Block& block, bool keeps) noexcept {
  const std::int64_t at = block.address - data_;
  const std::int64_t first = at / kUnit;
  const std::int64_t colour = at % kUnit;
  if (keeps) keep(first, first + units_of(block.bytes + colour));
  hold(first, block.capacity + colour);
}

std::optional<std::int64_t> Slice::take_held(std::int64_t capacity) noexcept {
  std::uint32_t& first = held_[static_cast<std::size_t>(order_of(capacity))];
  if (first == 0) return std::nullopt;
  const std::int64_t unit = first - 1;
  first = static_cast<std::uint32_t>(lengths_[unit]);
  return unit * kUnit;
}

void Slice::hold(std::int64_t unit, std::int64_t capacity) noexcept {
  std::uint32_t& first = held_[static_cast<std::size_t>(order_of(capacity))];
  lengths_[unit] = first;
  first = static_cast<std::uint32_t>(unit + 1);
}

void Slice::join_held() noexcept {
  for (std::size_t order = 0; order < held_.size(); ++order) {
    const std::int64_t capacity = kUnit << order;
    for (auto at = take_held(capacity); at; at = take_held(capacity)) {
      lengths_[*at / kUnit] = 0;
      blocks_.give_back(*at, capacity);
    }
  }
}

/// Gives the pages of [begin, end) of the slice back, so that they read as zeroes.
bool Slice::drop(std::int64_t begin, std::int64_t end) const noexcept {
  // Shared memory takes this advice, rather than a hole in the file: MPI libraries and UCX watch
  // the call, and forget what they have registered there.
  const int advice = private_ ? MADV_DONTNEED : MADV_REMOVE;
  return madvise(data_ + begin, static_cast<std::size_t>(end - begin), advice) == 0;
}

bool Slice::drop_pages(const Block& block) const noexcept {
  const std::int64_t at = block.address - data_;
  const std::int64_t begin = at / kUnit;
  // Whole units: a longer block may have left pages behind the last byte.
  return drop(begin * kUnit, (begin + units_of(at % kUnit + block.bytes)) * kUnit);
}

template <typename F>
void Slice::for_words(std::int64_t begin, std::int64_t end, F&& f) noexcept {
  while (begin < end) {
    const std::int64_t word = begin / 64;
    const std::int64_t stop = std::min(end, (word + 1) * 64);
    const std::int64_t bits = stop - begin;
    f(word, (~std::uint64_t{0} >> (64 - bits)) << (begin % 64));
    begin = stop;
  }
}

void Slice::keep(std::int64_t begin, std::int64_t end) noexcept {
  for_words(begin, end, [&](std::int64_t word, std::uint64_t mask) {
    kept_ += std::popcount(mask & ~kept_units_[word]);
    kept_units_[word] |= mask;
    old_units_[word] &= ~mask;
  });
}

void Slice::forget(std::int64_t begin, std::int64_t end) noexcept {
  if (kept_ == 0) return;
  for_words(begin, end, [&](std::int64_t word, std::uint64_t mask) {
    kept_ -= std::popcount(mask & kept_units_[word]);
    kept_units_[word] &= ~mask;
    old_units_[word] &= ~mask;
  });
}

void Slice::drop_kept(Drop which, std::int64_t bytes) noexcept {
  const std::int64_t enough = kept_ - units_of(bytes);
  const std::int64_t most = mapped_ / kUnit;
  const std::uint64_t* const bits = which == Drop::Old ? old_units_ : kept_units_;
  const auto is_set = [&](std::int64_t unit) { return (bits[unit / 64] >> (unit % 64) & 1) != 0; };
  for (std::int64_t begin = 0; begin < most && kept_ > std::max<std::int64_t>(enough, 0);) {
    if (!is_set(begin)) {
      begin += bits[begin / 64] == 0 ? 64 - begin % 64 : 1;
      continue;
    }
    std::int64_t end = begin + 1;
    while (end < most && is_set(end)) ++end;
    if (drop(begin * kUnit, end * kUnit)) forget(begin, end);
    begin = end;
  }
}

void Slice::age() noexcept {
  std::memcpy(old_units_, kept_units_, static_cast<std::size_t>(mapped_ / kUnit / 8));
}

/// Copies what has pages of [begin, end).
bool Slice::copy_to(std::byte* copy, std::int64_t begin, std::int64_t end) const noexcept {
  if (!is_own_descriptor()) {
    std::memcpy(copy + begin, data_ + begin, static_cast<std::size_t>(end - begin));
    return true;
  }
  while (begin < end) {
    const off_t data = lseek(descriptor_, begin, SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // there are no more
    if (data >= end) return true;
    const off_t hole = lseek(descriptor_, data, SEEK_HOLE);
    const std::int64_t stop = std::min<std::int64_t>(hole < 0 ? end : hole, end);
    for (begin = data; begin < stop;) {
      const ssize_t got =
          pread(descriptor_, copy + begin, static_cast<std::size_t>(stop - begin), begin);
      if (got <= 0 && errno != EINTR) return false;
      if (got > 0) begin += got;
    }
  }
  return true;
}

bool Slice::make_private() noexcept {
  if (private_ || mapped_ == 0) return true;
  auto* const copy = static_cast<std::byte*>(zeroes(mapped_));
  if (copy == nullptr) return false;
  (void)madvise(copy, static_cast<std::size_t>(mapped_), MADV_HUGEPAGE);  // 4 times as fast
  for (std::int64_t unit = 0; unit < mapped_ / kUnit;) {
    const Length length = Length::of(lengths_[unit]);
    if (length.bytes == 0) {
      ++unit;
      continue;
    }
    const std::int64_t end = length.colour + length.bytes;
    if (!copy_to(copy, unit * kUnit, unit * kUnit + end)) return false;
    unit += units_of(end);
  }
  const auto size = static_cast<std::size_t>(mapped_);
  // Not by the C library's function: UCX puts its own in its place, which forgets the new address.
  if (syscall(SYS_mremap, copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, data_) < 0) return false;
  if (is_own_descriptor()) close(descriptor_);
  descriptor_ = -1;
  private_ = true;
  std::fill_n(is_mapped_.begin(), mapped_ / kStep, true);
  forget(0, kUnits);  // only what is in blocks was copied
  return true;
}

}  // namespace strake::heap
