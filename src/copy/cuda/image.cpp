#include "copy/cuda/image.hpp"

#include <map>
#include <mutex>

#include "device/cuda/driver.hpp"
#include "state/process_state.hpp"

namespace strake::cuda {

LaunchTarget loading_target(int device) {
  LaunchTarget target;
  target.multiprocessors = multiprocessors_of(device);
  target.load_only = true;
  return target;
}

void DeviceImage::upload(std::span<const std::byte> image) {
  // Beside all other work of the device, one upload at a time.
  struct Uploads {
    std::mutex mutex;
    std::map<int, cudaStream_t> streams;
  };
  auto& uploads = ProcessState::part<Uploads>();
  const DeviceScope scope(device_);
  const std::lock_guard lock(uploads.mutex);
  cudaStream_t& stream = uploads.streams[device_];
  if (stream == nullptr) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaMemcpyAsync(block_.data(), image.data(), image.size(), cudaMemcpyHostToDevice, stream));
  check(cudaStreamSynchronize(stream));
}

}  // namespace strake::cuda
