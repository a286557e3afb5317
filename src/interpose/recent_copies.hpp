/// \file  The copies that MPI_Pack and MPI_Unpack ran lately. A program packs the same few types
/// over and over: a call with the same arguments runs the same copy again at once.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "copy/cpu/few.hpp"
#include "copy/cpu/kernels.hpp"
#include "device/loaded_objects.hpp"
#include "interpose/examine.hpp"

namespace strake::interpose {

/// How a process without a device repeats a remembered copy.
enum class AtOnce : std::uint8_t {
  No,        ///< not from this record alone
  Few,       ///< at most cpu::kFewBytes adjacent bytes; no saved time to count for the summary
  Adjacent,  ///< adjacent bytes
  Op,        ///< all other copies
};

/// The memories of the two sides of a copy.
struct Places {
  Place typed;
  Place packed;
  [[nodiscard]] bool host() const noexcept {
    return typed.in_host_memory() && packed.in_host_memory();
  }
  friend bool operator==(const Places&, const Places&) = default;
};

/// A copy that this thread ran lately, with all that the next call with the same arguments needs.
/// The first cache line has all that a process without a device reads.
struct alignas(64) Recent {
  std::uint64_t key = 0;  ///< Call::key
  std::uint64_t generation = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::uintptr_t least = 0;  ///< no buffer is at a lower address
  std::int64_t first = 0;    ///< offset of the first packed byte
  union {
    const cpu::Op* op = nullptr;  ///< AtOnce::Op
    cpu::CopyFn copy;             ///< AtOnce::Adjacent
  };
  AtOnce at_once = AtOnce::No;
  std::int32_t saved_ns = 0;

  const CopyPlan* plan = nullptr;
  Transport transport = Transport::Pack;
  ByteRange bounds = {0, 0};  ///< this and `places` are read only in a process with a device
  Places places;
};
/// One table for packing, one for unpacking.
using RecentTable = std::array<mpi::TypeSlots<Recent>, 2>;

inline Recent& recent(RecentTable& table, MessageDirection direction, MPI_Datatype type,
                      std::int64_t count) {
  return table[static_cast<std::size_t>(direction)][mpi::type_slot(type, count)];
}
inline Recent& recent(MessageDirection direction, MPI_Datatype type, std::int64_t count) {
  return recent(PerThread<RecentTable>::get(), direction, type, count);
}

/// Marks `last` as a copy of adjacent bytes.
inline void remember_adjacent(Recent& last) {
  const bool few = last.bytes <= cpu::kFewBytes && last.saved_ns == 0;
  last.at_once = few ? AtOnce::Few : AtOnce::Adjacent;
  last.copy = cpu::default_kernels().nest->copy;
}

constexpr Function function_of(MessageDirection direction) {
  return direction == MessageDirection::Send ? Function::MPI_Pack : Function::MPI_Unpack;
}

/// The two ends of a copy.
struct Ends {
  std::byte* to;
  const std::byte* from;
};
inline Ends ends_of(MessageDirection direction, std::byte* typed, std::byte* packed) {
  return direction == MessageDirection::Send ? Ends{packed, typed} : Ends{typed, packed};
}

/// Moves the position, and counts the call for the summary.
template <typename Count>
inline void finish_copy(MessageDirection direction, Transport transport, std::int64_t bytes,
                        std::int64_t saved_ns, Count* position) {
  *position += static_cast<Count>(bytes);
  if (saved_ns != 0) record_saved(saved_ns);
  note(function_of(direction), transport, Reason::None, bytes);
}

/// The arguments of a call, in one form for packing (Send) and unpacking (Receive).
template <typename Count>
struct Call {
  MessageDirection direction;
  Count count;
  std::byte* typed;
  MPI_Datatype type;
  std::byte* packed;
  Count size;
  Count* position;
  MPI_Comm comm;

  /// The datatype's handle; with MPICH the communicator's, too, since both fit in one word.
  [[nodiscard]] std::uint64_t key() const {
    std::uint64_t key = mpi::key_of(type);
    if constexpr (mpi::quirks::kHandlesAreIntegers) key |= mpi::key_of(comm) << 32;
    return key;
  }
  /// The position, unsigned: a negative one becomes larger than any size.
  [[nodiscard]] std::make_unsigned_t<Count> start() const {
    return static_cast<std::make_unsigned_t<Count>>(*position);
  }
  [[nodiscard]] bool fits(std::int64_t bytes) const {
    if (!mpi::quirks::kHandlesAreIntegers && comm == MPI_COMM_NULL) return false;
    if (packed == nullptr || position == nullptr) return false;
    if constexpr (sizeof(Count) < sizeof bytes) {
      return bytes <= std::int64_t{size} - std::int64_t{start()};
    } else {
      return *position >= 0 && bytes <= size - *position;
    }
  }
  void run(const CopyPlan& plan) const {
    const Ends ends = ends_of(direction, typed, packed + *position);
    plan.run(ends.to, ends.from);
  }
  /// Leaves the call to the MPI library.
  int pass_on() const {
    if constexpr (std::is_same_v<Count, int>) {
      return direction == MessageDirection::Send
                 ? real_mpi().MPI_Pack(typed, count, type, packed, size, position, comm)
                 : real_mpi().MPI_Unpack(packed, size, position, typed, count, type, comm);
    }
#if STRAKE_MPI_LARGE_COUNTS
    else {
      return direction == MessageDirection::Send
                 ? real_mpi().MPI_Pack_c(typed, count, type, packed, size, position, comm)
                 : real_mpi().MPI_Unpack_c(packed, size, position, typed, count, type, comm);
    }
#endif
  }
  void finish(Transport transport, std::int64_t bytes, std::int64_t saved_ns = 0) const {
    finish_copy(direction, transport, bytes, saved_ns, position);
  }
};

/// The memories of a call that fits; the bytes of the datatype lie in `bounds`.
template <typename Count>
Places places_of(const Call<Count>& call, ByteRange bounds, std::int64_t bytes) {
  const auto at = [&](std::int64_t offset) {
    return reinterpret_cast<const void*>(address_of(call.typed, offset));
  };
  const std::byte* const packed = call.packed + *call.position;
  return {classify(at(bounds.begin), at(bounds.end - 1)), classify(packed, packed + bytes - 1)};
}

/// Whether the call asks for the copy `last`, with arguments that the MPI library would accept.
template <typename Count>
inline bool is_again(const Call<Count>& call, const Recent& last) {
  const auto likely = [](bool same) { return __builtin_expect(same, true); };
  return likely(last.key == call.key()) && likely(last.count == call.count) &&
         likely(last.generation == mpi::g_type_generation.load(std::memory_order_acquire)) &&
         likely(call.fits(last.bytes)) && likely(address_of(call.typed, 0) >= last.least);
}

/// Runs the copy `last`, in a process without a device, and ends the call.
template <typename Count>
[[gnu::noinline]] int run_kept(MessageDirection direction, const Recent& last, std::byte* typed,
                               std::byte* packed, Count* position) {
  packed += *position;
  if (last.at_once == AtOnce::Op) {
    const Ends ends = ends_of(direction, typed, packed);
    last.op->run(ends.to, ends.from);
  } else {
    const Ends ends = ends_of(direction, typed + last.first, packed);
    last.copy(ends.to, ends.from, last.bytes);
  }
  finish_copy(direction, Transport::Pack, last.bytes, last.saved_ns, position);
  return MPI_SUCCESS;
}

/// Repeats a copy in a process without a device, on the first thread that packed: 2 ns beyond the
/// copy. Otherwise `rest()`. (All calls are tail calls, so that few registers have to be saved.)
/// The MPI library itself may call this, too: it gets the same bytes.
template <typename Count, typename Rest>
[[gnu::always_inline]] inline int run_at_once(const Call<Count>& call, Rest&& rest) {
  RecentTable* const table = PerThread<RecentTable>::of_first_thread();
  if (table == nullptr || !no_object_since()) [[unlikely]]
    return rest();
  const Recent& last = recent(*table, call.direction, call.type, call.count);
  if (!is_again(call, last)) [[unlikely]]
    return rest();
  if (last.at_once == AtOnce::Few) [[likely]] {
    const auto start = call.start();  // read before the copy, which might change them
    const std::int64_t bytes = last.bytes;
    const Ends ends = ends_of(call.direction, call.typed + last.first, call.packed + start);
    cpu::copy_few(ends.to, ends.from, bytes);
    *call.position = static_cast<Count>(start + bytes);
    note(function_of(call.direction), Transport::Pack, Reason::None, bytes);
    return MPI_SUCCESS;
  }
  if (last.at_once == AtOnce::No) return rest();
  return run_kept(call.direction, last, call.typed, call.packed, call.position);
}

/// Repeats a copy, in any thread and process. With a device, first asks where the two buffers lie.
/// Nothing if the call asks for another copy.
template <typename Count>
std::optional<int> run_again(const Call<Count>& call) {
  const Recent& last = recent(call.direction, call.type, call.count);
  if (!is_again(call, last)) return {};
  if (last.at_once != AtOnce::No && no_object_since()) {
    return run_kept(call.direction, last, call.typed, call.packed, call.position);
  }
  if (t_depth != 0 || last.plan == nullptr) return {};
  const auto run = [&] {
    call.run(*last.plan);
    call.finish(last.transport, last.bytes, last.saved_ns);
    return MPI_SUCCESS;
  };
  if (device_backend() == nullptr)
    return last.transport == Transport::Pack ? run() : std::optional<int>();
  if (!(places_of(call, last.bounds, last.bytes) == last.places)) return {};
  return guarded(call.comm, run);
}

/// Begins to remember the copy of a call, of so many bytes.
template <typename Count>
Recent& remember(const Call<Count>& call, std::int64_t bytes) {
  Recent& last = recent(call.direction, call.type, call.count);
  last = {};
  last.key = call.key();
  last.generation = mpi::g_type_generation.load(std::memory_order_acquire);
  last.count = call.count;
  last.bytes = bytes;
  return last;
}

}  // namespace strake::interpose
