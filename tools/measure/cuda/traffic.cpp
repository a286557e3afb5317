#include "measure/cuda/traffic.hpp"

#include <fmt/format.h>

namespace strake::measure::cuda {
namespace {

constexpr std::uint64_t kReadSeed = 5;
constexpr std::uint64_t kWriteSeed = 6;

/// A lane and how its data is looked at.
struct Task {
  Lane lane;
  std::function<void()> verify;
};

std::unique_ptr<Instance> together(std::vector<Task> tasks) {
  std::vector<Lane> lanes;
  for (const Task& task : tasks) lanes.push_back(task.lane);
  return held(std::move(lanes), [tasks = std::move(tasks)] {
    for (const Task& task : tasks) task.verify();
  });
}

/// What was read is gone, so the same kernel reads once more and gives the sum of it.
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

}  // namespace

std::unique_ptr<Instance> make_read(int device, Where remote, std::int64_t bytes) {
  return together({read_task(device, remote, bytes, 1)});
}

std::unique_ptr<Instance> make_write(int device, Where remote, std::int64_t bytes) {
  return together({write_task(device, remote, bytes, 1)});
}

std::unique_ptr<Instance> make_both_read(int device, Where remote, int other_device,
                                         Where other_remote, std::int64_t bytes) {
  return together(
      {read_task(device, remote, bytes, 1), read_task(other_device, other_remote, bytes, 1)});
}

std::unique_ptr<Instance> make_both_write(int device, Where remote, int other_device,
                                          Where other_remote, std::int64_t bytes) {
  return together(
      {write_task(device, remote, bytes, 1), write_task(other_device, other_remote, bytes, 1)});
}

std::unique_ptr<Instance> make_read_and_write(int device, Where remote, std::int64_t bytes) {
  return together({read_task(device, remote, bytes, 2), write_task(device, remote, bytes, 2)});
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

}  // namespace strake::measure::cuda
