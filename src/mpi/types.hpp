/// \file  The records of the datatypes in use: decoded once, found again in nanoseconds. Some
/// programs make a type, use it once, and free it: so a type is *new* from its commit (or from its
/// dup) until it has moved a little, and costs next to nothing until then. Its record is made then,
/// and decoded if it has few blocks. One of many waits: it is decoded once its uses have cost the
/// MPI library as much time as decoding takes. Messages of types that are new or wait, and of
/// handles that were never committed here, are left to the MPI library. A handle is known until it
/// is freed, so that a new type with an old handle can't find an old record. If the type was freed
/// by PMPI_Type_free, commit of the new type notices.
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

/// The use that is made of a datatype.
enum class Use : std::uint8_t {
  Other,
  Receive,  ///< of a message
  Often,    ///< a persistent request, which is used more often than it is made
};

class TypeRecord {
 public:
  /// The record of a type that waits.
  explicit TypeRecord(std::int64_t size_bytes) : size_bytes_(size_bytes) {}

  /// Whether the type waits to be decoded: then only its size is known.
  [[nodiscard]] bool waits() const noexcept { return waits_.load(std::memory_order_acquire); }
  /// Decodes `type` if that takes no more than `most_work` (decode_within). False: it waits.
  /// Call it only before other threads can see the record.
  bool decode(MPI_Datatype type, std::int64_t most_work);
  /// Call it before a use of `count` elements. False: the type waits, so leave the call to the MPI
  /// library. `type` is any handle that has this record.
  [[nodiscard]] bool ready(MPI_Datatype type, std::int64_t count, Use use) {
    return !waits() || decode_if_it_pays(type, count, use);
  }
  /// Call it if the handle of a record that waits may now be that of another type of the same size.
  void doubt();

  /// False: the type could not be decoded, and is left to the MPI library.
  [[nodiscard]] bool decodable() const noexcept { return decodable_; }
  /// Whether any number of elements are the first bytes of the buffer, without gaps.
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  [[nodiscard]] bool predefined() const noexcept { return !waits() && info_.predefined; }
  /// Whether the MPI library may refuse a message of packed bytes, which comes in pieces
  /// (quirks::kPiecesMustEndWithElements). It never cut elements of one size that is a power of two
  /// up to 16 (except over TCP, if the last byte lies apart).
  [[nodiscard]] bool uneven() const noexcept { return uneven_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] const TypeInfo& info() const noexcept { return info_; }
  /// `count` elements, ~10 ns. `*kept` says whether they live as long as the record: those of the
  /// first 16 counts do.
  /// \throws InvalidArgument  more than 2^63 bytes.
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
  std::atomic<bool> waits_{true};  ///< set to false after the members below are written
  TypeInfo info_;
  bool decodable_ = false;
  bool contiguous_ = false;
  bool uneven_ = false;
  std::mutex mutex_;
  double library_work_ = 0;  ///< of the MPI library for all uses so far, in units of decode_within
  std::int64_t work_ = 0;    ///< what decoding takes at least, if it waits
  bool elements_are_known_ = false;  ///< uneven_ is valid although the type waits
  std::vector<Entry> kept_;
};

/// Raised whenever a handle may have become that of another type. Everything that was remembered
/// under an older value is invalid.
inline constinit std::atomic<std::uint64_t> g_type_generation{1};

/// A handle's bits, as a key.
template <typename Handle>
[[nodiscard]] inline std::uint64_t key_of(Handle handle) noexcept {
  std::uint64_t key = 0;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a handle may be a pointer, whose bits are the key
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

inline constexpr int kTypeSlotBits = 9;  // a halo exchange uses 26 to 208 types
/// A table by handle and count: an entry lies at its slot or, where the user of the table looks
/// there, too, at slot ^ 1.
template <typename Entry>
using TypeSlots = std::array<Entry, std::size_t{1} << kTypeSlotBits>;
[[nodiscard]] inline std::size_t type_slot(MPI_Datatype type, std::int64_t count) noexcept {
  const auto low = static_cast<std::uint32_t>(key_of(type) + static_cast<std::uint64_t>(count));
  return (low * 0x9E3779B1U) >> (32 - kTypeSlotBits);
}

/// The record of a type that is about to be used, or its size. The pointer is valid until the type
/// is freed.
struct InUse {
  TypeRecord* record = nullptr;
  std::int64_t new_size = -1;  ///< of an element, of a type that is new and stays so [bytes]
};
/// Counts a use of `count` elements, at least one; makes the record of a type that is new no
/// longer.
[[nodiscard]] InUse use_type(MPI_Datatype type, std::int64_t count, Use use);
/// The record of a handle, made now if the type is new; null if it was never committed here.
[[nodiscard]] TypeRecord* find_type(MPI_Datatype type);

/// The size of an element; negative for a handle that was never committed here. [bytes]
[[nodiscard]] std::int64_t known_size(MPI_Datatype type);
/// The decoded datatype of a handle; null where it was not decoded, or not yet.
[[nodiscard]] std::shared_ptr<const TypeInfo> decoded(MPI_Datatype type);

/// A type was just committed: it is new. If the handle has a record, that is replaced unless the
/// types are the same. Never fails: a type that can't be decoded is recorded as such.
void add_type(MPI_Datatype type) noexcept;
/// Gives `made`, a duplicate of `of`, the record of `of` if there is one.
void add_duplicate(MPI_Datatype of, MPI_Datatype made) noexcept;
/// The MPI library has returned a handle once more, so the program frees it once more. Its record,
/// if any, is kept until the last free.
void add_reference(MPI_Datatype type) noexcept;
/// Removes a handle, or one of its references. Call it before the MPI library frees the type.
void remove_type(MPI_Datatype type) noexcept;

}  // namespace strake::mpi
