/// \file  Copies between two GPUs, within one process and between two.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "device_test.hpp"
#include "strake/copy.hpp"

namespace strake {
namespace {

using Copy = CopyBatch::Copy;

struct Pair {
  Layout to;
  Layout from;
};

std::vector<Pair> pairs() {
  const Dim dims[] = {{20, 4096}, {30, 64}};
  const Dim others[] = {{30, 4096}, {20, 64}};
  const Layout box = Layout::box(32, 16, dims);
  std::vector<std::int64_t> offsets, lengths;
  for (std::int64_t i = 0; i < 300; ++i) {
    offsets.push_back(128 * i);
    lengths.push_back(16 + 16 * (i % 3));
  }
  const Layout list = Layout::blocks(offsets, lengths);
  return {{box, box},
          {box, Layout::box(0, 16, others)},
          {Layout::dense(box.size_bytes()), box},
          {box, Layout::dense(box.size_bytes(), 16)},
          {list, list.shifted(16)},
          {Layout::dense(list.size_bytes()), list},
          {Layout::dense(100'000), Layout::dense(100'000, 3)}};
}

void write(std::byte* to, const std::vector<std::byte>& bytes) {
  ASSERT_EQ(cudaMemcpy(to, bytes.data(), bytes.size(), cudaMemcpyDefault), cudaSuccess);
}
std::vector<std::byte> read(const std::byte* from, std::int64_t bytes) {
  std::vector<std::byte> found(static_cast<std::size_t>(bytes));
  EXPECT_EQ(cudaMemcpy(found.data(), from, found.size(), cudaMemcpyDefault), cudaSuccess);
  return found;
}

/// As a plan and as a batch, both by the given device.
void expect_moved(const Pair& pair, Place to_place, std::byte* to, Place from_place,
                  const std::byte* from, const std::vector<std::byte>& given, int by) {
  const std::int64_t bytes = pair.to.bounds().end;
  const CopyPlan plan = CopyPlan::compile(pair.to, to_place, pair.from, from_place, by);
  const CopyBatch batch = CopyBatch::compile(std::vector<CopyBatch::Slot>{{to_place}, {from_place}},
                                             std::vector<Copy>{{pair.to, 0, pair.from, 1}}, by);
  Stream stream = Stream::make(by);
  for (const bool batched : {false, true}) {
    std::vector<std::byte> expected = random_bytes(bytes, 5);
    write(to, expected);
    if (batched) {
      batch.enqueue(stream, std::vector{to, const_cast<std::byte*>(from)});
    } else {
      plan.enqueue(stream, to, from);
    }
    stream.synchronize();
    copy_expected(pair.to, expected, 0, pair.from, given, 0, ByteRange::all());
    EXPECT_TRUE(read(to, bytes) == expected)
        << (batched ? batch.description() : plan.description()) << " by device " << by << ": "
        << pair.from.to_string() << " to " << pair.to.to_string();
  }
}

TEST(DevicePeers, copies_are_pulled_and_pushed) {
  STRAKE_NEEDS_DEVICE();
  (void)backend();
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) GTEST_SKIP() << "one device only";
  for (const Pair& pair : pairs()) {
    const Memory to(MemoryKind::Device, pair.to.bounds().end, 1);
    const Memory from(MemoryKind::Device, pair.from.bounds().end);
    const auto given = random_bytes(pair.from.bounds().end, 6);
    write(from.data(), given);
    for (const int by : {0, 1}) {
      expect_moved(pair, {MemoryKind::Device, 1}, to.data(), {MemoryKind::Device, 0}, from.data(),
                   given, by);
    }
  }
}

/// Bytes that the child offers, filled by a known seed: `pairs()` lie in them, from offset 0.
constexpr std::int64_t kShared = std::int64_t{1} << 20;

/// Offers memory of a device, and waits until the parent is done with it; true if it holds, then,
/// what the parent has pushed.
bool offer(int device, int handles, int done) {
  void* memory = nullptr;
  cudaIpcMemHandle_t handle{};
  if (cudaSetDevice(device) != cudaSuccess || cudaMalloc(&memory, kShared) != cudaSuccess ||
      cudaIpcGetMemHandle(&handle, memory) != cudaSuccess)
    return false;
  const auto given = random_bytes(kShared, 6);
  if (cudaMemcpy(memory, given.data(), given.size(), cudaMemcpyDefault) != cudaSuccess ||
      cudaDeviceSynchronize() != cudaSuccess ||
      ::write(handles, &handle, sizeof(handle)) != static_cast<ssize_t>(sizeof(handle)))
    return false;
  char byte = 0;
  if (::read(done, &byte, 1) != 1) return false;
  const auto pushed = random_bytes(kShared, 7);
  std::vector<std::byte> found(given.size());
  return cudaMemcpy(found.data(), memory, found.size(), cudaMemcpyDefault) == cudaSuccess &&
         found == pushed;
}

/// In a process that has not used CUDA before (a test of its own): the child is forked first.
TEST(DeviceIpc, copies_are_pulled_from_and_pushed_to_another_process) {
  if (std::getenv("STRAKE_TEST_IPC") == nullptr) GTEST_SKIP() << "a test of its own runs this";
  int handles[2], done[2];
  ASSERT_EQ(pipe(handles), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(handles[0]);
    close(done[1]);
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) _exit(77);
    _exit(offer(devices - 1, handles[1], done[0]) ? 0 : 1);
  }
  close(handles[1]);
  close(done[0]);
  cudaIpcMemHandle_t handle{};
  const bool offered = ::read(handles[0], &handle, sizeof(handle)) == ssize_t{sizeof(handle)};
  if (offered) {
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    (void)backend();
    // For the device that is to reach it, whose memory it need not be.
    void* opened = nullptr;
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
    auto* const theirs = static_cast<std::byte*>(opened);
    const Place their_place{MemoryKind::Device, devices - 1};
    const Place own_place{MemoryKind::Device, 0};
    // The runtime tells the device that reaches it.
    EXPECT_EQ(classify(theirs), own_place);
    const auto given = random_bytes(kShared, 6);
    const Memory own(MemoryKind::Device, kShared);
    for (const Pair& pair : pairs())
      expect_moved(pair, own_place, own.data(), their_place, theirs, given, 0);
    write(own.data(), given);
    for (const Pair& pair : pairs())
      expect_moved(pair, their_place, theirs, own_place, own.data(), given, 0);
    write(own.data(), random_bytes(kShared, 7));
    CopyPlan::compile(Layout::dense(kShared), their_place, Layout::dense(kShared), own_place, 0)
        .run(theirs, own.data());
    EXPECT_EQ(cudaIpcCloseMemHandle(opened), cudaSuccess);
    EXPECT_EQ(::write(done[1], "d", 1), 1);
  }
  close(done[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no CUDA device on this machine";
  EXPECT_TRUE(offered);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace strake
