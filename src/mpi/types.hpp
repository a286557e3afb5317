/// \file  What Strake knows of the datatypes in use: decoded once when committed, found again in
/// nanoseconds. A handle is known from the call that made it usable (commit, or dup of a known one)
/// until it is freed; a handle that was never seen is left to the system. So a handle freed and
/// used again for another type can't hit an old entry, and where it was freed unseen (through
/// PMPI), commit finds out.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "memory/per_thread.hpp"
#include "mpi/datatype.hpp"
#include "mpi/elements.hpp"

namespace strake::mpi {

class TypeRecord {
 public:
  explicit TypeRecord(TypeInfo info);
  /// A type that could not be decoded: known, but left to the system.
  TypeRecord() = default;

  [[nodiscard]] bool decodable() const noexcept { return decodable_; }
  /// Whether any count of elements at a buffer is that buffer's first bytes, side by side.
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  [[nodiscard]] bool predefined() const noexcept { return info_.predefined; }
  /// Whether the MPI library may refuse a message of it that comes in pieces
  /// (quirks::kPiecesMustEndWithElements). Packed bytes are cut anywhere, but elements of one size,
  /// a power of two up to 16, were never cut (but by tcp, where the last byte lies apart).
  [[nodiscard]] bool uneven() const noexcept { return uneven_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return info_.size; }
  [[nodiscard]] const TypeInfo& info() const noexcept { return info_; }
  /// `count` elements, ~10 ns. `*kept` tells whether it lives as long as the record,
  /// as those of the first 16 counts do. \throws InvalidArgument  past 2^63 bytes.
  [[nodiscard]] ElementsPtr elements(std::int64_t count, bool* kept = nullptr);

 private:
  struct Entry {
    std::int64_t count;
    ElementsPtr elements;
  };

  TypeInfo info_;
  bool decodable_ = false;
  bool contiguous_ = false;
  bool uneven_ = false;
  std::mutex mutex_;
  std::vector<Entry> kept_;
};

/// Raised whenever a handle may have come to mean another type: what was remembered under an older
/// value is void.
inline constinit std::atomic<std::uint64_t> g_type_generation{1};

/// A handle's bits, as a key.
template <typename Handle>
[[nodiscard]] inline std::uint64_t key_of(Handle handle) noexcept {
  std::uint64_t key = 0;
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

inline constexpr int kTypeSlotBits = 8;  // a halo exchange uses 26 to 104 types
/// A direct-mapped table of what is known of so many elements of a type.
template <typename Entry>
using TypeSlots = std::array<Entry, std::size_t{1} << kTypeSlotBits>;
[[nodiscard]] inline std::size_t type_slot(MPI_Datatype type, std::int64_t count) noexcept {
  const auto low = static_cast<std::uint32_t>(key_of(type) + static_cast<std::uint64_t>(count));
  return (low * 0x9E3779B1U) >> (32 - kTypeSlotBits);
}

/// What each thread keeps of a type; entries of an older generation are dead.
struct CachedType {
  std::uint64_t key = 0;
  std::uint64_t generation = 0;
  TypeRecord* record = nullptr;
};
using CachedTypes = TypeSlots<CachedType>;
/// Fills an entry, under the lock of all types.
TypeRecord* fill_cached(CachedType& cached, std::uint64_t key, std::uint64_t generation) noexcept;

/// The record of a handle, or null. The pointer is good until the type is freed. ~3 ns for a handle
/// used lately.
[[nodiscard]] inline TypeRecord* find_type(MPI_Datatype type) noexcept {
  const std::uint64_t key = key_of(type);
  CachedType& cached = PerThread<CachedTypes>::get()[type_slot(type, 1)];
  const std::uint64_t generation = g_type_generation.load(std::memory_order_acquire);
  if (cached.key == key && cached.generation == generation) return cached.record;
  return fill_cached(cached, key, generation);
}
/// Decodes a type that was just committed, a known one too: the handle may have come to mean
/// another. Never fails: what can't be decoded is remembered as such.
void add_type(MPI_Datatype type) noexcept;
/// `made` is a duplicate of `of`: known if `of` is.
void add_duplicate(MPI_Datatype of, MPI_Datatype made) noexcept;
/// The system has handed out a handle once more: if known, it stays so until each is freed.
void add_reference(MPI_Datatype type) noexcept;
/// Forgets a handle, or one reference of several; before the system frees it.
void remove_type(MPI_Datatype type) noexcept;

}  // namespace strake::mpi
