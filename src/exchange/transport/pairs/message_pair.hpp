/// \file  All transfers between two ranks that share no memory, of whichever memories: one packed
/// message of the MPI library each way, by persistent requests. Devices pack straight into pinned
/// memory (one-shot), or into device memory, which a GPU-aware library sends (device); the CPU
/// packs what is in host memory. A large message goes in sections: one is sent while the next is
/// packed, and unpacked while the next comes. A long transfer that is one piece of host memory at
/// both ends is a section by itself, which is sent from where it lies, and received there.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "exchange/transport/pairs/pair_transfer.hpp"
#include "memory/pool.hpp"

namespace strake::exchange::planned {

/// One piece of memory of so many bytes costs less as a message by itself than packed: a copy of
/// them at either end takes as long as a message does. [bytes]
inline constexpr std::int64_t kShortestPiece = 32 << 10;

class MessagePair final : public PairTransfer, public PackedByDevice {
 public:
  /// \param schedules  of each pair of memories, in an order that both ranks have
  /// \param in_tag     of messages that come; the peer has chosen `out_tag`
  /// \param transport  Pack, OneShot or, if all is in one device's memory, Device: the peer may use
  ///                   another one
  MessagePair(std::vector<Schedules*> schedules, MPI_Comm comm, int peer, int in_tag, int out_tag,
              Transport transport)
      : PairTransfer(std::move(schedules)),
        comm_(comm),
        peer_(peer),
        in_tag_(in_tag),
        out_tag_(out_tag),
        transport_(transport) {}
  /// Gives up what is on its way, as it is after a failure.
  ~MessagePair() override;

  [[nodiscard]] PackedByDevice* packed_by_device() noexcept override { return this; }
  [[nodiscard]] bool may_be_packed_by(Place device, std::size_t schedule) const override;
  [[nodiscard]] std::byte* let_device_pack(std::size_t schedule,
                                           std::function<bool()> is_packed) override;
  void leak() noexcept override;
  /// Messages that are still to come stay away from the arrays. Waits for sends from there, at most
  /// 2 s in all.
  void cancel() noexcept override;

  [[nodiscard]] Transport transport() const noexcept override { return transport_; }
  [[nodiscard]] std::string describe() const override;

 private:
  void expect() override;
  bool pack() override;
  [[nodiscard]] bool is_packed() override;
  bool post() override;
  [[nodiscard]] Completion poll_sent() override;
  [[nodiscard]] bool poll() override;
  bool unpack() override { return true; }  // poll() has unpacked every section

  /// Some of the transfers between one pair of memories.
  struct PairSlice {
    std::size_t pair = 0;
    Slice slice;
  };
  /// Bytes of the message that go by one request.
  struct Section {
    ByteRange bytes;
    std::vector<PairSlice> slices;
    const MatchedTransfer* piece = nullptr;  ///< one piece of memory, `part` of which is sent
    ByteRange part;
  };
  /// One direction of one schedule: its sections, their requests and memory. Sections are packed,
  /// started and received in their order.
  struct Message {
    PoolBlock packed;
    std::vector<Section> sections;
    /// By section; none before the first message. Persistent, but for those of one piece.
    std::vector<MPI_Request> requests;
    std::function<bool()> is_packed;  ///< by a device's other launch; empty: this object packs
    /// \{ How many sections, in this round.
    std::size_t begun = 0;    ///< are, or are being, packed
    std::size_t started = 0;  ///< the MPI library has, or has had
    std::size_t ended = 0;    ///< it has no more
    /// \}
  };
  [[nodiscard]] std::vector<Section> sections_of(std::size_t schedule) const;
  [[nodiscard]] Place memory_of(std::size_t schedule) const noexcept;
  /// Takes the memory and makes the requests. \throws OutOfMemory, MpiError
  void open(Message& message, std::size_t schedule, bool sends);
  /// The packed bytes of one pair of memories in a message.
  [[nodiscard]] std::byte* packed_bytes_of(const Message& message, std::size_t schedule,
                                           std::size_t pair) const;
  /// Where the bytes of a section of one piece lie in this round; null: in the packed message.
  [[nodiscard]] std::byte* piece_of(const Section& section, bool sends) const noexcept;
  /// Gives a section to the MPI library.
  void begin(Message& message, std::size_t section, bool sends);
  void pack_section(const Message& message, const Section& section);
  void unpack_section(const Message& message, const Section& section);
  [[nodiscard]] bool is_section_idle(std::size_t schedule, const Section& section);
  void send_packed(Message& message);
  [[nodiscard]] bool is_device_done() const noexcept;
  using Clock = std::chrono::steady_clock;
  static void close(Message& message, bool sends, Clock::time_point until) noexcept;

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
