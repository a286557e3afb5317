#include "grid/device_batch.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <vector>

#include "grid/device_block.hpp"

namespace bench {

#if CUDART_VERSION >= 12080
namespace {

/// The blocks of other ranks, by rank.
class OpenedBlocks {
 public:
  OpenedBlocks() = default;
  ~OpenedBlocks() {
    for (const auto& [rank, address] : opened_) {
      const cudaError_t code = cudaIpcCloseMemHandle(address);
      if (code != cudaSuccess)
        std::fprintf(stderr, "rank %d's arrays were not closed: %s\n", rank,
                     cudaGetErrorString(code));
    }
    MPI_Barrier(MPI_COMM_WORLD);  // who frees memory must know that nobody has it open
  }
  OpenedBlocks(const OpenedBlocks&) = delete;
  OpenedBlocks& operator=(const OpenedBlocks&) = delete;

  /// Opens the blocks of `peers`; `own` is this rank's block. Collective.
  cudaError_t open(double* own, const std::vector<int>& peers) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    cudaIpcMemHandle_t mine{};
    const cudaError_t code = cudaIpcGetMemHandle(&mine, own);
    std::vector<cudaIpcMemHandle_t> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all.data(), sizeof(mine), MPI_BYTE,
                  MPI_COMM_WORLD);
    if (!all_ranks(code == cudaSuccess)) return code != cudaSuccess ? code : cudaErrorUnknown;
    for (const int peer : peers) {
      if (opened_.contains(peer)) continue;
      void* address = nullptr;
      const cudaError_t failed = cudaIpcOpenMemHandle(&address, all[static_cast<std::size_t>(peer)],
                                                      cudaIpcMemLazyEnablePeerAccess);
      if (failed != cudaSuccess) return failed;
      opened_.emplace(peer, address);
    }
    return cudaSuccess;
  }
  [[nodiscard]] double* at(int rank) const { return static_cast<double*>(opened_.at(rank)); }

 private:
  std::map<int, void*> opened_;
};

cudaMemcpy3DOperand operand(const BoxEnd& end, int device) {
  cudaMemcpy3DOperand made{};
  made.type = cudaMemcpyOperandTypePointer;
  made.op.ptr.ptr = end.cells;
  made.op.ptr.rowLength = static_cast<std::size_t>(end.row) * sizeof(double);
  made.op.ptr.layerHeight = static_cast<std::size_t>(end.plane / end.row);
  made.op.ptr.locHint.type = cudaMemLocationTypeDevice;
  made.op.ptr.locHint.id = device;
  return made;
}

class MemcpyBatchContender final : public BlockContender {
 public:
  MemcpyBatchContender(const RankBox& box, const HaloShape& shape)
      : BlockContender(box, shape), transfers_(transfers_of(box, shape)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }
  /// Opens the arrays and tries the batch once. Collective.
  cudaError_t prepare() {
    std::vector<int> peers;
    for (const Transfer& transfer : transfers_)
      if (transfer.from != rank_) peers.push_back(transfer.from);
    cudaError_t code = others_.open(block().data(), peers);
    if (!all_ranks(code == cudaSuccess)) return code != cudaSuccess ? code : cudaErrorUnknown;
    for (const Transfer& transfer : transfers_)
      for (int q = 0; q < block().quantities(); ++q) add(transfer, q);
    code = enqueue();
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream());
    return code;
  }
  void exchange() override {
    MPI_Barrier(MPI_COMM_WORLD);
    check(enqueue());
    synchronize();
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  void add(const Transfer& transfer, int quantity) {
    double* const own = block().data();
    double* const source = transfer.from == rank_ ? own : others_.at(transfer.from);
    cudaMemcpy3DBatchOp op{};
    op.src = operand(block().end_at(source, quantity, transfer.sent), device_of(transfer.from));
    op.dst = operand(block().end_at(own, quantity, transfer.ghosts), device_of(rank_));
    const auto extent = [&](int axis) {
      return static_cast<std::size_t>(transfer.sent.extent(axis));
    };
    op.extent = {extent(0) * sizeof(double), extent(1), extent(2)};
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    copies_.push_back(op);
  }
  cudaError_t enqueue() {
#if CUDART_VERSION >= 13000
    return cudaMemcpy3DBatchAsync(copies_.size(), copies_.data(), 0, stream());
#else
    std::size_t failed = 0;
    return cudaMemcpy3DBatchAsync(copies_.size(), copies_.data(), &failed, 0, stream());
#endif
  }

  std::vector<Transfer> transfers_;
  int rank_ = 0;
  OpenedBlocks others_;
  std::vector<cudaMemcpy3DBatchOp> copies_;
};

}  // namespace

std::unique_ptr<Contender> make_memcpy_batch(const RankBox& box, const HaloShape& shape) {
  auto contender = std::make_unique<MemcpyBatchContender>(box, shape);
  const cudaError_t code = contender->prepare();
  if (code != cudaSuccess) {
    std::fprintf(stderr, "cudaMemcpy3DBatchAsync is left out: %s\n", cudaGetErrorString(code));
    (void)cudaGetLastError();
  }
  if (!all_ranks(code == cudaSuccess)) return nullptr;
  return contender;
}
#else
std::unique_ptr<Contender> make_memcpy_batch(const RankBox&, const HaloShape&) {
  std::fprintf(stderr, "cudaMemcpy3DBatchAsync is left out: CUDA %d lacks it\n", CUDART_VERSION);
  return nullptr;
}
#endif

}  // namespace bench
