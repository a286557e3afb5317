// The kernel that tells whether a device can run any of ours.
#include "device/cuda/probe.hpp"

namespace strake::cuda {
namespace {

__global__ void probe_kernel() {}

}  // namespace

cudaError_t probe_attributes(cudaFuncAttributes& attributes) {
  return cudaFuncGetAttributes(&attributes, probe_kernel);
}

}  // namespace strake::cuda
