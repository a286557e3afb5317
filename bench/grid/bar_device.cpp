#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "grid/bar.hpp"
#include "grid/device.hpp"
#include "mpi/paired_sampling.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"

namespace bench {
namespace {

class CudaEvent {
 public:
  CudaEvent() { check(cudaEventCreate(&event_)); }
  ~CudaEvent() { (void)cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A contiguous copy from this rank's device to another one, or the same.
class Copy {
 public:
  Copy(int from, int to, std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        to_(Where::Device, bytes, to),
        from_(Where::Device, bytes, from),
        stream_(strake::Stream::make(from)),
        plan_(strake::CopyPlan::compile(
            strake::Layout::dense(bytes), {strake::MemoryKind::Device, to},
            strake::Layout::dense(bytes), {strake::MemoryKind::Device, from}, from)) {
    check(cudaMemset(from_.data(), kByte, bytes_));
    check(cudaDeviceSynchronize());
  }
  /// Seconds of one of some copies in a row, by the device's clock; the slowest rank's.
  [[nodiscard]] std::vector<double> seconds(int samples) {
    constexpr int kCopies = 10;
    const auto all =
        sample_by_turns({Plan{kCopies, samples}}, {samples, 1},
                        [&](std::size_t /*which*/, const Plan& part, std::vector<double>& to) {
                          MPI_Barrier(MPI_COMM_WORLD);
                          check(cudaEventRecord(begin_.get(), stream_.native()));
                          for (int i = 0; i < part.calls; ++i)
                            plan_.enqueue(stream_, to_.data(), from_.data());
                          check(cudaEventRecord(end_.get(), stream_.native()));
                          check(cudaStreamSynchronize(stream_.native()));
                          float milliseconds = 0;
                          check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
                          to.push_back(milliseconds * 1e-3 / part.calls);
                        });
    require_right();
    return slowest_rank(all[0]);
  }
  [[nodiscard]] std::string description() const { return plan_.description(); }

 private:
  static constexpr int kByte = 0x5a;
  void require_right() const {
    if (!std::ranges::all_of(to_.read(), [](std::byte byte) { return byte == std::byte{kByte}; }))
      throw strake::Error("a contiguous copy gave wrong bytes");
  }

  std::size_t bytes_;
  DeviceMemory to_;
  DeviceMemory from_;
  strake::Stream stream_;
  strake::CopyPlan plan_;
  CudaEvent begin_;
  CudaEvent end_;
};

double median_rate(std::int64_t bytes, const std::vector<double>& seconds) {
  return static_cast<double>(bytes) / summarize(seconds).median * 1e-9;
}

}  // namespace

bool has_bar() { return true; }

Bar measure_bar(const RankBox& box, const HaloShape& shape, bool quick) {
  constexpr double kMargin = 1.25;
  constexpr double kFixedMicroseconds = 15;
  const int samples = quick ? 3 : 30;
  const std::int64_t large = std::int64_t{quick ? 16 : 256} << 20;
  const int device = use_device();
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const HaloBytes bytes = halo_bytes(box, shape);

  Bar bar;
  std::vector<double> microseconds(static_cast<std::size_t>(samples));
  const auto add = [&](std::int64_t moved, std::int64_t copied,
                       const std::vector<double>& seconds) {
    for (std::size_t i = 0; i < microseconds.size(); ++i)
      microseconds[i] +=
          seconds[i] * 1e6 * static_cast<double>(moved) / static_cast<double>(copied);
  };
  {
    Copy within(device, device, large);
    const std::vector<double> seconds = within.seconds(samples);
    bar.within_gigabytes_per_s = median_rate(large, seconds);
    bar.within_by = within.description();
    add(bytes.within, large, seconds);
  }
  if (bytes.to_others > 0) {
    Copy to_others(device, device_of((rank + 1) % ranks), bytes.to_others);
    const std::vector<double> seconds = to_others.seconds(samples);
    bar.to_others_gigabytes_per_s = median_rate(bytes.to_others, seconds);
    bar.to_others_by = to_others.description();
    add(bytes.to_others, bytes.to_others, seconds);
  }
  for (double& time : microseconds) time = kMargin * time + kFixedMicroseconds;
  bar.microseconds = summarize(microseconds);
  return bar;
}

}  // namespace bench
