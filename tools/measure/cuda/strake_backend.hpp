/// \file  Strake's own device back end, as the library uses it.
#pragma once

#include "copy/device_copier.hpp"
#include "measure/cuda/machine.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {

/// `device` must be current and in use. \throws Unsupported  libstrake-cuda.so is missing
inline DeviceBackend& strake_backend(int device) {
  check(cudaSetDevice(device));
  check(cudaFree(nullptr));  // the back end is loaded only into processes that use a device
  DeviceBackend* const found = device_backend();
  if (found == nullptr) throw Unsupported("Strake's CUDA back end, libstrake-cuda.so, is missing");
  return *found;
}

/// The same for its copies.
inline DeviceCopier& strake_copier(int device) {
  (void)strake_backend(device);
  DeviceCopier* const found = device_copier();
  if (found == nullptr) throw Unsupported("Strake's CUDA back end has no copies");
  return *found;
}

}  // namespace strake::measure::cuda
