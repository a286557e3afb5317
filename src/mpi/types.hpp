/// \file  What Strake knows of the datatypes in use: decoded once, found again in nanoseconds. A
/// type of few blocks is decoded when committed; one of many waits until its uses have paid for
/// that, and is left to the MPI library until then. A handle is known from the call that made it
/// usable (commit, or dup of a known one) until it is freed; a handle that was never seen is left
/// to the system. So a handle freed and used again for another type can't hit an old entry, and
/// where it was freed unseen (through PMPI), commit finds out.
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

#include "mpi/datatype.hpp"
#include "mpi/elements.hpp"

namespace strake::mpi {

/// What a datatype is used for.
enum class Use : std::uint8_t {
  Other,
  Receive,  ///< of a message
  Often,    ///< a persistent request, which is used more often than it is made
};

class TypeRecord {
 public:
  /// Of a type that waits.
  explicit TypeRecord(std::int64_t size_bytes) : size_bytes_(size_bytes) {}

  /// Whether it is not decoded yet: then nothing is known but the size.
  [[nodiscard]] bool waits() const noexcept { return waits_.load(std::memory_order_acquire); }
  /// Decodes `type` if that takes no more than `most_work` (decode_within). False: it waits.
  /// Not to be called once others know the record.
  bool decode(MPI_Datatype type, std::int64_t most_work);
  /// Before a use of `count` elements. False: left to the MPI library, as the type waits. `type` is
  /// any handle that has this record.
  [[nodiscard]] bool ready(MPI_Datatype type, std::int64_t count, Use use) {
    return !waits() || decode_if_it_pays(type, count, use);
  }
  /// The handle of a record that waits may have come to mean another type of the same size.
  void doubt();

  /// False: a type that could not be decoded, and is left to the MPI library.
  [[nodiscard]] bool decodable() const noexcept { return decodable_; }
  /// Whether any count of elements at a buffer is that buffer's first bytes, side by side.
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  [[nodiscard]] bool predefined() const noexcept { return !waits() && info_.predefined; }
  /// Whether the MPI library may refuse a message of it that comes in pieces
  /// (quirks::kPiecesMustEndWithElements). Packed bytes are cut anywhere, but elements of one size,
  /// a power of two up to 16, were never cut (but by tcp, where the last byte lies apart).
  [[nodiscard]] bool uneven() const noexcept { return uneven_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] const TypeInfo& info() const noexcept { return info_; }
  /// `count` elements, ~10 ns. `*kept` tells whether it lives as long as the record,
  /// as those of the first 16 counts do. \throws InvalidArgument  past 2^63 bytes.
  [[nodiscard]] ElementsPtr elements(std::int64_t count, bool* kept = nullptr);

 private:
  struct Entry {
    std::int64_t count;
    ElementsPtr elements;
  };

  bool decode_if_it_pays(MPI_Datatype type, std::int64_t count, Use use);
  bool can_wait(MPI_Datatype type, Use use);
  void set(TypeInfo info);

  const std::int64_t size_bytes_;
  std::atomic<bool> waits_{true};  ///< what follows is written before it falls
  TypeInfo info_;
  bool decodable_ = false;
  bool contiguous_ = false;
  bool uneven_ = false;
  std::mutex mutex_;
  double library_work_ = 0;  ///< what the uses so far took the MPI library, as decode_within
  std::int64_t work_ = 0;    ///< what decoding takes at least, if it waits
  bool elements_are_known_ = false;  ///< uneven_ is right though it waits
  std::vector<Entry> kept_;
};

/// Raised whenever a handle may have come to mean another type: what was remembered under an older
/// value is void.
inline constinit std::atomic<std::uint64_t> g_type_generation{1};

/// A handle's bits, as a key.
template <typename Handle>
[[nodiscard]] inline std::uint64_t key_of(Handle handle) noexcept {
  std::uint64_t key = 0;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a handle may be a pointer, whose bits are the key
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

/// The record of a handle, or null. The pointer is good until the type is freed. ~20 ns, under the
/// lock of all types.
[[nodiscard]] TypeRecord* find_type(MPI_Datatype type) noexcept;
/// Takes in a type that was just committed, a known one too: the handle may have come to mean
/// another. Never fails: what can't be decoded is remembered as such.
void add_type(MPI_Datatype type) noexcept;
/// `made` is a duplicate of `of`: known if `of` is.
void add_duplicate(MPI_Datatype of, MPI_Datatype made) noexcept;
/// The system has handed out a handle once more: if known, it stays so until each is freed.
void add_reference(MPI_Datatype type) noexcept;
/// Forgets a handle, or one reference of several; before the system frees it.
void remove_type(MPI_Datatype type) noexcept;

}  // namespace strake::mpi
