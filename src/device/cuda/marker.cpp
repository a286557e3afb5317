#include "device/cuda/marker.hpp"

#include "device/cuda/driver.hpp"

namespace strake::cuda {

namespace {

// Marks not known to be reached; before there are more, mark() asks for the oldest.
constexpr std::size_t kMany = 64;

}  // namespace

CudaMarker::CudaMarker(int device) : device_(device) {
  const DeviceScope scope(device);
  check(cudaStreamCreate(&stream_));
}

CudaMarker::~CudaMarker() { destroy(); }

void CudaMarker::destroy() noexcept {
  release_on(device_, [this] {
    for (const cudaEvent_t event : waiting_) (void)cudaEventDestroy(event);
    for (const cudaEvent_t event : free_) (void)cudaEventDestroy(event);
    (void)cudaStreamDestroy(stream_);
  });
}

std::uint64_t CudaMarker::mark() {
  const DeviceScope scope(device_);
  if (free_.empty() && waiting_.size() >= kMany && ask(reached_ + 1)) reach(reached_ + 1);
  if (free_.empty()) {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    free_.push_back(made);
  }
  check(driver()->event_record(free_.back(), stream_));
  waiting_.push_back(free_.back());
  free_.pop_back();
  return last();
}

bool CudaMarker::ask(std::uint64_t mark) const {
  const CUresult code = driver()->event_query(waiting_[mark - reached_ - 1]);
  if (code == CUDA_ERROR_NOT_READY) return false;
  check(code);
  return true;
}

void CudaMarker::reach(std::uint64_t mark) {
  for (; reached_ < mark; ++reached_) {
    free_.push_back(waiting_.front());
    waiting_.pop_front();
  }
}

bool CudaMarker::reached(std::uint64_t mark) {
  if (mark <= reached_) return true;
  const DeviceScope scope(device_);
  // The last one, once there, answers for all.
  if (ask(last())) {
    reach(last());
  } else if (mark != last() && ask(mark)) {
    reach(mark);
  }
  return mark <= reached_;
}

}  // namespace strake::cuda
