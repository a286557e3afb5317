#include "device/cuda/peers.hpp"

#include <cuda_runtime.h>

#include <mutex>
#include <set>
#include <utility>

#include "device/cuda/driver.hpp"
#include "state/process_state.hpp"

namespace strake::cuda {
namespace {

struct EnabledPeers {
  std::mutex mutex;
  std::set<std::pair<int, int>> pairs;
};

}  // namespace

bool enable_peer(int device, int other) {
  auto& [mutex, enabled] = ProcessState::part<EnabledPeers>();
  const std::scoped_lock lock(mutex);
  if (device == other || enabled.contains({device, other})) return true;
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, device, other));
  if (possible == 0) return false;
  const DeviceScope scope(device);
  const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
  if (code != cudaErrorPeerAccessAlreadyEnabled) check(code);
  (void)cudaGetLastError();
  enabled.emplace(device, other);
  return true;
}

}  // namespace strake::cuda
