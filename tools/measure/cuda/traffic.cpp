#include "measure/cuda/traffic.hpp"

#include <fmt/format.h>

#include "measure/cuda/cases.hpp"

namespace strake::measure::cuda {
namespace {

constexpr std::uint64_t kReadSeed = 5;
constexpr std::uint64_t kWriteSeed = 6;

/// Reads once more by the same kernel for the sum of the bytes: the timed runs keep nothing.
void verify_read(int device, const Buffer& data) {
  check(cudaSetDevice(device));
  const Buffer sum({Kind::Device, device}, 8);
  check(cudaMemset(sum.data(), 0, 8));
  check(launch_read(data.data(), data.bytes(), sum.as<std::uint64_t>(), 1, nullptr));
  std::uint64_t found = 0;
  check(cudaMemcpy(&found, sum.data(), 8, cudaMemcpyDefault));
  std::uint64_t wanted = 0;
  for (std::int64_t i = 0; i < data.bytes() / 8; ++i) {
    wanted ^= pattern_word(kReadSeed, static_cast<std::uint64_t>(i));
  }
  if (found != wanted) {
    throw WrongData(fmt::format("reading {} bytes by a kernel: sum {:x}, not {:x}", data.bytes(),
                                found, wanted));
  }
}

}  // namespace

std::unique_ptr<Instance> together(std::vector<Task> tasks, HeldOptions options) {
  std::vector<Lane> lanes;
  for (const Task& task : tasks) lanes.push_back(task.lane);
  return held(
      std::move(lanes),
      [tasks = std::move(tasks)] {
        for (const Task& task : tasks) task.verify();
      },
      std::move(options));
}

Task read_task(int device, Where remote, std::int64_t bytes, int parts) {
  const SharedBuffer data = make_buffer(remote, bytes);
  data->fill(kReadSeed);
  return {{device,
           [=](cudaStream_t stream) {
             check(launch_read(data->data(), bytes, nullptr, parts, stream));
           }},
          [=] { verify_read(device, *data); }};
}

Task write_task(int device, Where remote, std::int64_t bytes, int parts) {
  const SharedBuffer data = make_buffer(remote, bytes);
  data->fill(~kWriteSeed);
  return {{device,
           [=](cudaStream_t stream) {
             check(launch_write(data->data(), bytes, kWriteSeed, parts, stream));
           }},
          [=] {
            data->expect(kWriteSeed, "writing by a kernel");
            data->fill(~kWriteSeed);
          }};
}

std::unique_ptr<Instance> make_kernel_copy(int device, Where to, Where from, std::int64_t bytes) {
  const Move move(to, from, bytes, 7);
  return held_moves({kernel_lane(device, move, 1)}, {move}, "copy by a kernel");
}

Lane kernel_lane(int device, const Move& move, int parts) {
  return {device, [move, parts](cudaStream_t stream) {
            check(launch_copy(move.to->data(), move.from->data(), move.to->bytes(), parts, stream));
          }};
}

void add_zero_copy(Cases& cases) {
  constexpr std::int64_t kSizes[] = {64,       kKiB,      16 * kKiB, 256 * kKiB,
                                     4 * kMiB, 64 * kMiB, 512 * kMiB};
  constexpr std::int64_t kQuickSize = 64 * kMiB;
  const Where host{Kind::Pinned};
  const Where device{Kind::Device};
  const double link = host_link(0);
  const double memory = memory_rate(0);
  for (const std::int64_t bytes : kSizes) {
    const auto put = [&](const char* name, std::int64_t moved, double limit, MakeInstance make) {
      Case& added = add(cases, name, moved, std::move(make));
      added.quick = bytes == kQuickSize;
      added.limit = limit;
    };
    put("gpu/zero-copy/read-host", bytes, link,
        [=] { return together({read_task(0, host, bytes)}); });
    put("gpu/zero-copy/write-host", bytes, link,
        [=] { return together({write_task(0, host, bytes)}); });
    put("gpu/zero-copy/host/both-ways", 2 * bytes, 2 * link, [=] {
      return together({read_task(0, host, bytes, 2), write_task(0, host, bytes, 2)});
    });
    put("gpu/kernel/host-to-device", bytes, link,
        [=] { return make_kernel_copy(0, device, host, bytes); });
    put("gpu/kernel/device-to-host", bytes, link,
        [=] { return make_kernel_copy(0, host, device, bytes); });
    put("gpu/kernel/read-local", bytes, memory,
        [=] { return together({read_task(0, device, bytes)}); });
    put("gpu/kernel/write-local", bytes, memory,
        [=] { return together({write_task(0, device, bytes)}); });
    put("gpu/kernel/local", bytes, memory / 2,
        [=] { return make_kernel_copy(0, device, device, bytes); });
  }
}

}  // namespace strake::measure::cuda
