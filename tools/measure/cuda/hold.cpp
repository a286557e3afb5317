#include "measure/cuda/hold.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/cuda/kernels.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

// Time to queue some 100 operations of 5 us.
constexpr std::uint64_t kFirstHoldNs = 1'000'000;
// Longer than any call takes: by then something waits for the stream itself.
constexpr std::uint64_t kLongestHoldNs = 500'000'000;
// A stream takes about 1000 entries before a call waits; an operation may be several.
constexpr std::int64_t kMostQueued = 64;
// Longer than queueing that many takes unless a call waits. [s]
constexpr double kPatience = 10e-3;

class Held final : public Instance {
 public:
  Held(std::vector<Lane> lanes, std::function<void()> verify, HeldOptions options)
      : lanes_(std::move(lanes)),
        verify_(std::move(verify)),
        options_(std::move(options)),
        gate_(lanes_.at(0).device),
        start_(lanes_[0].device, true),
        stop_(lanes_[0].device, true) {
    for (const Lane& lane : lanes_) {
      streams_.push_back(std::make_unique<OwnedStream>(lane.device));
      begins_.push_back(std::make_unique<OwnedEvent>(lane.device, true));
      ends_.push_back(std::make_unique<OwnedEvent>(lane.device, true));
    }
    // Modules are loaded and buffers are mapped now: later calls must not wait for a held stream.
    if (options_.before) options_.before();
    check(cudaSetDevice(lanes_[0].device));
    gate_.close(stream(0));
    gate_.open();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      check(cudaSetDevice(lanes_[i].device));
      lanes_[i].enqueue(stream(i));
    }
    synchronize();
  }
  ~Held() override {
    gate_.open();
    for (const Lane& lane : lanes_) {
      (void)cudaSetDevice(lane.device);
      (void)cudaDeviceSynchronize();
    }
  }

  double run(std::int64_t iterations) override {
    double seconds = 0;
    while (iterations > 0) {
      const std::int64_t count = std::min(iterations, options_.before ? 1 : most_queued_);
      const double taken = hold_and_run(count);
      if (taken < 0) {
        shorten_or_lengthen(count);
        continue;
      }
      seconds += taken;
      iterations -= count;
    }
    return seconds;
  }
  void verify() override {
    synchronize();
    verify_();
  }

 private:
  [[nodiscard]] cudaStream_t stream(std::size_t lane) const {
    return lanes_[lane].legacy ? cudaStreamLegacy : streams_[lane]->get();
  }
  void synchronize() {
    for (const Lane& lane : lanes_) {
      check(cudaSetDevice(lane.device));
      check(cudaDeviceSynchronize());
    }
  }

  /// The hold was too short: a longer one, and then fewer operations, for some take many entries of
  /// the queue and wait where it is full.
  void shorten_or_lengthen(std::int64_t count) {
    if (count > 1 && gate_.holds() > kPatience) {
      most_queued_ = std::max<std::int64_t>(1, count / 2);
    } else {
      gate_.lengthen();
    }
  }

  /// Seconds, or less than 0 where the hold was too short.
  double hold_and_run(std::int64_t count) {
    if (options_.before) options_.before();
    check(cudaSetDevice(lanes_[0].device));
    gate_.close(stream(0));
    check(cudaEventRecord(start_.get(), stream(0)));
    for (std::size_t i = 0; i < lanes_.size(); ++i) begin_lane(i);
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_.size() > 1) check(cudaSetDevice(lanes_[i].device));
        lanes_[i].enqueue(stream(i));
      }
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      check(cudaSetDevice(lanes_[i].device));
      check(cudaEventRecord(ends_[i]->get(), stream(i)));
    }
    check(cudaSetDevice(lanes_[0].device));
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
      check(cudaStreamWaitEvent(stream(0), ends_[i]->get(), 0));
    }
    check(cudaEventRecord(stop_.get(), stream(0)));
    const bool was_held = cudaEventQuery(start_.get()) == cudaErrorNotReady;
    (void)cudaGetLastError();  // not ready is no fault
    gate_.open();
    check(cudaEventSynchronize(stop_.get()));
    return was_held ? elapsed() : -1;
  }

  void begin_lane(std::size_t i) {
    check(cudaSetDevice(lanes_[i].device));
    if (i > 0) check(cudaStreamWaitEvent(stream(i), start_.get(), 0));
    for (int n = 0; n <= lanes_[i].delay_events; ++n) {
      check(cudaEventRecord(begins_[i]->get(), stream(i)));
    }
  }

  [[nodiscard]] double elapsed() const {
    const bool all = options_.timed_lane == kAllLanes;
    const auto lane = static_cast<std::size_t>(all ? 0 : options_.timed_lane);
    float ms = 0;
    check(cudaEventElapsedTime(&ms, all ? start_.get() : begins_[lane]->get(),
                               all ? stop_.get() : ends_[lane]->get()));
    return static_cast<double>(ms) * 1e-3;
  }

  std::vector<Lane> lanes_;
  std::function<void()> verify_;
  HeldOptions options_;
  Gate gate_;
  std::int64_t most_queued_ = kMostQueued;
  OwnedEvent start_;
  OwnedEvent stop_;
  std::vector<std::unique_ptr<OwnedStream>> streams_;
  std::vector<std::unique_ptr<OwnedEvent>> begins_;
  std::vector<std::unique_ptr<OwnedEvent>> ends_;
};

class TimedRun final : public Instance {
 public:
  TimedRun(int device, std::function<double(std::int64_t)> run, std::function<void()> verify)
      : device_(device), run_(std::move(run)), verify_(std::move(verify)) {}
  double run(std::int64_t iterations) override {
    check(cudaSetDevice(device_));
    return run_(iterations);
  }
  void verify() override {
    check(cudaSetDevice(device_));
    check(cudaDeviceSynchronize());
    verify_();
  }

 private:
  int device_;
  std::function<double(std::int64_t)> run_;
  std::function<void()> verify_;
};

}  // namespace

OwnedStream::OwnedStream(int device) : device_(device) {
  check(cudaSetDevice(device));
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}
OwnedStream::~OwnedStream() {
  (void)cudaSetDevice(device_);
  (void)cudaStreamDestroy(stream_);
}

OwnedEvent::OwnedEvent(int device, bool timed) : device_(device) {
  check(cudaSetDevice(device));
  check(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming));
}
OwnedEvent::~OwnedEvent() {
  (void)cudaSetDevice(device_);
  (void)cudaEventDestroy(event_);
}

Gate::Gate(int device) : timeout_ns_(kFirstHoldNs) {
  check(cudaSetDevice(device));
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, sizeof(std::uint32_t), cudaHostAllocMapped | cudaHostAllocPortable));
  flag_ = static_cast<volatile std::uint32_t*>(memory);
  *flag_ = 1;
}
Gate::~Gate() { (void)cudaFreeHost(const_cast<std::uint32_t*>(flag_)); }

void Gate::close(cudaStream_t stream) {
  *flag_ = 0;
  check(launch_hold(flag_, timeout_ns_, stream));
}

void Gate::lengthen() {
  if (timeout_ns_ >= kLongestHoldNs) {
    throw Unsupported(
        fmt::format("a stream could not be held for {} ns until its work was queued: a call waits "
                    "for it (is CUDA_LAUNCH_BLOCKING set?)",
                    timeout_ns_));
  }
  timeout_ns_ *= 4;
}

std::unique_ptr<Instance> held(std::vector<Lane> lanes, std::function<void()> verify,
                               HeldOptions options) {
  return std::make_unique<Held>(std::move(lanes), std::move(verify), std::move(options));
}

std::unique_ptr<Instance> timed(int device, std::function<double(std::int64_t)> run,
                                std::function<void()> verify) {
  return std::make_unique<TimedRun>(device, std::move(run), std::move(verify));
}

std::unique_ptr<Instance> wall_timed(int device, std::function<void()> operation,
                                     std::function<void()> verify) {
  return timed(
      device,
      [operation = std::move(operation)](std::int64_t iterations) {
        return measure::time_calls(iterations, operation);
      },
      std::move(verify));
}

std::unique_ptr<Instance> timed_each(int device, std::function<double()> once,
                                     std::function<void()> verify) {
  return timed(
      device,
      [once = std::move(once)](std::int64_t iterations) { return sum_calls(iterations, once); },
      std::move(verify));
}

std::unique_ptr<Instance> timed_kernel(int device, std::int64_t times,
                                       std::function<void(std::int64_t, cudaStream_t)> launch,
                                       std::function<void()> verify) {
  const auto stream = std::make_shared<OwnedStream>(device);
  const auto start = std::make_shared<OwnedEvent>(device, true);
  const auto stop = std::make_shared<OwnedEvent>(device, true);
  const auto run = [=, launch = std::move(launch)](std::int64_t iterations) {
    check(cudaEventRecord(start->get(), stream->get()));
    launch(times * iterations, stream->get());
    check(cudaEventRecord(stop->get(), stream->get()));
    check(cudaEventSynchronize(stop->get()));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start->get(), stop->get()));
    return static_cast<double>(ms) * 1e-3 / static_cast<double>(times);
  };
  (void)run(1);
  return timed(device, run, std::move(verify));
}

}  // namespace strake::measure::cuda
