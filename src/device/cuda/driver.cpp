#include "device/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "device/driver_maps.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

[[noreturn]] void raise(bool out_of_memory, int code, const char* text,
                        const std::source_location& where) {
  const std::string what = fmt::format("CUDA: {} (code {}) at {}:{} in {}", text, code,
                                       where.file_name(), where.line(), where.function_name());
  if (out_of_memory) throw OutOfMemory(what);
  throw CudaError(what, code);
}

template <typename Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

bool load(Driver& d) {
  void* library = dlopen(kDriverLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  (void)find(library, "cuCtxGetId", d.ctx_get_id);
  // The names carry the versions of the signatures that cuda.h declares.
  return find(library, "cuCtxGetCurrent", d.ctx_get_current) &&
         find(library, "cuCtxSetCurrent", d.ctx_set_current) &&
         find(library, "cuCtxGetDevice", d.ctx_get_device) &&
         find(library, "cuDevicePrimaryCtxRetain", d.primary_ctx_retain) &&
         find(library, "cuPointerGetAttributes", d.pointer_get_attributes) &&
         find(library, "cuStreamGetCtx", d.stream_get_ctx) &&
         find(library, "cuEventRecord", d.event_record) &&
         find(library, "cuEventQuery", d.event_query) &&
         find(library, "cuStreamGetCaptureInfo_v2", d.stream_get_capture_info) &&
         find(library, "cuStreamWriteValue64_v2", d.stream_write_value64) &&
         find(library, "cuStreamWaitValue64_v2", d.stream_wait_value64) &&
         find(library, "cuThreadExchangeStreamCaptureMode", d.thread_exchange_capture_mode) &&
         find(library, "cuMemAddressReserve", d.mem_address_reserve) &&
         find(library, "cuMemAddressFree", d.mem_address_free) &&
         find(library, "cuMemMap", d.mem_map) && find(library, "cuMemUnmap", d.mem_unmap) &&
         find(library, "cuMemSetAccess", d.mem_set_access) &&
         find(library, "cuMemRetainAllocationHandle", d.mem_retain_allocation_handle) &&
         find(library, "cuMemRelease", d.mem_release) &&
         find(library, "cuMemExportToShareableHandle", d.mem_export_to_shareable_handle) &&
         find(library, "cuMemImportFromShareableHandle", d.mem_import_from_shareable_handle) &&
         find(library, "cuGetErrorString", d.get_error_string);
}

}  // namespace

void check(cudaError_t code, std::source_location where) {
  if (code == cudaSuccess) [[likely]]
    return;
  (void)cudaGetLastError();
  raise(code == cudaErrorMemoryAllocation, static_cast<int>(code), cudaGetErrorString(code), where);
}

void check(CUresult code, std::source_location where) {
  if (code == CUDA_SUCCESS) [[likely]]
    return;
  const char* text = "unknown error";
  if (const Driver* d = driver()) (void)d->get_error_string(code, &text);
  raise(code == CUDA_ERROR_OUT_OF_MEMORY, static_cast<int>(code), text, where);
}

bool is_complete(cudaError_t query, std::source_location where) {
  if (query == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  check(query, where);
  return true;
}

const Driver* driver() noexcept {
  static const struct Loaded {
    Driver table{};
    bool complete = load(table);
  } loaded{};
  return loaded.complete ? &loaded.table : nullptr;
}

CUcontext primary_context(int device) {
  // More devices than any machine has; a larger ordinal is an error of the caller.
  static std::array<std::atomic<CUcontext>, 256> contexts{};
  if (device < 0 || device >= static_cast<int>(contexts.size())) {
    throw InvalidArgument(fmt::format("device ordinal {} is out of range", device));
  }
  std::atomic<CUcontext>& slot = contexts[static_cast<std::size_t>(device)];
  CUcontext context = slot.load(std::memory_order_acquire);
  if (context == nullptr) {
    // Two threads may both retain: harmless, for it is never released.
    check(driver()->primary_ctx_retain(&context, device));
    slot.store(context, std::memory_order_release);
  }
  return context;
}

unsigned long long context_id(int device) {
  unsigned long long id = 0;
  const auto get = driver()->ctx_get_id;
  // The driver has no id for a context that was destroyed.
  if (get == nullptr || get(primary_context(device), &id) != CUDA_SUCCESS) return 0;
  return id;
}

int multiprocessors_of(int device) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

DeviceScope::DeviceScope(int device) {
  const CUcontext wanted = primary_context(device);
  const Driver* d = driver();
  check(d->ctx_get_current(&previous_));
  if (previous_ != wanted) {
    check(d->ctx_set_current(wanted));
    switched_ = true;
  }
  (void)d->thread_exchange_capture_mode(&capture_mode_);
}

DeviceScope::~DeviceScope() {
  const Driver* d = driver();
  (void)d->thread_exchange_capture_mode(&capture_mode_);
  if (switched_) (void)d->ctx_set_current(previous_);
}

}  // namespace strake::cuda
