// Batches of copies: one after the other on the CPU, one launch on a device.
#include <fmt/format.h>

#include <vector>

#include "copy/plan_impl.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// Null for a copy of nothing.
const CopyPlan::Impl* inside(const CopyItem& item) {
  return item.plan == nullptr ? nullptr : item.plan->impl();
}

/// The one device of all plans, or -1 for the CPU. \throws InvalidArgument
int common_device(std::span<const CopyItem> items) {
  const CopyPlan::Impl* first = nullptr;
  for (const CopyItem& item : items) {
    const CopyPlan::Impl* const plan = inside(item);
    if (plan == nullptr) continue;
    if (first == nullptr) first = plan;
    if (plan->ordinal != first->ordinal) {
      throw InvalidArgument(
          fmt::format("the plans of a batch are of devices {} and {} (-1: the CPU)", first->ordinal,
                      plan->ordinal));
    }
  }
  return first == nullptr ? -1 : first->ordinal;
}

}  // namespace

void run_batch(std::span<const CopyItem> items) {
  const int device = common_device(items);
  if (device < 0) {
    for (const CopyItem& item : items) {
      if (item.plan != nullptr) item.plan->run(item.to, item.from);
    }
    return;
  }
  std::vector<DeviceCopier::Item> launch;
  launch.reserve(items.size());
  for (const CopyItem& item : items) {
    const CopyPlan::Impl* const plan = inside(item);
    if (plan != nullptr) launch.push_back({plan->device.get(), item.to, item.from});
  }
  Queue& queue = thread_queue(device);
  queue.wait(device_copier()->enqueue_batch(queue, launch));
}

}  // namespace strake
