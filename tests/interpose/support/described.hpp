/// \file  MPI datatypes that know their own type map, so that what a message moved can be checked
/// byte by byte without asking any MPI library; and memory images of them with every untouched byte
/// guarded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "check.hpp"

/// Bytes of one element that lie one after another: where they are in packed order, and in memory.
struct Run {
  std::size_t packed = 0;
  std::ptrdiff_t offset = 0;
  std::size_t length = 0;
};

/// A datatype handle with the offset of each of its bytes, in packed order. Frees the handle.
/// A type made from it does not need it any more.
struct Described {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<std::ptrdiff_t> bytes;
  std::ptrdiff_t lb = 0;
  std::ptrdiff_t extent = 0;
  bool owned = false;

  Described() = default;
  Described(Described&& other) noexcept { *this = std::move(other); }
  Described& operator=(Described&& other) noexcept {
    std::swap(type, other.type);
    std::swap(bytes, other.bytes);
    std::swap(lb, other.lb);
    std::swap(extent, other.extent);
    std::swap(owned, other.owned);
    std::swap(made_runs_, other.made_runs_);
    return *this;
  }
  ~Described() { release(); }
  void release() {
    if (owned && type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    owned = false;
  }
  int size() const { return static_cast<int>(bytes.size()); }

  /// The bytes as runs. They must not change after the first call.
  std::shared_ptr<const std::vector<Run>> runs() const {
    if (made_runs_ != nullptr) return made_runs_;
    std::vector<Run> made;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i > 0 && bytes[i] == bytes[i - 1] + 1) {
        ++made.back().length;
      } else {
        made.push_back({i, bytes[i], 1});
      }
    }
    made_runs_ = std::make_shared<const std::vector<Run>>(std::move(made));
    return made_runs_;
  }

 private:
  mutable std::shared_ptr<const std::vector<Run>> made_runs_;
};

namespace describe {

inline Described named(MPI_Datatype type, int size_bytes) {
  Described d;
  d.type = type;
  for (int i = 0; i < size_bytes; ++i) d.bytes.push_back(i);
  d.extent = size_bytes;
  return d;
}
inline Described byte() { return named(MPI_BYTE, 1); }
inline Described integer() { return named(MPI_INT, sizeof(int)); }
inline Described real() { return named(MPI_DOUBLE, sizeof(double)); }

/// The type map of blocks of `old` at byte displacements; lb and ub as the standard defines them.
inline Described blocks_at(const std::vector<int>& lengths,
                           const std::vector<std::ptrdiff_t>& displacements,
                           const std::vector<const Described*>& old) {
  Described d;
  bool any = false;
  std::ptrdiff_t ub = 0;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const Described& child = *old[b];
    if (lengths[b] == 0) continue;
    for (int i = 0; i < lengths[b]; ++i)
      for (const std::ptrdiff_t offset : child.bytes)
        d.bytes.push_back(displacements[b] + i * child.extent + offset);
    const std::ptrdiff_t first = displacements[b] + child.lb;
    const std::ptrdiff_t last = first + (lengths[b] - 1) * child.extent;
    const std::ptrdiff_t low = std::min(first, last);
    const std::ptrdiff_t high = std::max(first, last) + child.extent;
    d.lb = any ? std::min(d.lb, low) : low;
    ub = any ? std::max(ub, high) : high;
    any = true;
  }
  d.extent = ub - d.lb;
  d.owned = true;
  return d;
}

inline Described hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& at,
                          const Described& old) {
  Described d = blocks_at(lengths, {at.begin(), at.end()}, {lengths.size(), &old});
  CHECK_MPI(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), at.data(),
                                     old.type, &d.type));
  return d;
}

inline Described indexed(const std::vector<int>& lengths, const std::vector<int>& at,
                         const Described& old) {
  std::vector<std::ptrdiff_t> displacements;
  for (const int place : at) displacements.push_back(place * old.extent);
  Described d = blocks_at(lengths, displacements, {lengths.size(), &old});
  CHECK_MPI(MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), at.data(), old.type,
                             &d.type));
  return d;
}

inline Described hvector(int count, int length, MPI_Aint stride_bytes, const Described& old) {
  std::vector<std::ptrdiff_t> displacements;
  for (int i = 0; i < count; ++i) displacements.push_back(i * stride_bytes);
  const auto blocks = static_cast<std::size_t>(count);
  Described d = blocks_at(std::vector<int>(blocks, length), displacements, {blocks, &old});
  CHECK_MPI(MPI_Type_create_hvector(count, length, stride_bytes, old.type, &d.type));
  return d;
}

inline Described vector(int count, int length, int stride, const Described& old) {
  std::vector<std::ptrdiff_t> displacements;
  for (int i = 0; i < count; ++i) displacements.push_back(i * stride * old.extent);
  const auto blocks = static_cast<std::size_t>(count);
  Described d = blocks_at(std::vector<int>(blocks, length), displacements, {blocks, &old});
  CHECK_MPI(MPI_Type_vector(count, length, stride, old.type, &d.type));
  return d;
}

inline Described contiguous(int count, const Described& old) {
  Described d = blocks_at({count}, {0}, {&old});
  CHECK_MPI(MPI_Type_contiguous(count, old.type, &d.type));
  return d;
}

inline Described structure(const std::vector<int>& lengths, const std::vector<MPI_Aint>& at,
                           const std::vector<const Described*>& old) {
  Described d = blocks_at(lengths, {at.begin(), at.end()}, old);
  std::vector<MPI_Datatype> types;
  for (const Described* child : old) types.push_back(child->type);
  CHECK_MPI(MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), at.data(),
                                   types.data(), &d.type));
  // A struct's extent is padded to the alignment of its widest member: pin it to the type map's.
  MPI_Datatype padded = d.type;
  CHECK_MPI(MPI_Type_create_resized(padded, d.lb, d.extent, &d.type));
  MPI_Type_free(&padded);
  return d;
}

/// Row-major subarray of two dimensions.
inline Described subarray(int rows, int columns, int sub_rows, int sub_columns, int row, int column,
                          const Described& old) {
  std::vector<std::ptrdiff_t> displacements;
  for (int r = 0; r < sub_rows; ++r)
    displacements.push_back(((row + r) * static_cast<std::ptrdiff_t>(columns) + column) *
                            old.extent);
  const auto blocks = static_cast<std::size_t>(sub_rows);
  Described d = blocks_at(std::vector<int>(blocks, sub_columns), displacements, {blocks, &old});
  d.lb = 0;
  d.extent = static_cast<std::ptrdiff_t>(rows) * columns * old.extent;
  const int sizes[] = {rows, columns}, sub[] = {sub_rows, sub_columns}, start[] = {row, column};
  CHECK_MPI(MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, old.type, &d.type));
  return d;
}

inline Described resized(MPI_Aint lb, MPI_Aint extent, const Described& old) {
  Described d;
  d.bytes = old.bytes;
  d.lb = lb;
  d.extent = extent;
  d.owned = true;
  CHECK_MPI(MPI_Type_create_resized(old.type, lb, extent, &d.type));
  return d;
}

inline Described commit(Described d) {
  CHECK_MPI(MPI_Type_commit(&d.type));
  return d;
}

/// 64 bytes in 8 blocks; 6 KiB in 512 blocks; 384 KiB in 16,384 blocks. Both libraries send the
/// first in one piece and the last by rendezvous.
inline Described small() { return commit(vector(8, 2, 5, integer())); }
inline Described medium() { return commit(vector(512, 3, 7, integer())); }
inline Described large() { return commit(hvector(16384, 6, 64, integer())); }

}  // namespace describe

/// Bytes 8 * `index` to 8 * `index` + 7 of message `seed`.
inline std::uint64_t pattern_word(std::uint64_t seed, std::size_t index) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15u + index * 0xD1B54A32D192ED03u;
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
  return x ^ x >> 32;
}
/// Byte `index` of message `seed`.
inline std::byte pattern(std::uint64_t seed, std::size_t index) {
  return static_cast<std::byte>(pattern_word(seed, index / 8) >> 8 * (index % 8));
}
/// So many bytes of message `seed` from byte `first` on.
inline void write_pattern(std::byte* to, std::uint64_t seed, std::size_t first,
                          std::size_t length) {
  while (length > 0) {
    const std::size_t skipped = first % 8, part = std::min(8 - skipped, length);
    const std::uint64_t word = pattern_word(seed, first / 8) >> 8 * skipped;
    if (part == 8) {
      std::memcpy(to, &word, 8);  // the lowest byte first, as x86 and Arm have it
    } else {
      std::memcpy(to, &word, part);
    }
    to += part;
    first += part;
    length -= part;
  }
}

/// Memory that `count` elements of a type cover, with guard bytes on both sides; everything is
/// poison at first. The bytes of the type hold message `seed` after fill(seed).
class Image {
 public:
  static constexpr std::byte kPoison{0xEE};
  static constexpr std::ptrdiff_t kGuardBytes = 64;

  Image(const Described& type, int count)
      : runs_(type.runs()), element_(type.bytes.size()), extent_(type.extent), count_(count) {
    std::ptrdiff_t low = 0, high = 0;
    for (int i : {0, std::max(count - 1, 0)})
      for (const Run& run : *runs_) {
        const std::ptrdiff_t begin = i * extent_ + run.offset;
        low = std::min(low, begin);
        high = std::max(high, begin + static_cast<std::ptrdiff_t>(run.length));
      }
    // The base address stays aligned for any basic type.
    origin_ = (-low + kGuardBytes + 15) / 16 * 16;
    memory_ = std::make_unique<test_memory::Buffer<std::byte>>(
        static_cast<std::size_t>(origin_ + high + kGuardBytes), kPoison);
  }

  void* data() { return memory_->data() + origin_; }
  std::size_t size_bytes() const { return element_ * static_cast<std::size_t>(count_); }

  void poison() { memory_->fill(kPoison); }
  /// Other memory at the same address (test_memory::Buffer).
  void renew() { memory_->renew(); }

  void fill(std::uint64_t seed) {
    memory_->change([&](std::vector<std::byte>& bytes) { write(bytes, seed, size_bytes(), 0); });
  }

  /// Whether the first `received` packed bytes are those of message `seed`, from its byte `from`
  /// on, and everything else is poison. Says what was found where, otherwise.
  bool holds(std::uint64_t seed, std::size_t received, std::size_t from = 0) {
    static thread_local std::vector<std::byte> expected;
    expected.assign(memory_->count(), kPoison);
    write(expected, seed, std::min(received, size_bytes()), from);
    const std::vector<std::byte>& found = memory_->get();
    if (std::memcmp(found.data(), expected.data(), found.size()) == 0) return true;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] != expected[i]) {
        std::fprintf(stderr,
                     "rank %d: byte %td of the buffer is %02x, expected %02x (message %lu)\n",
                     check::rank(), static_cast<std::ptrdiff_t>(i) - origin_,
                     static_cast<unsigned>(found[i]), static_cast<unsigned>(expected[i]), seed);
        return false;
      }
    return true;
  }
  bool holds(std::uint64_t seed) { return holds(seed, size_bytes()); }
  bool untouched() { return holds(0, 0); }

  /// All bytes, guards included, and where the base address is among them.
  const std::vector<std::byte>& memory() { return memory_->get(); }
  std::ptrdiff_t origin() const { return origin_; }

 private:
  /// The first `length` packed bytes become those of message `seed` from its byte `from` on.
  void write(std::vector<std::byte>& bytes, std::uint64_t seed, std::size_t length,
             std::size_t from) const {
    std::byte* const base = bytes.data() + origin_;
    for (std::size_t begin = 0; begin < length; begin += element_) {
      std::byte* const element = base + static_cast<std::ptrdiff_t>(begin / element_) * extent_;
      for (const Run& run : *runs_) {
        const std::size_t packed = begin + run.packed;
        if (packed >= length) break;
        write_pattern(element + run.offset, seed, from + packed,
                      std::min(run.length, length - packed));
      }
    }
  }

  std::shared_ptr<const std::vector<Run>> runs_;
  std::size_t element_;  ///< [bytes]
  std::ptrdiff_t extent_;
  int count_;
  std::ptrdiff_t origin_ = 0;
  std::unique_ptr<test_memory::Buffer<std::byte>> memory_;
};

/// After truncation the bytes of the type may hold anything; gaps and surroundings may not.
inline void check_gaps(Image& in, const Described& type, int count) {
  std::vector<std::byte> found = in.memory();
  for (int e = 0; e < count; ++e)
    for (const std::ptrdiff_t offset : type.bytes)
      found[static_cast<std::size_t>(in.origin() + e * type.extent + offset)] = Image::kPoison;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != Image::kPoison)
      return check::fail(__FILE__, __LINE__,
                         "byte " + std::to_string(static_cast<std::ptrdiff_t>(i) - in.origin()) +
                             ", which is not of the type, was written");
}
