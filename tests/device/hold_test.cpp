// How the GPU's benchmarks are timed: lanes are held until all is queued, start together, and are
// run anew where the hold was too short. Sources: dissertation 3.1.2.
#include "measure/cuda/hold.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "measure/cuda/kernels.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

using std::chrono::milliseconds;

/// Device work of a known length: a kernel that waits for a flag that nobody sets.
class Work {
 public:
  explicit Work(int device = 0) : device_(device) {
    check(cudaSetDevice(device));
    check(cudaMalloc(&flag_, sizeof(std::uint32_t)));
    check(cudaMemset(flag_, 0, sizeof(std::uint32_t)));
  }
  ~Work() { (void)cudaFree(flag_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  void enqueue(double seconds, cudaStream_t stream) const {
    check(launch_hold(static_cast<const std::uint32_t*>(flag_),
                      static_cast<std::uint64_t>(seconds * 1e9), stream));
  }
  [[nodiscard]] Lane lane(double seconds) const {
    return {device_, [this, seconds](cudaStream_t stream) { enqueue(seconds, stream); }};
  }

 private:
  int device_;
  void* flag_ = nullptr;
};

class Hold : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "no CUDA device on this machine";
    work_ = std::make_unique<Work>();
  }
  std::unique_ptr<Work> work_;
};

const auto kNothing = [] {};

TEST_F(Hold, a_gate_that_nobody_opens_opens_by_itself) {
  Gate gate(0);
  const OwnedStream stream(0);
  const Stopwatch watch;
  gate.close(stream.get());
  check(cudaStreamSynchronize(stream.get()));
  EXPECT_GE(watch.seconds(), 0.9 * gate.holds());
  const double first = gate.holds();
  gate.lengthen();
  EXPECT_GT(gate.holds(), 2 * first);
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) gate.lengthen();
      },
      Unsupported);
}

TEST_F(Hold, lanes_run_at_the_same_time) {
  const auto instance = held({work_->lane(500e-6), work_->lane(500e-6)}, kNothing);
  const double seconds = instance->run(4) / 4;
  EXPECT_GE(seconds, 499e-6);
  EXPECT_LT(seconds, 700e-6);  // one after the other: 1000
}

TEST_F(Hold, lanes_of_two_devices_run_at_the_same_time) {
  if (device_count() < 2) GTEST_SKIP() << "one CUDA device on this machine";
  const Work second(1);
  Lane late = second.lane(500e-6);
  late.enqueue = [enqueue = late.enqueue](cudaStream_t stream) {
    std::this_thread::sleep_for(milliseconds(2));  // the first device's would be over by then
    enqueue(stream);
  };
  const double both = held({work_->lane(500e-6), late}, kNothing)->run(1);
  EXPECT_GE(both, 499e-6);
  EXPECT_LT(both, 700e-6);
  // The join waits for whichever ends last, on either device.
  EXPECT_GE(held({work_->lane(100e-6), second.lane(500e-6)}, kNothing)->run(4) / 4, 499e-6);
  EXPECT_GE(held({work_->lane(500e-6), second.lane(100e-6)}, kNothing)->run(4) / 4, 499e-6);
}

TEST_F(Hold, what_the_host_takes_to_queue_the_work_is_not_in_the_time) {
  int queued = 0;
  Lane late = work_->lane(100e-6);
  late.enqueue = [&, enqueue = late.enqueue](cudaStream_t stream) {
    std::this_thread::sleep_for(milliseconds(5));  // longer than the first hold
    enqueue(stream);
    ++queued;
  };
  const auto instance = held({work_->lane(100e-6), late}, kNothing);
  ASSERT_EQ(queued, 1);  // once untimed
  EXPECT_LT(instance->run(1), 300e-6);
  EXPECT_GT(queued, 2) << "a hold that was too short was not redone";
  const int before = queued;
  EXPECT_LT(instance->run(1), 300e-6);
  EXPECT_EQ(queued, before + 1) << "the longer hold was forgotten";
}

TEST_F(Hold, one_lane_can_be_timed_alone) {
  const auto second =
      held({work_->lane(600e-6), work_->lane(200e-6)}, kNothing, {.before = {}, .timed_lane = 1});
  const double seconds = second->run(1);
  EXPECT_GE(seconds, 199e-6);
  EXPECT_LT(seconds, 400e-6);
}

TEST_F(Hold, operations_that_fill_the_queue_are_queued_in_smaller_groups) {
  constexpr int kEntries = 100;
  const Lane lane{0, [this](cudaStream_t stream) {
                    for (int i = 0; i < kEntries; ++i) work_->enqueue(0, stream);
                  }};
  const auto instance = held({lane}, kNothing);
  double seconds = 0;
  ASSERT_NO_THROW(seconds = instance->run(64));
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds / 64, 5e-3);
}

TEST_F(Hold, work_that_waits_for_its_own_stream_is_an_error_and_no_hang) {
  const Lane lane{0, [this](cudaStream_t stream) {
                    work_->enqueue(0, stream);
                    check(cudaStreamSynchronize(stream));
                  }};
  const auto instance = held({lane}, kNothing);
  EXPECT_THROW((void)instance->run(1), Unsupported);
}

}  // namespace
}  // namespace strake::measure::cuda
