/// \file  The count and datatype by which packed bytes are sent and received.
/// \par A byte apart
/// With ob1 (Open MPI) the receiver fetches a contiguous message above the eager limit in one
/// piece. If the message is longer than the posted receive, ob1 writes past the receive's end, and
/// may report success. For a datatype with a hole it checks the length. So with ob1 the last byte
/// of a send, and one byte of room behind a receive, lie apart from the rest. Within a node
/// datatypes with a hole are also faster, in MPICH too (decision 5).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mpi/quirks.hpp"
#include "strake/place.hpp"

namespace strake::mpi {

/// Bytes a buffer must have beyond its message, so that the one byte that lies apart has a place.
/// [bytes]
inline constexpr std::int64_t kWireRoom = 128;

/// A count and a datatype for packed bytes: MPI_PACKED, or one element of a type created for that
/// length. Some of these types are kept; the others are freed with this object (MPI keeps a freed
/// type alive for the calls that use it).
class Wire {
 public:
  /// For a receive into `memory`. \throws MpiError
  Wire(MemoryKind memory, std::int64_t bytes);
  /// For a send from `memory` to rank `to` of `comm`. \throws MpiError
  Wire(MemoryKind memory, std::int64_t bytes, int to, MPI_Comm comm);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }

 private:
  /// `split` bytes before the hole; 0: in one piece.
  Wire(std::int64_t bytes, std::int64_t split);
  int count_;
  bool own_ = false;
  MPI_Datatype type_ = MPI_PACKED;
};

/// Frees the types that are kept; no Wire may exist. For programs that are about to finalise MPI,
/// with a library that reports types that were not freed.
void free_wire_types() noexcept;

/// Call it before a send of `bytes` packed bytes at `data`: moves the last byte, in host memory, to
/// its place in the wire type.
void prepare_send(MemoryKind memory, std::byte* data, std::int64_t bytes) noexcept;

/// The number of bytes that a completed receive brought. < 1 ns.
[[nodiscard]] inline std::int64_t received_bytes(const MPI_Status& status) noexcept {
  return quirks::bytes_of(status);
}

}  // namespace strake::mpi
