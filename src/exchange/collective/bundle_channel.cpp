#include "exchange/collective/bundle_channel.hpp"

namespace strake::exchange {

void BundleChannel::post(const Parcel& parcel) {
  begin(parcel);
  inside_ = nullptr;
  if (!sends()) return;
  if (room_ == nullptr) {
    go_by_mpi(entry_.tag);
  } else {
    put_inside(room_);
  }
}

void BundleChannel::arrived(const BundleEntry& entry, const std::byte* inside) {
  entry_ = entry;
  if (entry.tag == BundleEntry::kInside) {
    inside_ = inside;
  } else {
    go_by_mpi(entry.tag);
  }
}

std::optional<Arrival> BundleChannel::poll() {
  if (goes_by_mpi()) return poll_mpi();
  if (sends()) return Arrival{};
  if (inside_ == nullptr) return std::nullopt;
  return take_inside(inside_, entry_.bytes);
}

}  // namespace strake::exchange
