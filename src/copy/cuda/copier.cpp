/// \file  The CUDA plug-in's copies: compiled for a device, one by one or in batches.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "copy/cuda/batch.hpp"
#include "copy/cuda/plan.hpp"
#include "copy/cuda/put.hpp"
#include "copy/device_copier.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/peers.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

class CudaCopier final : public DeviceCopier {
 public:
  CudaCopier(int devices, const BlockSource& blocks) noexcept
      : devices_(devices), blocks_(blocks) {}

  std::unique_ptr<DevicePlan> compile(const Layout& to, Place to_place, const Layout& from,
                                      Place from_place, CopyVariant variant, int device) override;
  std::unique_ptr<DeviceBatch> compile_batch(int device, std::span<const Place> slots,
                                             std::span<const CopyBatch::Copy> copies) override;
  std::unique_ptr<PutRounds> compile_put(int device, const PutCopies& copies,
                                         const PutState& state) override;
  Ticket enqueue_together(Queue& queue, std::span<const BatchRun> runs) override;

 private:
  void require_device(int device) const;
  /// Lets kernels of `device` reach a place. \throws Unsupported
  void reach(int device, Place place);
  void load_kernels(int device);

  int devices_;
  BlockSource blocks_;
  std::mutex loaded_mutex_;
  std::set<int> loaded_;  ///< devices that have the kernels of enqueue_together()
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

void CudaCopier::reach(int device, Place place) {
  if (place.kind != MemoryKind::Device || place.device == device) return;
  require_device(place.device);
  if (enable_peer(device, place.device)) return;
  throw Unsupported(
      fmt::format("device {} can't reach the memory of device {}", device, place.device));
}

std::unique_ptr<DevicePlan> CudaCopier::compile(const Layout& to, Place to_place,
                                                const Layout& from, Place from_place,
                                                CopyVariant variant, int device) {
  if (device < 0) device = device_of(to_place, from_place);
  require_device(device);
  reach(device, to_place);
  reach(device, from_place);
  return std::make_unique<CudaPlan>(blocks_, device, to, to_place, from, from_place, variant);
}

std::unique_ptr<DeviceBatch> CudaCopier::compile_batch(int device, std::span<const Place> slots,
                                                       std::span<const CopyBatch::Copy> copies) {
  require_device(device);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const CopyBatch::Copy& copy = copies[i];
    if (copy.to.size_bytes() == 0) continue;
    for (const std::int32_t slot : {copy.to_slot, copy.from_slot}) {
      const Place place = slots[static_cast<std::size_t>(slot)];
      if (place.kind == MemoryKind::Host) {
        throw Unsupported(fmt::format(
            "copy {} of the batch: slot {} is pageable host memory, which device {} can't reach", i,
            slot, device));
      }
      reach(device, place);
    }
  }
  load_kernels(device);
  return std::make_unique<CudaBatch>(blocks_, device, slots, copies);
}

std::unique_ptr<PutRounds> CudaCopier::compile_put(int device, const PutCopies& copies,
                                                   const PutState& state) {
  require_device(device);
  return std::make_unique<CudaPut>(blocks_, device, copies, state);
}

/// Which kernel a launch takes depends on what it finds: none may be loaded by its first launch,
/// which might wait for all work of the device.
void CudaCopier::load_kernels(int device) {
  const std::scoped_lock lock(loaded_mutex_);
  if (loaded_.contains(device)) return;
  const LaunchTarget target = loading_target(device);
  const DeviceScope scope(device);
  check(load_together(target));
  loaded_.insert(device);
}

Ticket CudaCopier::enqueue_together(Queue& queue, std::span<const BatchRun> runs) {
  auto& cuda_queue = static_cast<CudaQueue&>(queue);
  const DeviceScope scope(queue.device());
  const LaunchTarget target = cuda_queue.target();
  for (; runs.size() > kMostRuns; runs = runs.subspan(kMostRuns))
    (void)launch_runs(target.untracked(), runs.first(kMostRuns));
  return cuda_queue.finish(launch_runs(target, runs));
}

}  // namespace
}  // namespace strake::cuda

extern "C" __attribute__((visibility("default"))) strake::DeviceCopier* strake_make_device_copier(
    int version, const strake::BlockSource& blocks) {
  int devices = 0;
  if (version != strake::kDeviceBackendVersion || cudaGetDeviceCount(&devices) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  // Lives as long as the process.
  return new (std::nothrow) strake::cuda::CudaCopier(devices, blocks);
}
