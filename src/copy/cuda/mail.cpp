#include "copy/cuda/mail.hpp"

#include <algorithm>
#include <array>

#include "device/cuda/driver.hpp"
#include "device/cuda/stream.hpp"

namespace strake::cuda {
namespace {

std::vector<Place> slots_of(const MailCopies& copies) {
  std::vector<Place> slots(copies.arrays.begin(), copies.arrays.end());
  // Boxes are written by others, or lie with them: none of this device's lines are fetched.
  slots.resize(slots.size() + copies.boxes.size(), {MemoryKind::Device, -1});
  return slots;
}

/// Room for at least one flag.
std::int64_t flags_bytes(std::span<const MailFlags> flags) {
  return static_cast<std::int64_t>(std::max(flags.size(), std::size_t{1}) * sizeof(MailFlags));
}

}  // namespace

static_assert(DeviceCopier::kMostMailSlots == kMailSlots);

CudaMail::CudaMail(const BlockSource& blocks, int device, const MailCopies& copies,
                   const MailState& state)
    : device_(device),
      state_(state),
      peers_(static_cast<int>(state.flags.size())),
      put_(blocks, device, slots_of(copies), copies.put),
      own_(blocks, device, slots_of(copies), copies.own),
      take_(blocks, device, slots_of(copies), copies.take),
      boxes_(copies.boxes.begin(), copies.boxes.end()),
      flags_(blocks, device, flags_bytes(state.flags)) {
  if (peers_ != 0) flags_.upload(std::as_bytes(state.flags));
  const Lane lane = loading_lane(device);
  const DeviceScope scope(device);
  const std::vector<std::byte*> slots(copies.arrays.size() + boxes_.size());
  MailLaunch loaded = launch_of(kPut, 0);
  loaded.even = loaded.odd = slots;
  check(launch_mail(loaded, lane));
}

MailLaunch CudaMail::launch_of(unsigned steps, std::uint64_t ticket) const noexcept {
  MailLaunch launch;
  launch.put = &put_.launch();
  launch.own = &own_.launch();
  launch.take = &take_.launch();
  launch.counts = state_.counts;
  launch.progress = state_.progress;
  launch.flags = reinterpret_cast<const MailFlags*>(flags_.address());
  launch.peers = peers_;
  launch.ticket = ticket;
  launch.puts = (steps & kPut) != 0;
  launch.waits = (steps & kWait) != 0 && peers_ != 0;
  launch.takes = (steps & kTake) != 0;
  return launch;
}

void CudaMail::enqueue(DeviceStream& stream, std::span<std::byte* const> arrays,
                       std::uint64_t ticket, unsigned steps) const {
  std::vector<const std::byte*> even(arrays.begin(), arrays.end());
  std::vector<const std::byte*> odd = even;
  for (const MailCopies::Box& box : boxes_) {
    even.push_back(box[0]);
    odd.push_back(box[1]);
  }
  const DeviceScope scope(device_);
  const Lane lane = static_cast<CudaStream&>(stream).lane();
  const auto start = [&](unsigned some, std::uint64_t told) {
    MailLaunch launch = launch_of(some, told);
    launch.even = even;
    launch.odd = odd;
    check(launch_mail(launch, lane));
  };
  MailLaunch whole = launch_of(steps, ticket);
  if (!whole.waits || mail_is_small(whole, lane)) return start(steps, ticket);
  if (whole.puts) start(kPut, ticket);
  start(kWait, 0);
  start(kTake, ticket);
}

void CudaMail::put(DeviceStream& stream, std::span<std::byte* const> arrays,
                   std::uint64_t ticket) const {
  enqueue(stream, arrays, ticket, kPut);
}

void CudaMail::take(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t ticket,
                    Await await) const {
  enqueue(stream, arrays, ticket, await == Await::Yes ? kWait | kTake : kTake);
}

void CudaMail::run(DeviceStream& stream, std::span<std::byte* const> arrays) const {
  enqueue(stream, arrays, 0, kPut | kWait | kTake);
}

}  // namespace strake::cuda
