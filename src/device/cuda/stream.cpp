#include "device/cuda/stream.hpp"

#include <fmt/format.h>

#include "device/cuda/driver.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

[[noreturn]] void refuse_implicit() {
  throw Unsupported(
      "the legacy default stream can't be used while another stream of its device is captured");
}

bool is_legacy(cudaStream_t stream) { return stream == nullptr || stream == cudaStreamLegacy; }

}  // namespace

CudaEvent::CudaEvent(int device) : device_(device) {
  const DeviceScope scope(device);
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

CudaEvent::~CudaEvent() {
  release_on(device_, [this] { (void)cudaEventDestroy(event_); });
}

void CudaEvent::require_uncaptured() const {
  if (capture_ != 0) {
    throw Unsupported(
        "the event was recorded in a stream that was being captured: the host can't wait for it");
  }
}

bool CudaEvent::query() const {
  require_uncaptured();
  const DeviceScope scope(device_);
  return is_complete(cudaEventQuery(event_));
}

void CudaEvent::synchronize() const {
  require_uncaptured();
  const DeviceScope scope(device_);
  check(cudaEventSynchronize(event_));
}

CudaStream::~CudaStream() {
  if (owned_ == Owned::No) return;
  release_on(device_, [this] { (void)cudaStreamDestroy(stream_); });
}

bool CudaStream::capturing() const {
  const DeviceScope scope(device_);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t code = cudaStreamIsCapturing(stream_, &status);
  if (code == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError();
    refuse_implicit();
  }
  check(code);
  return status != cudaStreamCaptureStatusNone;
}

std::uint64_t CudaStream::capture() const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const CUresult code =
      driver()->stream_get_capture_info(stream_, &status, &id, nullptr, nullptr, nullptr);
  if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) refuse_implicit();
  check(code);
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

void CudaStream::require_uncaptured() const {
  if (capturing()) {
    throw Unsupported(
        "the stream is being captured: the host can't ask for its work or wait for it");
  }
}

void CudaStream::record(DeviceEvent& event) {
  auto& cuda_event = static_cast<CudaEvent&>(event);
  const DeviceScope scope(device_);
  const std::uint64_t id = capture();
  check(cudaEventRecord(cuda_event.event_, stream_));
  cuda_event.capture_ = id;
}

void CudaStream::wait(const DeviceEvent& event) {
  const auto& cuda_event = static_cast<const CudaEvent&>(event);
  const DeviceScope scope(device_);
  const std::uint64_t id = capture();
  // A stream that is not captured joins the capture of the event, which the legacy one can't.
  if (id == 0 && cuda_event.capture_ != 0 && is_legacy(stream_)) {
    throw Unsupported(
        "the legacy default stream can't wait for an event of a stream that is captured");
  }
  if (id != 0 && id != cuda_event.capture_) {
    throw Unsupported(
        fmt::format("the stream is part of capture {}, and the event was recorded {}", id,
                    cuda_event.capture_ == 0 ? "outside of any"
                                             : fmt::format("in capture {}", cuda_event.capture_)));
  }
  check(cudaStreamWaitEvent(stream_, cuda_event.event_, 0));
}

bool CudaStream::query() const {
  const DeviceScope scope(device_);
  require_uncaptured();
  return is_complete(cudaStreamQuery(stream_));
}

void CudaStream::synchronize() const {
  const DeviceScope scope(device_);
  require_uncaptured();
  check(cudaStreamSynchronize(stream_));
}

LaunchTarget CudaStream::target() const {
  if (is_legacy(stream_)) (void)capturing();
  // In a user's stream no kernel is set up early: the user's kernels around it need not expect
  // that, and in a graph it would be an edge of a kind that many programs can't read.
  LaunchTarget target;
  target.stream = stream_;
  target.early = early_ && !capturing();
  target.multiprocessors = multiprocessors_;
  return target;
}

bool is_default_stream(cudaStream_t stream) noexcept {
  return is_legacy(stream) || stream == cudaStreamPerThread;
}

int device_of_stream(cudaStream_t stream) {
  const Driver* const d = driver();
  CUcontext before = nullptr;
  check(d->ctx_get_current(&before));
  CUcontext context = before;
  if (!is_default_stream(stream)) check(d->stream_get_ctx(stream, &context));
  if (context == nullptr) return 0;  // the runtime's own choice for a thread that has made none
  CUdevice device = 0;
  if (context != before) check(d->ctx_set_current(context));
  const CUresult code = d->ctx_get_device(&device);
  if (context != before) check(d->ctx_set_current(before));
  check(code);
  if (context != primary_context(device)) {
    throw InvalidArgument(
        fmt::format("the stream {} is of another context than the primary one of its device, {}",
                    static_cast<void*>(stream), device));
  }
  return device;
}

}  // namespace strake::cuda
