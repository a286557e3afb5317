/// \file  The messages of a planned exchange between two ranks that share no memory: one each way,
/// packed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strake::exchange::planned {

/// With one peer.
class FarMessages {
 public:
  /// \param in_tag  of messages that come; the peer has chosen `out_tag`
  FarMessages(MPI_Comm comm, int peer, int in_tag, int out_tag) noexcept
      : comm_(comm), peer_(peer), in_tag_(in_tag), out_tag_(out_tag) {}
  /// Gives up what is on its way, as it is after a failure.
  ~FarMessages();
  FarMessages(const FarMessages&) = delete;
  FarMessages& operator=(const FarMessages&) = delete;

  /// Posts the receive of so many bytes, if any.
  void receive(std::int64_t bytes);
  /// Where to pack so many bytes.
  [[nodiscard]] std::byte* room(std::int64_t bytes) {
    out_.resize(static_cast<std::size_t>(bytes));
    return out_.data();
  }
  /// Sends what was packed there.
  void send();
  /// The bytes that have come; null: not yet. \throws MpiError
  [[nodiscard]] const std::byte* received();
  /// Whether what was sent may be changed. \throws MpiError
  [[nodiscard]] bool sent();

 private:
  MPI_Comm comm_;
  int peer_;
  int in_tag_;
  int out_tag_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  MPI_Request sending_ = MPI_REQUEST_NULL;
  MPI_Request receiving_ = MPI_REQUEST_NULL;
};

}  // namespace strake::exchange::planned
