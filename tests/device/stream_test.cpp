/// \file  Copies on the user's streams: their order, events, and what is refused.
#include "strake/stream.hpp"

#include <cuda.h>

#include <array>

#include "device_test.hpp"
#include "strake/copy.hpp"
#include "streams.hpp"

namespace strake {
namespace {

TEST(DeviceStream, orders_copies_with_the_users_work) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  const Memory from(MemoryKind::Device, kBytes);
  const Memory to(MemoryKind::Device, kBytes / 2);
  const Memory result(MemoryKind::Device, kBytes / 2);
  const UserStream own;
  const UserStream blocking(cudaStreamDefault);
  plan.run(to.data(), from.data());  // the first launch of a kernel may wait for all streams
  int value = 0;
  for (const cudaStream_t native : {cudaStream_t(own), cudaStream_t(blocking),
                                    cudaStream_t(nullptr), cudaStreamLegacy, cudaStreamPerThread}) {
    Stream stream = Stream::adopt(native);
    EXPECT_EQ(stream.device(), 0);
    EXPECT_EQ(stream.native(), native);
    for (int round = 0; round < 3; ++round) {
      ++value;
      delay(native);
      ASSERT_EQ(cudaMemsetAsync(from.data(), value, kBytes, native), cudaSuccess);
      plan.enqueue(stream, to.data(), from.data());
      ASSERT_EQ(cudaMemsetAsync(from.data(), 255, kBytes, native), cudaSuccess);
      ASSERT_EQ(cudaMemcpyAsync(result.data(), to.data(), kBytes / 2, cudaMemcpyDefault, native),
                cudaSuccess);
      EXPECT_FALSE(stream.query());
      stream.synchronize();
      EXPECT_TRUE(stream.query());
      EXPECT_TRUE(all_are(result.read(), value));
    }
  }
}

TEST(DeviceStream, pageable_memory_is_copied_before_the_call_returns) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const UserStream native;
  Stream stream = Stream::adopt(native);
  const Memory device(MemoryKind::Device, kBytes);
  std::vector<std::byte> host(kBytes / 2);
  delay(native);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 5, kBytes, native), cudaSuccess);
  CopyPlan::compile(packed(), {}, strided(), kDevice).enqueue(stream, host.data(), device.data());
  EXPECT_TRUE(all_are(host, 5));
  std::fill(host.begin(), host.end(), std::byte{6});
  CopyPlan::compile(packed(), kDevice, packed(), {}).enqueue(stream, device.data(), host.data());
  std::fill(host.begin(), host.end(), std::byte{7});
  ASSERT_EQ(cudaMemcpyAsync(host.data(), device.data(), kBytes / 2, cudaMemcpyDefault, native),
            cudaSuccess);
  stream.synchronize();
  EXPECT_TRUE(all_are(host, 6));
}

TEST(DeviceStream, waits_for_events_on_the_device) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), kDevice);
  const Memory from(MemoryKind::Device, kBytes);
  const Memory to(MemoryKind::Device, kBytes / 2);
  Stream first = Stream::make(0);
  Stream second = Stream::make(0);
  Event event;
  EXPECT_THROW(second.wait(event), InvalidArgument);
  for (int value = 1; value < 4; ++value) {
    delay(first.native());
    ASSERT_EQ(cudaMemsetAsync(from.data(), value, kBytes, first.native()), cudaSuccess);
    first.record(event);
    EXPECT_FALSE(event.query());
    second.wait(event);
    plan.enqueue(second, to.data(), from.data());
    EXPECT_FALSE(second.query());
    second.synchronize();
    EXPECT_TRUE(event.query());
    event.synchronize();
    EXPECT_TRUE(all_are(to.read(), value));
  }
  // The CPU's stream waits on the host.
  delay(first.native());
  first.record(event);
  Stream cpu;
  cpu.wait(event);
  EXPECT_TRUE(event.query());
  cpu.record(event);
  second.wait(event);
  EXPECT_TRUE(event.query());
}

TEST(DeviceStream, waits_for_events_of_another_device) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) GTEST_SKIP() << "one device only";
  const CopyPlan plan = CopyPlan::compile(packed(), kDevice, strided(), {MemoryKind::Device, 1}, 0);
  const Memory from(MemoryKind::Device, kBytes, 1);
  const Memory to(MemoryKind::Device, kBytes / 2);
  // The default stream of a device that is not the current one.
  Stream other = Stream::adopt(nullptr, 1);
  EXPECT_EQ(other.device(), 1);
  Stream own = Stream::make(0);
  Event event;
  own.record(event);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  delay(nullptr);
  ASSERT_EQ(cudaMemsetAsync(from.data(), 3, kBytes, nullptr), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  other.record(event);
  own.wait(event);
  plan.enqueue(own, to.data(), from.data());
  own.synchronize();
  EXPECT_TRUE(all_are(to.read(), 3));
}

TEST(DeviceStream, refuses_what_is_not_its_devices) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const Memory device(MemoryKind::Device, 64);
  std::array<std::byte, 64> host{};
  Stream stream = Stream::make(0);
  Stream cpu;
  const CopyPlan on_device =
      CopyPlan::compile(Layout::dense(8), kDevice, Layout::dense(8), kDevice);
  const CopyPlan on_cpu = CopyPlan::compile(Layout::dense(8), {}, Layout::dense(8), {});
  EXPECT_THROW(on_device.enqueue(cpu, device.data(), device.data() + 8), InvalidArgument);
  EXPECT_THROW(on_cpu.enqueue(stream, host.data(), host.data() + 8), InvalidArgument);
  EXPECT_THROW((void)Stream::make(1000), InvalidArgument);
  EXPECT_THROW((void)Stream::make(-1), InvalidArgument);
  EXPECT_THROW((void)Stream::adopt(stream.native(), 1000), InvalidArgument);
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) return;
  EXPECT_THROW((void)Stream::adopt(stream.native(), 1), InvalidArgument);
  Stream other = Stream::make(1);
  EXPECT_THROW(on_device.enqueue(other, device.data(), device.data() + 8), InvalidArgument);
}

TEST(DeviceStream, refuses_a_stream_of_another_context) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  // As their signatures were in CUDA 4.0, which cuda.h keeps by their second versions.
  const auto entry = [](const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &found, 4000, cudaEnableDefault, &result),
              cudaSuccess);
    return found;
  };
  const auto create =
      reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(entry("cuCtxCreate"));
  const auto destroy = reinterpret_cast<CUresult (*)(CUcontext)>(entry("cuCtxDestroy"));
  const auto pop = reinterpret_cast<CUresult (*)(CUcontext*)>(entry("cuCtxPopCurrent"));
  const auto make_stream =
      reinterpret_cast<CUresult (*)(CUstream*, unsigned)>(entry("cuStreamCreate"));
  CUcontext context = nullptr;
  ASSERT_EQ(create(&context, 0, 0), CUDA_SUCCESS);
  CUstream stream = nullptr;
  EXPECT_EQ(make_stream(&stream, 0), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  EXPECT_EQ(pop(&popped), CUDA_SUCCESS);
  EXPECT_THROW((void)Stream::adopt(stream), InvalidArgument);
  EXPECT_EQ(destroy(context), CUDA_SUCCESS);
}

}  // namespace
}  // namespace strake
