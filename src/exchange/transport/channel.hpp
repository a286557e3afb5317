/// \file  How the packed bytes of a message get from one rank to the other. A transfer
/// (exchange/message/transfer.hpp) brings its bytes into memory that a channel can carry, and takes
/// them from there; what lies between is the channel's business: a call of MPI's, a request, shared
/// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "exchange/transport/shared/peer_segments.hpp"
#include "strake/place.hpp"

namespace strake::exchange {

/// The packed bytes of a send, or a receive's room for them, which a channel carries. Behind them
/// lie mpi::kWireRoom bytes more, for the channel's use.
struct Parcel {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  MemoryKind memory = MemoryKind::Host;
  bool header = false;  ///< the bytes are a header message (exchange/transport/shared)
};

/// How a message ended.
struct Arrival {
  std::int64_t bytes = 0;  ///< that a receive got; a receive may get fewer than it has room for
  bool lost = false;       ///< cancelled, or failed and told elsewhere: there is nothing to unpack
  /// Where the bytes are, if not in the parcel.
  std::optional<shared::Delivery> delivery = {};
};

/// One end of one message at a time. One thread at a time.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Takes the parcel, whose memory stays as it is until the message has ended. What it throws says
  /// that the parcel was not taken.
  virtual void post(const Parcel& parcel) = 0;
  /// How the message ended; nothing while it is on its way. Never waits. What it throws says that
  /// the message has failed, and that its parcel is free.
  virtual std::optional<Arrival> poll() = 0;
  /// Asks for the end of a posted message: poll() tells whether it was lost by that.
  virtual void cancel() noexcept {}
};

/// A channel that is one call: `call(parcel)` returns how the message ended.
template <typename Call>
class CallChannel final : public Channel {
 public:
  explicit CallChannel(Call call) : call_(std::move(call)) {}
  void post(const Parcel& parcel) override { arrival_ = call_(parcel); }
  std::optional<Arrival> poll() override { return arrival_; }

 private:
  Call call_;
  Arrival arrival_;
};

/// A channel that is one call, `call(parcel)`, after which somebody else sees how the message ends.
template <typename Call>
class HandOverChannel final : public Channel {
 public:
  explicit HandOverChannel(Call call) : call_(std::move(call)) {}
  void post(const Parcel& parcel) override { call_(parcel); }
  std::optional<Arrival> poll() override { return std::nullopt; }

 private:
  Call call_;
};

}  // namespace strake::exchange
