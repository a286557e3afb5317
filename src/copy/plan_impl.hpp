/// \file  The inside of a CopyPlan: a CPU operation, or a plan of the device back end.
#pragma once

#include <memory>

#include "copy/cpu/op.hpp"
#include "copy/device_copier.hpp"
#include "strake/copy.hpp"

namespace strake {

class STRAKE_LOCAL CopyPlan::Impl {
 public:
  explicit Impl(cpu::OpPtr cpu_op) noexcept
      : size_bytes(cpu_op->size_bytes()), op(std::move(cpu_op)) {}
  explicit Impl(std::unique_ptr<DevicePlan> device_plan) noexcept
      : size_bytes(device_plan->size_bytes()),
        device(std::move(device_plan)),
        ordinal(device->device()) {}

  std::int64_t size_bytes;
  cpu::OpPtr op;                       ///< on the CPU; otherwise
  std::unique_ptr<DevicePlan> device;  ///< on a device
  int ordinal = -1;                    ///< the device, for its queue
};

/// The inside of a plan, for the library itself.
struct CopyPlanAccess {
  using Impl = CopyPlan::Impl;
  /// Null for a plan of no bytes.
  [[nodiscard]] static const Impl* of(const CopyPlan& plan) noexcept { return plan.impl_.get(); }
  /// The operation of a plan for the CPU; null for others.
  [[nodiscard]] static const cpu::Op* cpu_op(const CopyPlan& plan) noexcept {
    return plan.impl_ == nullptr ? nullptr : plan.impl_->op.get();
  }
};

/// Enqueues a plan on one of the library's own queues, of the plan's device; one for the CPU runs
/// at once.
/// \throws  as CopyPlan::enqueue()
[[nodiscard]] inline Ticket enqueue(const CopyPlan& plan, Queue& queue, std::byte* to,
                                    const std::byte* from, ByteRange part = ByteRange::all()) {
  const auto* const impl = CopyPlanAccess::of(plan);
  if (impl != nullptr && impl->device) return impl->device->enqueue(queue, to, from, part);
  plan.run(to, from, part);
  return {};
}

/// \throws InvalidArgument  `stream` is not of `device` (-1: the CPU)
void require_same_device(const Stream& stream, int device, const char* what);

/// The calling thread's own queue on a device, made at the first call.
/// \throws Unsupported, CudaError
[[nodiscard]] Queue& thread_queue(int device);

}  // namespace strake
