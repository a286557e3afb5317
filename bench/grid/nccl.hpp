/// \file  Messages of NCCL, found at run time: nothing is linked, and no header is needed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

namespace bench {

struct NcclFunctions;

/// All ranks of the job. Calls enqueue in streams and return.
class NcclCommunicator {
 public:
  /// None, and a line on standard error, on all ranks alike, if a rank has no NCCL, or ranks share
  /// a device, or NCCL can't connect them. Collective; the current device is this rank's.
  [[nodiscard]] static std::unique_ptr<NcclCommunicator> join();
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  /// Sends and receives between these two calls start together, so that they may meet.
  /// \throws strake::Error  these and the others, if NCCL fails
  void group_start() const;
  void group_end() const;
  void send(const void* from, std::int64_t bytes, int peer, cudaStream_t stream) const;
  void receive(void* to, std::int64_t bytes, int peer, cudaStream_t stream) const;

 private:
  NcclCommunicator(const NcclFunctions& functions, void* communicator)
      : functions_(functions), communicator_(communicator) {}
  const NcclFunctions& functions_;
  void* communicator_;
};

}  // namespace bench
