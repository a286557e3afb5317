/// \file  The CUDA plug-in's copies: compiled for a device, one by one or in batches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "copy/cuda/plan.hpp"
#include "copy/device_copier.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/queue.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

class CudaCopier final : public DeviceCopier {
 public:
  explicit CudaCopier(int devices) noexcept : devices_(devices) {}

  std::unique_ptr<DevicePlan> compile(const Layout& to, Place to_place, const Layout& from,
                                      Place from_place, CopyVariant variant) override;
  Ticket enqueue_batch(Queue& queue, std::span<const Item> items) override;

 private:
  void require_device(int device) const;
  void enable_peer(int device, int peer);

  int devices_;
  std::mutex peers_mutex_;
  std::set<std::pair<int, int>> peers_;
};

void CudaCopier::require_device(int device) const {
  if (device < 0 || device >= devices_) {
    throw InvalidArgument(fmt::format("there is no device {}, only {}", device, devices_));
  }
}

/// The device that runs the copy.
int device_of(Place to_place, Place from_place) {
  if (to_place.kind == MemoryKind::Device) return to_place.device;
  if (from_place.kind == MemoryKind::Device) return from_place.device;
  if (to_place.kind == MemoryKind::Host && from_place.kind == MemoryKind::Host) {
    throw Unsupported("a device can't copy between two plain host memories");
  }
  int device = 0;
  for (const Place place : {to_place, from_place}) {
    if (place.kind == MemoryKind::Managed) device = std::max(device, place.device);
  }
  return device;
}

void CudaCopier::enable_peer(int device, int peer) {
  const std::scoped_lock lock(peers_mutex_);
  if (peers_.contains({device, peer})) return;
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, device, peer));
  if (possible == 0) {
    throw Unsupported(fmt::format("device {} can't reach the memory of device {}", device, peer));
  }
  const DeviceScope scope(device);
  const cudaError_t code = cudaDeviceEnablePeerAccess(peer, 0);
  if (code != cudaErrorPeerAccessAlreadyEnabled) check(code);
  (void)cudaGetLastError();
  peers_.emplace(device, peer);
}

std::unique_ptr<DevicePlan> CudaCopier::compile(const Layout& to, Place to_place,
                                                const Layout& from, Place from_place,
                                                CopyVariant variant) {
  const int device = device_of(to_place, from_place);
  require_device(device);
  if (from_place.kind == MemoryKind::Device && from_place.device != device) {
    require_device(from_place.device);
    enable_peer(device, from_place.device);
  }
  return std::make_unique<CudaPlan>(device, to, to_place, from, from_place, variant);
}

Ticket CudaCopier::enqueue_batch(Queue& queue, std::span<const Item> items) {
  auto& cuda_queue = static_cast<CudaQueue&>(queue);
  // Tiles are counted with 32 bits: an item past this runs alone.
  constexpr std::int64_t kMaxTiles = std::int64_t{1} << 30;
  std::array<BatchItem, kBatchItems> table;
  int count = 0;
  std::int64_t tiles = 0;
  Ticket ticket;
  const auto flush = [&] {
    if (count == 0) return;
    const DeviceScope scope(queue.device());
    const Signal signal = cuda_queue.next_signal(tiles);
    check(launch_batch(table.data(), count, static_cast<std::int32_t>(tiles), signal,
                       cuda_queue.kernels()));
    ticket = cuda_queue.finish(signal);
    count = 0;
    tiles = 0;
  };
  for (const Item& item : items) {
    const auto& plan = static_cast<const CudaPlan&>(*item.plan);
    if (plan.device() != queue.device()) {
      throw InvalidArgument(fmt::format("a plan of device {} in a batch for device {}",
                                        plan.device(), queue.device()));
    }
    if (plan.size_bytes() == 0) continue;
    const int log2 = plan.word_log2(item.to, item.from);
    const std::int64_t words = plan.size_bytes() >> log2;
    const std::int64_t own_tiles = (words + kBatchTileWords - 1) / kBatchTileWords;
    if (plan.staged() || (words << log2) != plan.size_bytes() || own_tiles >= kMaxTiles) {
      const Ticket single = plan.enqueue(queue, item.to, item.from, ByteRange::all());
      if (single.progress != nullptr) ticket = single;
      continue;
    }
    if (count == kBatchItems || tiles + own_tiles >= kMaxTiles) flush();
    table[static_cast<std::size_t>(count++)] = {
        plan.tables().device_to,         plan.tables().device_from, item.to, item.from, words, log2,
        static_cast<std::int32_t>(tiles)};
    tiles += own_tiles;
  }
  flush();
  return ticket;
}

}  // namespace
}  // namespace strake::cuda

extern "C" __attribute__((visibility("default"))) strake::DeviceCopier* strake_make_device_copier(
    int version) {
  int devices = 0;
  if (version != strake::kDeviceBackendVersion || cudaGetDeviceCount(&devices) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return new (std::nothrow) strake::cuda::CudaCopier(devices);  // lives as long as the process
}
