/// \file  Calls of the CUDA runtime as exceptions, the devices of this machine, and their links.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <source_location>
#include <string>

#include "copy/device_copier.hpp"

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

/// \{ Limits of links and memory, as far as NVML knows. Bytes per second in one direction; 0: not
/// known.
[[nodiscard]] double host_link(int device);            ///< PCIe generation x width
[[nodiscard]] double peer_link(int device, int peer);  ///< NVLinks x rate, or the slower PCIe
[[nodiscard]] double all_links(int device);            ///< to all of its peers together
[[nodiscard]] double memory_rate(int device);          ///< the device's memory, either direction
/// \}

/// \{ Strake's own device back end and its copies, as the library uses them. `device` must be
/// current and in use.
/// \throws Unsupported  libstrake-cuda.so is missing
[[nodiscard]] DeviceBackend& strake_backend(int device);
[[nodiscard]] DeviceCopier& strake_copier(int device);
/// \}

/// Plugin::machine(): the driver's version, the newest CUDA that it runs, and the GPUs in CUDA's
/// order.
[[nodiscard]] std::string description();

}  // namespace strake::measure::cuda
