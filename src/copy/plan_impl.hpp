/// \file  The inside of a CopyPlan: a CPU operation, or a plan of the device back end.
#pragma once

#include <memory>

#include "copy/cpu/op.hpp"
#include "copy/device_copier.hpp"
#include "strake/copy.hpp"

namespace strake {

class CopyPlan::Impl {
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

/// The calling thread's own queue on a device, made at the first call. \throws Unsupported,
/// CudaError
[[nodiscard]] Queue& thread_queue(int device);

}  // namespace strake
