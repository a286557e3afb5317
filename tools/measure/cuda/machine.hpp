/// \file  Calls of the CUDA runtime as exceptions, and the devices of this machine.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <source_location>
#include <string>

namespace strake::measure::cuda {

/// Throws CudaError with the caller's place, and clears the thread's last error.
void check(cudaError_t code, std::source_location where = std::source_location::current());

[[nodiscard]] int device_count() noexcept;
[[nodiscard]] int attribute(cudaDeviceAttr attribute, int device);
/// "0000:18:00.0", as /sys spells it; CUDA has no other functions of a GPU than 0.
[[nodiscard]] std::string pci_name(int device);
/// Whether kernels of `device` can reach the memory of `peer`.
[[nodiscard]] bool can_reach(int device, int peer);
/// Makes `device` current and its memory able to reach, or not, that of `peer`. Strake's own back
/// end asks for access by itself where it needs it.
void set_peer_access(int device, int peer, bool wanted);
/// \throws Error  fewer bytes are free on `device` than twice `bytes`: the rest is others'
void need_free(int device, std::int64_t bytes);

/// Plugin::machine(): the driver's version, the newest CUDA that it runs, and the GPUs in CUDA's
/// order.
[[nodiscard]] std::string description();

}  // namespace strake::measure::cuda
