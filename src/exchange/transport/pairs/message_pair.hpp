/// \file  Transfers between two ranks that share no memory: one packed message of the MPI library
/// each way (pack; staged where arrays are in device memory).
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange/transport/pairs/pair_transfer.hpp"

namespace strake::exchange::planned {

class MessagePair final : public PairTransfer {
 public:
  /// \param in_tag     of messages that come; the peer has chosen `out_tag`
  /// \param transport  Pack or Staged
  MessagePair(std::array<PairSchedule, 2>& schedules, MPI_Comm comm, int peer, int in_tag,
              int out_tag, Transport transport) noexcept
      : PairTransfer(schedules),
        comm_(comm),
        peer_(peer),
        in_tag_(in_tag),
        out_tag_(out_tag),
        transport_(transport) {}
  /// Gives up what is on its way, as it is after a failure.
  ~MessagePair() override;

  [[nodiscard]] Transport transport() const noexcept override { return transport_; }
  [[nodiscard]] std::string describe() const override;

 private:
  void expect() override;
  bool pack() override;
  bool post() override;
  [[nodiscard]] Completion poll_sent() override;
  [[nodiscard]] bool poll() override;
  bool unpack() override;

  MPI_Comm comm_;
  int peer_;
  int in_tag_;
  int out_tag_;
  Transport transport_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  MPI_Request sending_ = MPI_REQUEST_NULL;
  MPI_Request receiving_ = MPI_REQUEST_NULL;
};

}  // namespace strake::exchange::planned
