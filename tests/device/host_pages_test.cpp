/// \file  Host memory that Strake knows as such without asking the driver.
#include "memory/host_pages.hpp"

#include <sys/mman.h>

#include <thread>

#include "device_test.hpp"

namespace strake {
namespace {

/// Whether `address` is known as the host's after a few questions, each answered `expected`.
bool becomes_known(const void* address, MemoryKind expected) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(classify(address).kind, expected);
  return known_as_host(address);
}

TEST(DeviceHostPages, are_known_of_each_kind_of_plain_host_memory) {
  STRAKE_NEEDS_DEVICE();
  ASSERT_NE(backend().maps(), nullptr) << "calls of this driver can't be counted";
  const Memory small(MemoryKind::Host, 100);
  const Memory large(MemoryKind::Host, 100'000'000);  // not touched
  const int on_stack = 0;
  EXPECT_TRUE(becomes_known(small.data(), MemoryKind::Host));
  EXPECT_TRUE(becomes_known(large.data() + 70'000'000, MemoryKind::Host));
  EXPECT_TRUE(becomes_known(&on_stack, MemoryKind::Host));
  bool known = false;
  std::thread([&] {
    const int on_its_stack = 0;
    known = becomes_known(&on_its_stack, MemoryKind::Host);
  }).join();
  EXPECT_TRUE(known);
}

TEST(DeviceHostPages, are_not_known_of_memory_of_the_driver) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  for (const MemoryKind kind : {MemoryKind::Pinned, MemoryKind::Managed, MemoryKind::Device}) {
    const Memory memory(kind, 100'000);
    EXPECT_FALSE(becomes_known(memory.data() + 50'000, kind)) << name_of(kind);
  }
}

TEST(DeviceHostPages, stay_known_while_the_device_works) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  const Memory host(MemoryKind::Host, 100'000'000);
  const Memory device(MemoryKind::Device, 1'000'000);
  std::vector<std::byte> bytes(1'000'000);
  const auto work = [&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(cudaMemcpy(device.data(), bytes.data(), bytes.size(), cudaMemcpyDefault),
                cudaSuccess);
      EXPECT_EQ(cudaMemsetAsync(device.data(), i, bytes.size(), nullptr), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    }
  };
  work();
  ASSERT_TRUE(becomes_known(host.data(), MemoryKind::Host));
  work();
  EXPECT_TRUE(known_as_host(host.data()));
}

TEST(DeviceHostPages, are_forgotten_when_a_device_gets_their_addresses) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  // The driver reserves no addresses that it is asked for, but takes those that became free last.
  constexpr std::size_t kStep = std::size_t{2} << 20;
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  int taken = 0;
  for (int i = 0; i < 8; ++i) {
    void* const host =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(host, MAP_FAILED);
    auto* const begin = static_cast<std::byte*>(host);
    for (std::size_t at = 0; at < kBytes; at += kStep)
      ASSERT_TRUE(becomes_known(begin + at, MemoryKind::Host)) << at;
    ASSERT_EQ(munmap(host, kBytes), 0);
    void* device = nullptr;
    ASSERT_EQ(cudaMalloc(&device, kBytes / 2), cudaSuccess);
    const auto* const first = static_cast<std::byte*>(device);
    for (std::size_t at = 0; at < kBytes; at += kStep) {
      if (begin + at < first || begin + at >= first + kBytes / 2) continue;
      ++taken;
      EXPECT_FALSE(known_as_host(begin + at)) << at;
      EXPECT_EQ(classify(begin + at).kind, MemoryKind::Device) << at;
    }
    EXPECT_EQ(cudaFree(device), cudaSuccess);
  }
  if (taken == 0) GTEST_SKIP() << "the driver took none of those addresses";
}

}  // namespace
}  // namespace strake
