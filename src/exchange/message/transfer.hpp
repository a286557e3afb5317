/// \file  The steps of one message at one of its ends: a send copies its bytes out of the user's
/// layout and hands them to a channel; a receive gives the channel room, and copies what came into
/// the user's layout. No request, status or error handler of MPI's is known here. Sources:
/// dissertation 5.5 (device, one-shot, staged).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "exchange/transport/channel.hpp"
#include "exchange/transport/packing.hpp"
#include "exchange/transport/shared/send_segment.hpp"
#include "machine/message.hpp"

namespace strake::exchange {

namespace shared {
class ShmEndpoint;
}

using machine::Transport;

/// One message at a time, any number of them one after the other. One thread at a time per object;
/// objects are independent. What a step throws ends the message.
class Transfer {
 public:
  enum class State : std::uint8_t {
    Idle,      ///< not started, or done
    Leaving,   ///< a send that is being packed, a receive that is to be posted next
    Posted,    ///< the channel has it
    Arriving,  ///< a receive whose bytes are here, on their way into the user's layout
  };

  /// Takes the memory that the transport needs, and compiles the copy. Falls back to the next
  /// transport, once, when memory runs out. \throws OutOfMemory
  Transfer(MessageDirection direction, Typed typed, Transport transport);
  /// One send by memory that its receiver shares. post() packs the message once the channel has
  /// the header message, while the receiver unpacks what is there. The channel's post() must not
  /// wait for the receiver. An offered message is packed only if the receiver claims it too late.
  /// A message in a device's memory is posted once the default stream's earlier work is done.
  /// \throws std::bad_alloc
  Transfer(Typed typed, const shared::Lease& lease);
  /// The memory of a message that the channel still has is never used again: nobody will know when
  /// the channel is done with it. Waits for a device's copy, and for who is taking an offer.
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// From now on each send goes by memory that its receiver shares, as above, if it can when it
  /// starts; else as before.
  void share_each(const shared::Destination& to) noexcept {
    shares_with_ = to;
    unshared_transport_ = transport_;
  }
  /// Whether the message goes by memory that its receiver shares.
  [[nodiscard]] bool shares() const noexcept { return lease_.has_value(); }
  [[nodiscard]] mpi::Elements& elements() const noexcept { return packing_.elements(); }
  [[nodiscard]] bool on_device() const noexcept { return packing_.on_device(); }
  /// Whether the receiver may take the message from where it lies, so that the send must not be
  /// told complete before arrived().
  [[nodiscard]] bool offered() const noexcept {
    return lease_ && lease_->offer() != shared::Offer::None;
  }
  /// Ends an offer, whose receiver may not claim it any more: packs the message, or waits until
  /// that has taken it. Does nothing else.
  /// \throws OutOfMemory
  void end_offer();
  /// A posted message by shared memory is lost for sure.
  void withdraw() noexcept;
  /// Begins: packs a send (host memory), or starts to (device memory).
  /// \throws OutOfMemory, CudaError
  void start(bool shares = true, bool offers = true);
  /// Whether the next send, if it is shared, would be offered where it lies.
  [[nodiscard]] bool would_offer() const;
  /// A send that waits for its turn: collects its copy, if it can be. A fault shows in step().
  void prepare() noexcept;
  /// Takes the next step, if it needs no waiting. True: the message is done.
  /// \throws CudaError, and what the channel throws
  bool step(Channel& channel);
  /// Waits until a send is packed, and gives the message to the channel. \throws as step()
  void post(Channel& channel);
  /// All steps that are left, for a call that waits for its message. \throws as step()
  void finish(Channel& channel);
  /// For a channel whose messages somebody else sees the end of: a posted one has ended. Unpacks
  /// it.
  /// \throws CudaError, OutOfMemory
  void arrived(const Arrival& arrival);
  /// A send that is still being packed is not given to the channel at all; of a posted message the
  /// channel is asked. True: the message is lost for sure.
  bool cancel(Channel& channel) noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] MessageDirection direction() const noexcept { return packing_.direction(); }
  /// The transport in use, after a fall-back perhaps.
  [[nodiscard]] Transport transport() const noexcept { return transport_; }
  /// Size of the whole layout. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return packing_.size_bytes(); }
  /// The room that the MPI library gets for a receive (shared::room_of_packed). [bytes]
  [[nodiscard]] std::int64_t room() const noexcept;
  /// The memory that the channel carries: packed bytes, or a lease's header message.
  [[nodiscard]] Parcel parcel() const noexcept {
    if (lease_) return {lease_->header(), lease_->length(), MemoryKind::Host, true};
    return {packing_.buffer().data(), size_bytes(), packing_.buffer().place().kind, false};
  }
  /// A receive that is being copied from where it lies, for which its sender waits.
  [[nodiscard]] bool awaited() const noexcept { return pulled_.has_value(); }
  /// How the last message ended.
  [[nodiscard]] const Arrival& arrival() const noexcept { return arrival_; }

 private:
  void pack_shared();
  void mark();
  void pack_from_device();
  bool prepare_to_pack();
  bool pull(const shared::Delivery& delivery);
  void end_pull() noexcept;
  bool settle();
  bool end_of_patience(const shared::ShmEndpoint* endpoint);
  bool is_abandoned(shared::ShmEndpoint* endpoint);
  void lose_offer() noexcept;
  void release_lease() noexcept;
  void give_to(Channel& channel);
  void unpack_shared(const shared::Delivery& delivery, std::int64_t bytes);
  void take(const Arrival& arrival);
  bool copied() { return packing_.by_cpu() || device_copied(); }
  bool device_copied();
  void look_at_mark() noexcept;
  void wait_until_copied();

  Packing packing_;
  Transport transport_;
  Transport unshared_transport_ = Transport::Pack;  ///< of share_each()
  State state_ = State::Idle;
  bool cancelled_ = false;
  Arrival arrival_;
  PoolBlock for_segment_;  ///< pinned: a device's bytes on their way to the segment
  std::optional<shared::Destination> shares_with_;
  std::optional<shared::Lease> lease_;  ///< shared: where the bytes are packed
  /// Until when the receiver may claim an offer that MPI is done with.
  std::optional<std::chrono::steady_clock::time_point> patient_until_;
  unsigned turns_ = 0;                      ///< of waiting for one that is being taken
  std::optional<shared::Delivery> pulled_;  ///< what a receive from a device's memory comes from
};

}  // namespace strake::exchange
