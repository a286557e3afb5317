#include "device/cuda/queue.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <new>

#include "strake/error.hpp"

namespace strake::cuda {
namespace {

// A kernel of more blocks than run at once spends more on arrivals than a write by the stream
// costs.
constexpr std::int64_t kSignalBlocksPerMultiprocessor = 8;
// A fault is noticed within this many polls, or microseconds of waiting.
constexpr unsigned kPollsPerCheck = 4096;
constexpr std::int64_t kCheckIntervalNs = 100'000;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

CUdeviceptr device_address(const volatile void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

}  // namespace

CudaQueue::CudaQueue(const DeviceBackendOptions& options, int device, QueueOrder order,
                     int multiprocessors, bool early)
    : device_(device),
      multiprocessors_(multiprocessors),
      early_(early),
      spin_ns_(options.spin_ns),
      blocks_(options.blocks),
      progress_block_(blocks_, {MemoryKind::Pinned, device}, sizeof(std::uint64_t)),
      arrivals_block_(blocks_, {MemoryKind::Device, device}, sizeof(unsigned)),
      progress_(new (progress_block_.data()) std::uint64_t(0)),
      arrivals_(reinterpret_cast<unsigned*>(arrivals_block_.data())) {
  const DeviceScope scope(device);
  if (order == QueueOrder::AfterDefault) {
    check(cudaStreamCreate(&stream_));
  } else {
    // This queue's work, which other ranks wait for, goes before kernels that fill the device.
    int lowest = 0;
    int highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest));
  }
  try {
    check(cudaMemsetAsync(arrivals_, 0, sizeof(unsigned), stream_));
    check(cudaStreamSynchronize(stream_));
  } catch (...) {
    destroy_stream();
    throw;
  }
}

CudaQueue::~CudaQueue() { destroy_stream(); }

void CudaQueue::destroy_stream() noexcept {
  release_on(device_, [this] {
    (void)cudaStreamSynchronize(stream_);
    (void)cudaStreamDestroy(stream_);
  });
}

Ticket CudaQueue::copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes < 0) throw InvalidArgument(fmt::format("copy of {} bytes", bytes));
  if (bytes == 0) return {};
  const DeviceScope scope(device_);
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_));
  return finish({});
}

void CudaQueue::wait_for(const Queue& other, Ticket ticket) {
  if (ticket.progress == nullptr || *ticket.progress >= ticket.value) return;
  if (other.device() != device_) {
    throw InvalidArgument(fmt::format("a queue of device {} can't wait for one of device {}",
                                      device_, other.device()));
  }
  const DeviceScope scope(device_);
  check(driver()->stream_wait_value64(stream_, device_address(ticket.progress), ticket.value,
                                      CU_STREAM_WAIT_VALUE_GEQ));
}

bool CudaQueue::reached(Ticket ticket) const noexcept {
  if (ticket.progress != nullptr && *ticket.progress < ticket.value) return false;
  // Orders the caller's reads of the bytes after this read of the count.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

void CudaQueue::check_health(Ticket ticket) {
  const DeviceScope scope(device_);
  if (!is_complete(cudaStreamQuery(stream_))) return;
  if (ticket.progress == progress_ && !reached(ticket)) {
    throw CudaError(fmt::format("the stream is idle, but ticket {} of {} was never signalled",
                                ticket.value, issued_),
                    static_cast<int>(cudaErrorUnknown));
  }
}

bool CudaQueue::done(Ticket ticket) {
  if (reached(ticket)) return true;
  if ((polls_.fetch_add(1, std::memory_order_relaxed) + 1) % kPollsPerCheck == 0) {
    check_health(ticket);
  }
  return reached(ticket);
}

void CudaQueue::wait(Ticket ticket) {
  // The clock is read every 32 polls: about once a microsecond.
  for (int i = 0; i < 32; ++i) {
    if (reached(ticket)) return;
    pause_cpu();
  }
  const std::int64_t begin = now_ns();
  std::int64_t next_check = begin + kCheckIntervalNs;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (reached(ticket)) return;
      pause_cpu();
    }
    const std::int64_t now = now_ns();
    if (now >= next_check) {
      check_health(ticket);
      next_check = now + kCheckIntervalNs;
    }
    if (now - begin >= spin_ns_) sched_yield();
  }
}

Signal CudaQueue::next_signal(std::int64_t blocks) noexcept {
  if (blocks > multiprocessors_ * kSignalBlocksPerMultiprocessor) return {};
  return {progress_, issued_ + 1, arrivals_};
}

Ticket CudaQueue::finish(const Signal& raised) {
  ++issued_;
  if (raised.flag == nullptr) {
    check(driver()->stream_write_value64(stream_, device_address(progress_), issued_,
                                         CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  return {progress_, issued_};
}

std::byte* CudaQueue::staging(int slot) {
  if (staging_.data() == nullptr)
    staging_ = Block(blocks_, {MemoryKind::Pinned, device_}, 2 * kStagingBytes);
  wait(staging_busy_[static_cast<std::size_t>(slot)]);
  return staging_.data() + slot * kStagingBytes;
}

}  // namespace strake::cuda
