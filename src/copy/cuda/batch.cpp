#include "copy/cuda/batch.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "copy/cuda/batch_tables.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/queue.hpp"
#include "device/cuda/stream.hpp"

namespace strake::cuda {
namespace {

// Twice as many as it runs warps of this kernel at once.
constexpr std::int64_t kTilesPerMultiprocessor = 64;

static_assert(CopyBatch::kMaxSlots == kBatchSlots);
static_assert(DeviceCopier::kMostRuns == kMostTogether);

}  // namespace

CudaBatch::CudaBatch(const BlockSource& blocks, int device, std::span<const Place> slots,
                     std::span<const CopyBatch::Copy> copies, int most_log2)
    : device_(device) {
  const LaunchTarget target = loading_target(device);
  const BatchTables tables(device, slots, copies, target.multiprocessors * kTilesPerMultiprocessor,
                           most_log2);
  narrowest_log2_ = tables.narrowest_log2();
  has_trees_ = tables.has_trees();
  const int narrow = 1 << tables.narrowest_log2();
  const int wide = 1 << tables.widest_log2();
  description_ = fmt::format(
      "cuda batch of {} copies, {} words", copies.size(),
      narrow == wide ? fmt::format("{}B", wide) : fmt::format("{}B to {}B", narrow, wide));
  if (tables.tiles() == 0) return;
  std::vector<std::byte> image(static_cast<std::size_t>(tables.image_bytes()));
  image_ = std::make_unique<DeviceImage>(blocks, device, tables.image_bytes());
  const BatchTables::View view = tables.pack_image(image.data(), image_->address());
  image_->upload(image);
  launch_.copies = view.copies;
  launch_.tiles = view.tiles;
  launch_.tile_count = static_cast<std::uint32_t>(tables.tiles());
  launch_.tile_log2 = tables.tile_log2();
  launch_.box_dims = tables.box_dims();
  launch_.any = tables.has_any();
  launch_.slots = static_cast<int>(slots.size());
  const DeviceScope scope(device);
  (void)launch(target, std::vector<std::byte*>(slots.size()));
}

std::string CudaBatch::description() const { return description_; }

Signal CudaBatch::launch(const LaunchTarget& target, std::span<std::byte* const> bases) const {
  BatchLaunch launch = launch_;
  launch.bases = bases.data();
  const Signal signal =
      target.queue == nullptr ? Signal{} : target.queue->next_signal(batch_blocks(launch, target));
  check(launch_batch(launch, signal, target));
  return signal;
}

void CudaBatch::enqueue(DeviceStream& stream, std::span<std::byte* const> bases) const {
  if (image_ == nullptr) return;
  const DeviceScope scope(device_);
  (void)launch(static_cast<CudaStream&>(stream).target(), bases);
}

Ticket CudaBatch::enqueue(Queue& queue, std::span<std::byte* const> bases) const {
  if (image_ == nullptr) return {};
  auto& cuda_queue = static_cast<CudaQueue&>(queue);
  const DeviceScope scope(device_);
  return cuda_queue.finish(launch(cuda_queue.target(), bases));
}

Signal launch_runs(const LaunchTarget& target, std::span<const BatchRun> runs) {
  std::array<BatchLaunch, kMostTogether> launches;
  std::array<std::array<std::byte*, 2>, kMostTogether> bases;
  std::size_t count = 0;
  for (const BatchRun& run : runs) {
    const BatchLaunch& launch = static_cast<const CudaBatch*>(run.batch)->launch();
    if (launch.tile_count == 0) continue;
    bases[count] = {run.to, const_cast<std::byte*>(run.from)};
    launches[count] = launch;
    launches[count].bases = bases[count].data();
    ++count;
  }
  if (count == 0) return {};
  const Items<const BatchLaunch> all{launches.data(), count};
  const Signal signal =
      target.queue == nullptr ? Signal{} : target.queue->next_signal(together_blocks(all, target));
  check(launch_together(all, signal, target));
  return signal;
}

}  // namespace strake::cuda
