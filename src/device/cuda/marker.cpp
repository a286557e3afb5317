#include "device/cuda/marker.hpp"

#include <algorithm>

#include "device/cuda/driver.hpp"

namespace strake::cuda {

CudaMarker::CudaMarker(int device) : device_(device) {
  const DeviceScope scope(device);
  try {
    check(cudaStreamCreate(&stream_));
    for (cudaEvent_t& event : events_)
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  } catch (...) {
    destroy();
    throw;
  }
}

CudaMarker::~CudaMarker() { destroy(); }

void CudaMarker::destroy() noexcept {
  release_on(device_, [this] {
    for (const cudaEvent_t event : events_) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  });
}

std::uint64_t CudaMarker::mark() {
  const DeviceScope scope(device_);
  check(driver()->event_record(events_[(last_ + 1) % kEvents], stream_));
  return ++last_;
}

bool CudaMarker::ask(std::uint64_t mark) const {
  const CUresult code = driver()->event_query(events_[mark % kEvents]);
  if (code == CUDA_ERROR_NOT_READY) return false;
  check(code);
  return true;
}

bool CudaMarker::reached(std::uint64_t mark) {
  if (mark <= reached_) return true;
  const DeviceScope scope(device_);
  // The last one, once there, answers for all.
  if (ask(last_)) {
    reached_ = last_;
  } else if (mark != last_ && ask(mark)) {
    reached_ = mark;
  }
  return mark <= reached_;
}

}  // namespace strake::cuda
