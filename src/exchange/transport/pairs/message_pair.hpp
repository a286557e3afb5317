/// \file  Transfers between two ranks that share no memory: one packed message of the MPI library
/// each way, by persistent requests: packed by the CPU (pack), by a device into pinned memory
/// (one-shot), or into device memory, which a GPU-aware library sends (device).
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "exchange/transport/pairs/pair_transfer.hpp"
#include "memory/pool.hpp"

namespace strake::exchange::planned {

class MessagePair final : public PairTransfer {
 public:
  /// \param in_tag     of messages that come; the peer has chosen `out_tag`
  /// \param transport  Pack, OneShot or Device: the peer may use another one
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

  /// One direction of one schedule: the request of its messages, and their memory.
  struct Message {
    PoolBlock packed;
    MPI_Request request = MPI_REQUEST_NULL;  ///< persistent; null: none was sent so far
    bool active = false;
  };
  /// Takes the memory. \throws OutOfMemory
  void open(Message& message, std::size_t which);
  void start(Message& message);
  [[nodiscard]] bool test(Message& message);
  [[nodiscard]] bool is_idle() const noexcept;
  static void close(Message& message, bool sends) noexcept;

  MPI_Comm comm_;
  int peer_;
  int in_tag_;
  int out_tag_;
  Transport transport_;
  /// \{ By schedule.
  std::array<Message, 2> sends_;
  std::array<Message, 2> receives_;
  /// \}
};

}  // namespace strake::exchange::planned
