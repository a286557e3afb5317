/// \file  A CUDA stream whose completed work the host counts in mapped memory: no runtime call to
/// see that it is done.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/backend.hpp"
#include "device/cuda/block.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/signal.hpp"

namespace strake::cuda {

class CudaQueue final : public Queue {
 public:
  CudaQueue(const DeviceBackendOptions& options, int device, QueueOrder order, int multiprocessors,
            bool early);
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  Ticket copy(void* to, const void* from, std::int64_t bytes) override;
  void wait_for(const Queue& other, Ticket ticket) override;
  bool done(Ticket ticket) override;
  void wait(Ticket ticket) override;
  [[nodiscard]] int device() const noexcept override { return device_; }

  /// For work that the next ticket is for.
  [[nodiscard]] LaunchTarget target() noexcept {
    LaunchTarget target;
    target.stream = stream_;
    target.early = early_;
    target.multiprocessors = multiprocessors_;
    target.queue = this;
    return target;
  }

  /// The signal of the next ticket, for a kernel of `blocks` blocks to raise itself: empty where a
  /// separate write is cheaper. `finish` then gives the ticket.
  [[nodiscard]] Signal next_signal(std::int64_t blocks) noexcept;
  /// The ticket of all that was enqueued so far; enqueues its write unless `raised`, a kernel's
  /// signal, does it.
  Ticket finish(const Signal& raised);

  /// Bytes of one of the two pinned buffers through which pageable memory is staged.
  static constexpr std::int64_t kStagingBytes = std::int64_t{1} << 20;
  /// One of them (0 or 1), allocated at first use, once the work that `staging_used` named is done
  /// with it.
  [[nodiscard]] std::byte* staging(int slot);
  void staging_used(int slot, Ticket until) noexcept {
    staging_busy_[static_cast<std::size_t>(slot)] = until;
  }

 private:
  [[nodiscard]] bool reached(Ticket ticket) const noexcept;
  /// Asks the runtime whether the device has reported a fault. \throws CudaError
  void check_health(Ticket ticket);
  void destroy_stream() noexcept;

  int device_;
  int multiprocessors_;
  bool early_;
  std::int64_t spin_ns_;
  BlockSource blocks_;
  cudaStream_t stream_ = nullptr;
  Block progress_block_;  // pinned
  Block arrivals_block_;  // on the device
  Block staging_;         // pinned
  std::uint64_t* progress_;
  unsigned* arrivals_;
  std::array<Ticket, 2> staging_busy_{};
  std::uint64_t issued_ = 0;
  std::atomic<unsigned> polls_ = 0;
};

}  // namespace strake::cuda
