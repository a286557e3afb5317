/// \file  A channel between two ranks whose messages cells tell of.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <optional>

#include "exchange/collective/announced_channel.hpp"
#include "exchange/transport/shared/cells.hpp"

namespace strake::exchange {

/// Tells a connected rank of a message, by MPI where its ring is full.
/// \throws MpiError
void post_cell(std::int32_t rank, const shared::Cell& cell);
/// The cell of that name from that rank, if it has come by the ring or by MPI.
/// \throws MpiError
[[nodiscard]] std::optional<shared::Cell> take_cell(std::int32_t rank,
                                                    const shared::CellName& name);

/// Before MPI ends, and when all calls are complete: waits until all copies that were sent have
/// arrived, or failed.
void complete_copies() noexcept;

/// One end of one message between this rank and a connected one. The message is named before it is
/// posted.
class CellChannel final : public AnnouncedChannel {
 public:
  using AnnouncedChannel::AnnouncedChannel;
  /// The next message.
  void name(const shared::CellName& name) noexcept { name_ = name; }
  /// From now on no send waits for its receiver.
  void leave_copies() noexcept { leaves_copies_ = true; }
  /// [bytes] Of a send.
  void set_bytes(std::int64_t bytes) noexcept { bytes_ = bytes; }

  void post(const Parcel& parcel) override;
  std::optional<Arrival> poll() override;

 private:
  void send_by_mpi(std::int32_t tag);
  [[nodiscard]] std::optional<Arrival> arrived(const shared::Cell& cell);

  shared::CellName name_;
  std::int64_t bytes_ = 0;
  bool leaves_copies_ = false;
};

}  // namespace strake::exchange
