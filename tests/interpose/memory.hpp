/// \file  Test buffers in host memory, or in device memory when the program was started with
/// --device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#ifdef STRAKE_TEST_CUDA
#include <cuda_runtime_api.h>
#endif

namespace test_memory {

inline bool& on_device() {
  static bool device = false;
  return device;
}

#ifdef STRAKE_TEST_CUDA
inline void cuda_check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "FAILED CUDA: %s\n", cudaGetErrorString(code));
  std::abort();
}
#endif

/// Buffers made from now on lie in device memory; ranks share the devices round robin.
/// False where the program was built without CUDA or no device is present.
inline bool use_device([[maybe_unused]] int rank) {
#ifdef STRAKE_TEST_CUDA
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
  cuda_check(cudaSetDevice(rank % devices));
  on_device() = true;
  return true;
#else
  return false;
#endif
}

/// `count` elements of T, all equal to `value` at first. Its address stays the same for its life.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count, T value = T{}) : host_(count, value) {
#ifdef STRAKE_TEST_CUDA
    if (on_device()) {
      cuda_check(cudaMalloc(&device_, count * sizeof(T) + 1));  // + 1: an empty one has an address
      set(host_);
    }
#endif
  }
  ~Buffer() {
#ifdef STRAKE_TEST_CUDA
    if (device_ != nullptr) cudaFree(device_);
#endif
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept : host_(std::move(other.host_)), device_(other.device_) {
    other.device_ = nullptr;
  }

  /// What MPI is given.
  T* data() { return device_ != nullptr ? static_cast<T*>(device_) : host_.data(); }
  std::size_t count() const { return host_.size(); }

  /// The present contents.
  const std::vector<T>& get() {
#ifdef STRAKE_TEST_CUDA
    if (device_ != nullptr)
      cuda_check(cudaMemcpy(host_.data(), device_, host_.size() * sizeof(T), cudaMemcpyDefault));
#endif
    return host_;
  }
  void set(const std::vector<T>& values) {
    if (&values != &host_) std::copy(values.begin(), values.end(), host_.begin());
#ifdef STRAKE_TEST_CUDA
    if (device_ != nullptr)
      cuda_check(cudaMemcpy(device_, host_.data(), host_.size() * sizeof(T), cudaMemcpyDefault));
#endif
  }
  void fill(T value) { set(std::vector<T>(host_.size(), value)); }

 private:
  std::vector<T> host_;
  void* device_ = nullptr;
};

}  // namespace test_memory
