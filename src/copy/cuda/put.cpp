#include "copy/cuda/put.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "device/cuda/driver.hpp"
#include "device/cuda/stream.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

std::vector<Place> slots_of(const PutCopies& copies) {
  std::vector<Place> slots(copies.arrays.begin(), copies.arrays.end());
  // Buffers are written by others, or lie with them: none of this device's lines are fetched.
  slots.resize(slots.size() + copies.buffers.size(), {MemoryKind::Device, -1});
  return slots;
}

/// Room for at least one flag.
std::int64_t flags_bytes(std::span<const PutFlags> flags) {
  return static_cast<std::int64_t>(std::max(flags.size(), std::size_t{1}) * sizeof(PutFlags));
}

}  // namespace

static_assert(DeviceCopier::kMostPutSlots == kPutSlots);
static_assert(DeviceCopier::kFewPutSlots == kFewPutSlots);

CudaPut::CudaPut(const BlockSource& blocks, int device, const PutCopies& copies,
                 const PutState& state)
    : device_(device),
      state_(state),
      peers_(static_cast<int>(state.flags.size())),
      buffers_(copies.buffers.begin(), copies.buffers.end()),
      flags_(blocks, device, flags_bytes(state.flags)) {
  if (slots_of(copies).size() > static_cast<std::size_t>(kPutSlots)) {
    throw Unsupported(fmt::format("an exchange of {} arrays on a device: {} are possible",
                                  copies.arrays.size(), kPutSlots));
  }
  const auto rest = [&](std::span<const CopyBatch::Copy> by_kernels, PutEngine& engine,
                        std::span<const CopyBatch::Copy> by_engines) {
    PutEngine::Copies left(by_kernels.begin(), by_kernels.end());
    engine.add(by_engines, left);
    return std::make_unique<CudaBatch>(blocks, device, slots_of(copies), left);
  };
  packs_ = std::ranges::any_of(copies.own, [&](const CopyBatch::Copy& copy) {
    return copy.to_slot >= static_cast<std::int32_t>(copies.arrays.size());
  });
  put_ = rest(copies.put, engine_out_, copies.engine_put);
  own_ = rest(copies.own, engine_out_, copies.engine_own);
  take_ = rest(copies.take, engine_in_, copies.engine_take);
  if (peers_ != 0) flags_.upload(std::as_bytes(state.flags));
  for (const PutCopies::Combined& combined : copies.combined) {
    if (combined.copy.to.size_bytes() == 0) continue;
    const int log2 = size_of(combined.how.type) == 4 ? 2 : 3;
    auto batch = std::make_unique<CudaBatch>(blocks, device, slots_of(copies),
                                             std::span(&combined.copy, 1), log2);
    if (batch->narrowest_log2() != log2) {
      throw InvalidArgument(
          fmt::format("values of {} bytes are combined, but their layout has only {}-byte words",
                      1 << log2, 1 << batch->narrowest_log2()));
    }
    combined_.push_back({std::move(batch), static_cast<std::size_t>(combined.copy.to_slot),
                         static_cast<std::size_t>(combined.copy.from_slot), combined.how});
  }
  const LaunchTarget target = loading_target(device);
  const DeviceScope scope(device);
  const std::vector<std::byte*> none(copies.arrays.size());
  PutLaunch loaded = launch_of(kPut, 0);
  loaded.arrays = {none.data(), none.size()};
  loaded.buffers = {buffers_.data(), buffers_.size()};
  check(launch_put(loaded, target));
  for (const Combined& combined : combined_)
    check(launch_combine({.batch = &combined.batch->launch(), .how = combined.how}, target));
}

PutLaunch CudaPut::launch_of(unsigned steps, std::uint64_t ticket) const noexcept {
  PutLaunch launch;
  launch.put = &put_->launch();
  launch.own = &own_->launch();
  launch.take = &take_->launch();
  launch.counts = state_.counts;
  launch.progress = state_.progress;
  launch.flags = reinterpret_cast<const PutFlags*>(flags_.address());
  launch.peers = peers_;
  launch.ticket = ticket;
  launch.packs = packs_;
  launch.puts = (steps & kPut) != 0;
  launch.waits = (steps & kWait) != 0 && peers_ != 0;
  launch.takes = (steps & kTake) != 0;
  return launch;
}

void CudaPut::enqueue(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
                      std::uint64_t ticket, unsigned steps) const {
  const DeviceScope scope(device_);
  const LaunchTarget target = static_cast<CudaStream&>(stream).target();
  const auto start = [&](unsigned some, std::uint64_t told) {
    PutLaunch launch = launch_of(some, told);
    launch.arrays = {arrays.data(), arrays.size()};
    launch.buffers = {buffers_.data(), buffers_.size()};
    check(launch_put(launch, target));
  };
  const auto there = [&](std::size_t slot, std::uint64_t parity) {
    return slot < arrays.size() ? arrays[slot] : buffers_[slot - arrays.size()][parity];
  };
  const auto copy_by = [&](const PutEngine& engine) {
    std::vector<const std::byte*> bases;
    for (std::size_t slot = 0; slot < arrays.size() + buffers_.size(); ++slot)
      bases.push_back(there(slot, round % 2));
    engine.enqueue(target.stream, bases);
  };
  const PutLaunch whole = launch_of(steps, ticket);
  if (whole.puts && !engine_out_.is_empty()) copy_by(engine_out_);
  const bool engines_take = whole.takes && !engine_in_.is_empty();
  const bool in_one = !whole.waits || ((steps & kApart) == 0 && put_is_small(whole, target));
  if (combined_.empty() && !engines_take && in_one) return start(steps, ticket);
  // Once engines have put, and will take, one block does all that there is between.
  const bool only_flags = engines_take && whole.puts && whole.waits && whole.put->tile_count == 0 &&
                          whole.own->tile_count == 0;
  if (only_flags) {
    start(kPut | kWait, ticket);
  } else {
    if (whole.puts) start(kPut, ticket);
    if (whole.waits) start(kWait, 0);
  }
  if (!whole.takes) return;
  if (engines_take) copy_by(engine_in_);
  for (const Combined& combined : combined_) {
    check(launch_combine({&combined.batch->launch(),
                          combined.how,
                          there(combined.to, 0),
                          {there(combined.from, 0), there(combined.from, 1)},
                          state_.counts},
                         target));
  }
  // Without a ticket there is nobody to tell.
  if (ticket != 0 || whole.take->tile_count != 0) start(kTake, ticket);
}

void CudaPut::put(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
                  std::uint64_t ticket) const {
  enqueue(stream, arrays, round, ticket, kPut);
}

void CudaPut::take(DeviceStream& stream, std::span<std::byte* const> arrays, std::uint64_t round,
                   std::uint64_t ticket, Await await) const {
  const unsigned waits = await == Await::No ? 0 : await == Await::Soon ? kWait : kWait | kApart;
  enqueue(stream, arrays, round, ticket, waits | kTake);
}

void CudaPut::run(DeviceStream& stream, std::span<std::byte* const> arrays,
                  std::uint64_t round) const {
  enqueue(stream, arrays, round, 0, kPut | kWait | kTake);
}

}  // namespace strake::cuda
