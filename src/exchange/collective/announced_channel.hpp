/// \file  The base of channels whose messages a cell or a bundle announces. Bytes lie beside the
/// announcement, or MPI carries them in a message with a tag of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exchange/transport/channel.hpp"
#include "exchange/transport/mpi_channel.hpp"
#include "machine/message.hpp"

namespace strake::exchange {

/// A tag of mpi::own_world() that no other message to the same rank has while it is on its way.
[[nodiscard]] std::int32_t next_single_tag() noexcept;

class AnnouncedChannel : public Channel {
 public:
  /// \param rank  in MPI_COMM_WORLD
  AnnouncedChannel(machine::MessageDirection direction, std::int32_t rank)
      : direction_(direction), rank_(rank) {}

 protected:
  [[nodiscard]] bool sends() const noexcept {
    return direction_ == machine::MessageDirection::Send;
  }
  [[nodiscard]] std::int32_t rank() const noexcept { return rank_; }
  [[nodiscard]] const Parcel& parcel() const noexcept { return parcel_; }
  void begin(const Parcel& parcel) noexcept {
    parcel_ = parcel;
    by_mpi_.reset();
  }
  /// MPI carries the message, with that tag. \throws MpiError
  void go_by_mpi(std::int32_t tag);
  [[nodiscard]] bool goes_by_mpi() const noexcept { return by_mpi_.has_value(); }
  [[nodiscard]] std::optional<Arrival> poll_mpi() { return by_mpi_->poll(); }
  /// Copies the parcel's bytes to host memory.
  void put_inside(std::byte* inside) const;
  /// The bytes lie in host memory: copies them to the parcel.
  /// \throws MessageFailed  they are too many
  Arrival take_inside(const std::byte* inside, std::int64_t bytes) const;

 private:
  /// Copies between host memory and the parcel.
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) const;

  machine::MessageDirection direction_;
  std::int32_t rank_;
  Parcel parcel_;
  std::optional<MpiChannel> by_mpi_;  ///< set while MPI carries the message
};

}  // namespace strake::exchange
