/// \file  All transfers of a planned exchange between one memory of this rank and one of a peer,
/// or, where they share no memory, between all memories of the two ranks, by one transport. A
/// transport that planned exchanges use derives from PairTransfer (exchange/transport/table.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exchange/transport/pairs/pair_schedule.hpp"
#include "exchange/transport/pairs/sequence_counters.hpp"
#include "machine/transport.hpp"
#include "strake/exchange.hpp"

namespace strake::exchange::planned {

using machine::Transport;

/// One round of an exchange, as its transports see it.
struct Round {
  std::uint64_t number = 0;          ///< from 1 on
  bool reverse = false;              ///< received bytes go back to their senders
  Bases bases;                       ///< where this rank's arrays lie, by number
  std::span<const Combine> combine;  ///< empty: received bytes replace those in the arrays
};

/// Packed bytes that a device may write in a launch that has more to do (put/device_put.hpp).
class PackedByDevice {
 public:
  /// Whether `device` may pack a schedule: all of its arrays are in that memory, and one message
  /// carries all bytes.
  [[nodiscard]] virtual bool may_be_packed_by(Place device, std::size_t schedule) const = 0;
  /// Returns where the packed bytes go. From then on they are sent as soon as `is_packed()`. Null:
  /// the device doesn't reach that memory, and they are packed as before.
  /// \throws OutOfMemory, MpiError
  [[nodiscard]] virtual std::byte* let_device_pack(std::size_t schedule,
                                                   std::function<bool()> is_packed) = 0;
  /// The device may write there for an unknown time.
  virtual void leak() noexcept = 0;

 protected:
  ~PackedByDevice() = default;
};

/// This rank's end, for one round at a time. Its steps never wait: who waits calls them again.
class PairTransfer {
 public:
  /// \param schedules  of each pair of memories; what they point to outlives this object
  explicit PairTransfer(std::vector<Schedules*> schedules) noexcept : first_(schedules.front()) {
    if (schedules.size() > 1) several_ = std::move(schedules);
  }
  virtual ~PairTransfer() = default;
  PairTransfer(const PairTransfer&) = delete;
  PairTransfer& operator=(const PairTransfer&) = delete;

  /// Begins a round. `round` outlives it.
  void start(const Round& round);
  /// Packs and posts what is to be sent, as far as that can be done now.
  void send();
  /// Unpacks what has come. Combined values need all pairs before this one to have received.
  void receive();
  /// Looks at all that was begun.
  void look();
  [[nodiscard]] bool has_sent() const noexcept { return sending_ == Sending::Done; }
  [[nodiscard]] bool has_received() const noexcept { return receiving_ == Receiving::Done; }
  /// Whether this rank itself copies for the round: it must call look() soon.
  [[nodiscard]] bool is_copying() const noexcept {
    return sending_ == Sending::Packing || receiving_ == Receiving::Unpacking;
  }
  /// Whether the round can't go on before the peer does something, as the last steps found.
  [[nodiscard]] bool is_waiting() const noexcept {
    return sending_ == Sending::Due || sending_ == Sending::Posted ||
           (receiving_ == Receiving::Due && tried_);
  }
  /// This rank leaves the round: the peer begins no reads of its arrays. Waits for reads that go
  /// on, at most 2 s.
  virtual void cancel() noexcept {}

  /// Null: the transfer packs by itself.
  [[nodiscard]] virtual PackedByDevice* packed_by_device() noexcept { return nullptr; }

  /// As of PairSchedule, of all. [bytes]
  [[nodiscard]] std::int64_t packed_bytes(std::size_t which) const noexcept;
  /// How the bytes went that were sent in the last round forward; before the first, how they are
  /// expected to go.
  [[nodiscard]] virtual Transport transport() const noexcept = 0;
  /// For people: "4096 bytes of what is sent are read in place, 512 are packed into …".
  [[nodiscard]] virtual std::string describe() const = 0;

 protected:
  enum class Completion : std::uint8_t {
    Pending,
    Done,     ///< the arrays may be overwritten
    Repacks,  ///< packs after all: post() follows
  };
  /// A round begins in which bytes come.
  virtual void expect() {}
  /// Begins to pack. False: the room for the packed bytes is still in use.
  virtual bool pack() = 0;
  /// Whether all is packed.
  [[nodiscard]] virtual bool is_packed() { return is_idle(out()); }
  /// All is packed: the peer may have it. True: the arrays may be overwritten.
  virtual bool post() = 0;
  [[nodiscard]] virtual Completion poll_sent() = 0;
  /// Whether the peer's bytes are there.
  [[nodiscard]] virtual bool poll() = 0;
  /// Begins to unpack them. False: they come another way, for which poll() looks.
  virtual bool unpack() = 0;
  /// All is unpacked.
  virtual void unpacked() {}

  [[nodiscard]] const Round& round() const noexcept { return *round_; }
  /// \{ Which schedule this round sends, and which it receives.
  [[nodiscard]] std::size_t out() const noexcept { return round_->reverse ? kReceives : kSends; }
  [[nodiscard]] std::size_t in() const noexcept { return 1 - out(); }
  /// \}
  [[nodiscard]] std::span<Schedules* const> schedules() const noexcept {
    return several_.empty() ? std::span(&first_, 1) : std::span(several_);
  }
  /// The schedule of a transport that has one pair of memories.
  [[nodiscard]] PairSchedule& schedule(std::size_t which) const noexcept {
    return (*first_)[which];
  }
  /// As PairSchedule::idle(), of all.
  [[nodiscard]] bool is_idle(std::size_t which) const;
  /// Whether a send is posted that the peer may still be reading from the arrays.
  [[nodiscard]] bool is_posted() const noexcept { return sending_ == Sending::Posted; }

 private:
  enum class Sending : std::uint8_t { Done, Due, Packing, Posted };
  enum class Receiving : std::uint8_t { Done, Due, Unpacking };
  [[nodiscard]] bool is_empty(std::size_t which) const noexcept;
  void post_packed();

  Schedules* first_;
  std::vector<Schedules*> several_;  ///< all; empty: there is one
  const Round* round_ = nullptr;
  Sending sending_ = Sending::Done;
  Receiving receiving_ = Receiving::Done;
  bool tried_ = false;  ///< receive() was called in this round
};

}  // namespace strake::exchange::planned
