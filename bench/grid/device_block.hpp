/// \file  A rank's block of a periodic grid in its device's memory, with ghost cells on all sides.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "grid/contenders.hpp"
#include "grid/device.hpp"
#include "grid/kernels.hpp"
#include "mpi/halo.hpp"
#include "strake/stream.hpp"

namespace bench {

/// All arrays are in one allocation, at the same distances on all ranks. The allocation is of whole
/// 2 MiB: another process that opens it sees nothing else.
class DeviceBlock {
 public:
  /// In the memory of the current device.
  DeviceBlock(const RankBox& box, const HaloShape& shape);

  [[nodiscard]] int quantities() const { return shape_.quantities; }
  /// The allocation: the first cell of the first array.
  [[nodiscard]] double* data() const { return memory_.doubles(); }
  /// Where a part of an array begins, of a block that is at `base`: this one, or another rank's.
  [[nodiscard]] BoxEnd end_at(double* base, int quantity, const strake::Box& part) const;

  /// As Contender::fill(), wrong_cells(). Both end when the device has done it.
  void fill(int epoch);
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const;

 private:
  [[nodiscard]] double* array(int quantity) const { return data() + quantity * shape_.cells(); }

  BlockShape shape_;
  BlockCells places_;
  DeviceMemory memory_;
};

/// A contender that has such a block, and a stream in which it works.
class BlockContender : public Contender {
 public:
  BlockContender(const RankBox& box, const HaloShape& shape)
      : device_(use_device()), block_(box, shape), stream_(strake::Stream::make(device_)) {}
  void fill(int epoch) override { block_.fill(epoch); }
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const override {
    return block_.wrong_cells(epoch);
  }

 protected:
  [[nodiscard]] const DeviceBlock& block() const { return block_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.native(); }
  void synchronize() const { check(cudaStreamSynchronize(stream())); }

 private:
  int device_;
  DeviceBlock block_;
  strake::Stream stream_;
};

}  // namespace bench
