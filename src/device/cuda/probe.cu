// A kernel by which the plug-in finds out whether a device can run its kernels.
#include "device/cuda/probe.hpp"

namespace strake::cuda {
namespace {

__global__ void probe_kernel() {}

}  // namespace

cudaError_t probe_attributes(cudaFuncAttributes& attributes) {
  return cudaFuncGetAttributes(&attributes, probe_kernel);
}

}  // namespace strake::cuda
