/// \file  The exchange that a good program writes by hand: one kernel packs all fields and
/// directions into a buffer a peer, and copies what a rank sends to itself; messages; one kernel
/// unpacks.
#pragma once

#include <memory>
#include <vector>

#include "grid/device_block.hpp"

namespace bench {

/// Copies of boxes in one launch. Their tables are in the memory of the current device.
class BoxCopies {
 public:
  explicit BoxCopies(const std::vector<BoxCopy>& boxes);
  void enqueue(cudaStream_t stream) const;

 private:
  BoxCopies(const std::vector<BoxCopy>& boxes, const std::vector<Tile>& tiles);
  std::uint32_t tile_count_;
  DeviceMemory boxes_;
  DeviceMemory tiles_;
};

class PackedContender : public BlockContender {
 public:
  PackedContender(const RankBox& box, const HaloShape& shape, Where buffers);

 protected:
  /// A message to a peer and one from there, of as many cells each.
  struct Message {
    int peer;
    double* out;
    double* in;
    std::int64_t cells;
  };
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
  void pack() const { pack_->enqueue(stream()); }
  void unpack() const { unpack_->enqueue(stream()); }

 private:
  std::vector<Message> messages_;
  std::unique_ptr<DeviceMemory> out_;
  std::unique_ptr<DeviceMemory> in_;
  std::unique_ptr<BoxCopies> pack_;
  std::unique_ptr<BoxCopies> unpack_;
};

/// Messages by grouped ncclSend and ncclRecv, in the stream of the kernels. It waits for the end
/// each time, of one or of `exchanges`. None, and a line, where there is no NCCL, or ranks share a
/// device.
[[nodiscard]] std::unique_ptr<Contender> make_packed_nccl(const RankBox& box,
                                                          const HaloShape& shape, int exchanges);
/// Messages by MPI from and to pinned host memory, which the kernels write and read.
[[nodiscard]] std::unique_ptr<Contender> make_packed_pinned(const RankBox& box,
                                                            const HaloShape& shape);
/// Messages by MPI from and to the device's memory. None, and a line, where the MPI library does
/// not say that it takes it.
[[nodiscard]] std::unique_ptr<Contender> make_packed_aware(const RankBox& box,
                                                           const HaloShape& shape);

}  // namespace bench
