/// \file  The messages of a planned exchange between two ranks that share no memory: one each way,
/// packed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strake::exchange::planned {

/// With one peer. Movable, but not while a message is on its way.
class FarMessages {
 public:
  FarMessages(MPI_Comm comm, int peer) noexcept : comm_(comm), peer_(peer) {}

  /// Posts the receive of so many bytes, if any.
  void receive(std::int64_t bytes);
  /// Sends what `pack(place)` packs, if any.
  template <typename Pack>
  void send(std::int64_t bytes, const Pack& pack) {
    if (bytes == 0) return;
    out_.resize(static_cast<std::size_t>(bytes));
    pack(out_.data());
    post_send();
  }
  /// The bytes that have come; null: not yet. \throws MpiError
  [[nodiscard]] const std::byte* received();
  /// Whether what was sent may be changed. \throws MpiError
  [[nodiscard]] bool sent();

 private:
  void post_send();

  MPI_Comm comm_;
  int peer_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  MPI_Request sending_ = MPI_REQUEST_NULL;
  MPI_Request receiving_ = MPI_REQUEST_NULL;
};

}  // namespace strake::exchange::planned
