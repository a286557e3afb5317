/// \file  The memory that a receive which is left to the MPI library puts its bytes in
/// (interpose/receive.hpp), and sends that are left to it: these may be taken for header messages
/// (exchange/transport/shared/header_messages.hpp).
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "exchange/transport/shared/header_messages.hpp"
#include "interpose/found.hpp"
#include "mpi/elements.hpp"
#include "mpi/wire.hpp"

namespace strake::interpose {

using exchange::shared::Delivery;

/// How an announced message comes.
[[nodiscard]] inline Transport transport_of(const Delivery& delivery) noexcept {
  return delivery.direct() ? Transport::Direct : Transport::Shared;
}

/// Where such a receive puts its bytes.
class Landing {
 public:
  /// `found` is what was found of the `count` elements of `type` at `buffer`, a type that the MPI
  /// library has accepted. It may be freed while the message is in flight.
  /// `gives_room`: the MPI library receives into memory of this object's, with room for a header
  /// message, which the receive itself has not.
  Landing(void* buffer, std::int64_t count, MPI_Datatype type, const Found& found,
          bool gives_room = false)
      : address_(static_cast<std::byte*>(buffer)), count_(count), room_(found.bytes) {
    if (gives_room) own_ = std::make_unique<decltype(own_)::element_type>();
    if (found.reason == Reason::Empty || count <= 0) return;
    if (found.reason == Reason::Contiguous) {
      address_ = reinterpret_cast<std::byte*>(address_of(buffer, found.lowest));
    } else {
      look_at_type(type);
    }
  }
  /// The receive's bytes lie side by side.
  Landing(std::byte* address, std::int64_t bytes) noexcept : address_(address), room_(bytes) {}
  /// The receive's elements are not dense.
  Landing(std::byte* base, mpi::ElementsPtr elements) noexcept
      : address_(base), room_(elements->size_bytes()), elements_(std::move(elements)) {}
  [[gnu::always_inline]] ~Landing() {
    if (opaque_ != MPI_DATATYPE_NULL) free_opaque();
  }
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

  /// kLongestHeader; null: the MPI library receives into the receive's own memory.
  [[nodiscard]] std::byte* own() const noexcept { return own_ ? own_->data() : nullptr; }
  /// A message of so many bytes has come, which is no header message. Takes what has come to own().
  /// False: it is longer than the receive.
  [[nodiscard]] bool settle(std::int64_t bytes);
  /// The first bytes that have come, as many as a header has; zeroes without room for a header
  /// message.
  [[nodiscard]] exchange::shared::Landed landed() const;
  /// Takes what a header message has announced, and tells the sender. False: it is longer than the
  /// receive.
  [[nodiscard]] bool take(const Delivery& delivery);
  [[nodiscard]] std::int64_t room() const noexcept { return room_; }

 private:
  void look_at_type(MPI_Datatype type);
  void free_opaque() noexcept;
  [[nodiscard]] const std::byte* first() const noexcept;
  [[nodiscard]] std::vector<std::byte> pack_opaque() const;
  void take_in_pieces(const Delivery& delivery, std::int64_t bytes);
  void take_whole(const std::byte* packed, std::int64_t bytes);

  std::byte* address_;
  std::int64_t count_ = 0;
  std::int64_t room_;
  std::unique_ptr<std::array<std::byte, exchange::shared::kLongestHeader>> own_;
  mpi::ElementsPtr elements_;                ///< null: dense at address_, or opaque
  MPI_Datatype opaque_ = MPI_DATATYPE_NULL;  ///< of a type that only the MPI library can read
};

/// Before a send that is left to the MPI library. True: exchange::shared::drop_placeholder() if
/// that refuses it.
bool add_placeholder_of_left_send(const Found& found, std::int64_t count, MPI_Datatype type,
                                  const mpi::Envelope& peer);
inline bool add_placeholder_of_left(const Found& found, std::int64_t count, MPI_Datatype type,
                                    const mpi::Envelope& peer) {
  return exchange::shared::ShmEndpoint::get() != nullptr &&
         add_placeholder_of_left_send(found, count, type, peer);
}
/// Leaves a send to the MPI library: `leave()`, which returns its code.
template <typename Leave>
int leave_with_placeholder(const Found& found, std::int64_t count, MPI_Datatype type,
                           const mpi::Envelope& peer, const Leave& leave) {
  const bool placed = add_placeholder_of_left(found, count, type, peer);
  const int code = leave();
  if (placed && code != MPI_SUCCESS) exchange::shared::drop_placeholder();
  return code;
}

}  // namespace strake::interpose
