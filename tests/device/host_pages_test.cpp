/// \file  What is known of host memory without asking the driver.
#include "memory/host_pages.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <thread>

#include "device_test.hpp"

namespace strake {
namespace {

/// A function of the driver, by the name of the version that cuda.h declares.
template <typename Function>
Function* driver(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define DRIVER(name) driver<decltype(name)>(#name)

/// Whether it is known, once it was asked about a few times.
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
  constexpr std::size_t kPiece = std::size_t{2} << 20;
  void* const host =
      mmap(nullptr, 2 * kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(host, MAP_FAILED);
  const auto wished = (reinterpret_cast<CUdeviceptr>(host) + kPiece - 1) / kPiece * kPiece;
  auto* const address = reinterpret_cast<std::byte*>(wished);
  ASSERT_TRUE(becomes_known(address, MemoryKind::Host));
  ASSERT_EQ(munmap(host, 2 * kPiece), 0);

  CUdeviceptr base = 0;
  ASSERT_EQ(DRIVER(cuMemAddressReserve)(&base, kPiece, 0, wished, 0), CUDA_SUCCESS);
  ASSERT_EQ(base, wished) << "the driver reserved other addresses";
  EXPECT_FALSE(known_as_host(address));
  // Reserved addresses are nobody's, but can become a device's without a new mapping.
  for (int i = 0; i < 5; ++i) (void)classify(address);
  EXPECT_FALSE(known_as_host(address));

  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access{};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(DRIVER(cuMemCreate)(&handle, kPiece, &wanted, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemMap)(base, kPiece, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemSetAccess)(base, kPiece, &access, 1), CUDA_SUCCESS);
  EXPECT_FALSE(becomes_known(address, MemoryKind::Device));
  EXPECT_FALSE(becomes_known(address + kPiece - 1, MemoryKind::Device));
  EXPECT_EQ(DRIVER(cuMemUnmap)(base, kPiece), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(base, kPiece), CUDA_SUCCESS);
}

}  // namespace
}  // namespace strake
