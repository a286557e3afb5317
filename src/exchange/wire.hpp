/// \file  Packed bytes as a count and a datatype: past 2^31 - 1 bytes one element of a type made
/// for the occasion.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace strake::exchange {

/// Owns the datatype it had to make, if any; MPI keeps a freed type alive for the calls that use
/// it.
class Wire {
 public:
  /// \throws MpiError
  explicit Wire(std::int64_t bytes);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }

 private:
  int count_;
  MPI_Datatype type_ = MPI_PACKED;
};

/// Bytes that a completed receive brought.
[[nodiscard]] std::int64_t received_bytes(const MPI_Status& status) noexcept;

}  // namespace strake::exchange
