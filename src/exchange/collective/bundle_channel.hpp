/// \file  A channel between two ranks whose messages a bundle tells of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exchange/collective/announced_channel.hpp"
#include "exchange/collective/bundle.hpp"

namespace strake::exchange {

/// One end of one message.
class BundleChannel final : public AnnouncedChannel {
 public:
  using AnnouncedChannel::AnnouncedChannel;
  /// \{ The next send: into that room of a bundle, or by MPI with that tag.
  void send_inside(std::byte* room) noexcept { room_ = room; }
  void send_apart(std::int32_t tag) noexcept {
    room_ = nullptr;
    entry_.tag = tag;
  }
  /// \}
  /// A receive's entry has come; poll() is called while `inside` is there. \throws MpiError
  void arrived(const BundleEntry& entry, const std::byte* inside);

  void post(const Parcel& parcel) override;
  std::optional<Arrival> poll() override;

 private:
  std::byte* room_ = nullptr;
  const std::byte* inside_ = nullptr;
  BundleEntry entry_;
};

}  // namespace strake::exchange
