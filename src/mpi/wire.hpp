/// \file  How packed bytes are named to MPI.
/// \par A byte apart
/// A contiguous message past ob1's eager limit (Open MPI) is fetched by its receiver in one piece,
/// and that path writes a message longer than the posted receive past the receive's end, and may
/// report success. A datatype with a hole takes the path that checks. So with ob1 the last byte of
/// a send, and one byte of room behind a receive, lie apart from the rest. Within a node it is also
/// the faster path, and is so in MPICH (docs/decisions/0005-wire-types.md).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "strake/place.hpp"

namespace strake::mpi {

/// Bytes a buffer must have beyond its message, so that the one byte that lies apart has a place.
/// [bytes]
inline constexpr std::int64_t kWireRoom = 128;

/// A count and a datatype for packed bytes: MPI_PACKED, or one element of a type made for that
/// length (some are kept, the others freed with this object; MPI keeps a freed type alive for the
/// calls that use it).
class Wire {
 public:
  /// Of a receive into `memory`. \throws MpiError
  Wire(MemoryKind memory, std::int64_t bytes);
  /// Of a send from `memory` to rank `to` of `comm`. \throws MpiError
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

/// Frees the types that are kept; no Wire may be left. For programs that are about to finalise MPI
/// and whose library complains of what is left.
void free_wire_types() noexcept;

/// Before a send of `bytes` packed bytes at `data`: puts the last byte, in host memory, where the
/// wire type wants it.
void prepare_send(MemoryKind memory, std::byte* data, std::int64_t bytes) noexcept;

/// Bytes that a completed receive brought.
[[nodiscard]] std::int64_t received_bytes(const MPI_Status& status) noexcept;

}  // namespace strake::mpi
