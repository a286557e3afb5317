#include "cuda_driver.hpp"

#include <dlfcn.h>

#include <map>
#include <string>

#include "strake/error.hpp"

namespace strake::probe {
namespace {

template <typename Function>
bool resolve(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

CudaDriver* CudaDriver::find() noexcept {
  static CudaDriver driver;
  return driver.devices_ > 0 ? &driver : nullptr;
}

CudaDriver::CudaDriver() noexcept {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  const bool complete = resolve(library, "cuInit", init) &&
                        resolve(library, "cuDeviceGetCount", count) &&
                        resolve(library, "cuGetErrorString", get_error_string_) &&
                        resolve(library, "cuDeviceGet", device_get_) &&
                        resolve(library, "cuDevicePrimaryCtxRetain", retain_) &&
                        resolve(library, "cuCtxSetCurrent", set_current_) &&
                        resolve(library, "cuMemAlloc_v2", allocate_) &&
                        resolve(library, "cuMemcpyHtoD_v2", to_device_) &&
                        resolve(library, "cuMemcpyDtoH_v2", to_host_);
  if (!complete || init(0) != 0 || count(&devices_) != 0) devices_ = 0;
}

void CudaDriver::check(int code, const char* function) const {
  if (code == 0) return;
  const char* text = nullptr;
  get_error_string_(code, &text);
  throw CudaError(std::string(function) + " failed with code " + std::to_string(code) + ": " +
                      (text != nullptr ? text : "unknown"),
                  code);
}

void CudaDriver::use(int ordinal) {
  device_ = ordinal % devices_;
  static std::map<int, void*> contexts;  // kept until the process ends, as the runtime does
  void*& context = contexts[device_];
  if (context == nullptr) {
    int device = 0;
    check(device_get_(&device, device_), "cuDeviceGet");
    check(retain_(&context, device), "cuDevicePrimaryCtxRetain");
  }
  check(set_current_(context), "cuCtxSetCurrent");
}

std::uint64_t CudaDriver::allocate(std::size_t bytes) {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    const bool fits = !block.used && block.device == device_ && block.bytes >= bytes;
    if (fits && (best == nullptr || block.bytes < best->bytes)) best = &block;
  }
  if (best == nullptr) {
    std::uint64_t memory = 0;
    check(allocate_(&memory, bytes), "cuMemAlloc");
    blocks_.push_back({memory, bytes, device_, true});
    return memory;
  }
  best->used = true;
  return best->memory;
}

void CudaDriver::release(std::uint64_t memory) noexcept {
  for (Block& block : blocks_) block.used = block.used && block.memory != memory;
}

void CudaDriver::to_device(std::uint64_t to, const void* from, std::size_t bytes) const {
  check(to_device_(to, from, bytes), "cuMemcpyHtoD");
}

void CudaDriver::to_host(void* to, std::uint64_t from, std::size_t bytes) const {
  check(to_host_(to, from, bytes), "cuMemcpyDtoH");
}

}  // namespace strake::probe
