/// \file  Errors of CUDA as exceptions, the driver's entry points, and the state of a thread that
/// Strake's calls must not change.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "strake/error.hpp"

namespace strake::cuda {

/// \{ Throws CudaError (OutOfMemory where memory ran out) with the caller's place, and clears the
/// thread's last error.
void check(cudaError_t code, std::source_location where = std::source_location::current());
void check(CUresult code, std::source_location where = std::source_location::current());
/// \}

/// Whether the work that a query asked about is complete. \throws  as check()
[[nodiscard]] bool is_complete(cudaError_t query,
                               std::source_location where = std::source_location::current());

/// A number of bytes, or of rows, as CUDA's functions take it.
[[nodiscard]] constexpr std::size_t size_of(std::int64_t bytes) noexcept {
  return static_cast<std::size_t>(bytes);
}

/// Functions of the driver that the runtime does not offer, found in the library that the process
/// has loaded.
struct Driver {
  CUresult (*ctx_get_current)(CUcontext*);
  CUresult (*ctx_set_current)(CUcontext);
  CUresult (*ctx_get_device)(CUdevice*);
  CUresult (*primary_ctx_retain)(CUcontext*, CUdevice);
  CUresult (*pointer_get_attributes)(unsigned, CUpointer_attribute*, void**, CUdeviceptr);
  /// Null where the driver is older (before 12.0).
  CUresult (*ctx_get_id)(CUcontext, unsigned long long*);
  CUresult (*stream_get_ctx)(CUstream, CUcontext*);
  CUresult (*event_record)(CUevent, CUstream);
  CUresult (*event_query)(CUevent);
  CUresult (*stream_get_capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                                      const CUgraphNode**, std::size_t*);
  CUresult (*stream_write_value64)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  CUresult (*stream_wait_value64)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  CUresult (*thread_exchange_capture_mode)(CUstreamCaptureMode*);
  CUresult (*mem_address_reserve)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                                  unsigned long long);
  CUresult (*mem_address_free)(CUdeviceptr, std::size_t);
  CUresult (*mem_map)(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                      unsigned long long);
  CUresult (*mem_unmap)(CUdeviceptr, std::size_t);
  CUresult (*mem_set_access)(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t);
  CUresult (*mem_retain_allocation_handle)(CUmemGenericAllocationHandle*, void*);
  CUresult (*mem_release)(CUmemGenericAllocationHandle);
  CUresult (*mem_export_to_shareable_handle)(void*, CUmemGenericAllocationHandle,
                                             CUmemAllocationHandleType, unsigned long long);
  CUresult (*mem_import_from_shareable_handle)(CUmemGenericAllocationHandle*, void*,
                                               CUmemAllocationHandleType);
  CUresult (*get_error_string)(CUresult, const char**);
};
/// Null where one of them is missing: no driver, or one that is too old.
[[nodiscard]] const Driver* driver() noexcept;

/// The primary context of a device, retained at first use. Later calls ~1 ns. \throws CudaError
[[nodiscard]] CUcontext primary_context(int device);

/// The id of a device's primary context, which a reset of the device changes. 0: not known.
/// \throws CudaError
[[nodiscard]] unsigned long long context_id(int device);

/// How many multiprocessors a device has. ~100 ns. \throws CudaError
[[nodiscard]] int multiprocessors_of(int device);

/// While it lives, this thread's current device is `device`, and calls that a capture in progress
/// elsewhere would forbid are allowed. Both are put back as they were (a thread without a context
/// has none afterwards). ~40 ns.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  CUcontext previous_ = nullptr;
  bool switched_ = false;
  CUstreamCaptureMode capture_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Frees what belongs to a device by `release`. Nothing where the runtime is gone, as it may be at
/// exit: what it had is gone with it.
template <typename Release>
void release_on(int device, Release&& release) noexcept {
  try {
    const DeviceScope scope(device);
    release();
  } catch (const Error&) {
  }
  (void)cudaGetLastError();
}

}  // namespace strake::cuda
