#include "device/memcpy_3d.hpp"

#include <cstdio>

namespace bench {

#if CUDART_VERSION >= 12080
namespace {

using strake::Layout;

cudaError_t enqueue_all(std::vector<cudaMemcpy3DBatchOp>& copies, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  return cudaMemcpy3DBatchAsync(copies.size(), copies.data(), 0, stream);
#else
  std::size_t failed = 0;
  return cudaMemcpy3DBatchAsync(copies.size(), copies.data(), &failed, 0, stream);
#endif
}

/// A layout of one row, of rows, or of planes of rows, whose pitch is a divisor of the planes'.
cudaMemcpy3DOperand operand(std::byte* base, const Layout& layout, strake::Place place) {
  const auto dims = layout.dims();
  cudaMemcpy3DOperand made{};
  made.type = cudaMemcpyOperandTypePointer;
  made.op.ptr.ptr = base + layout.offset();
  made.op.ptr.locHint.type = cudaMemLocationTypeDevice;
  made.op.ptr.locHint.id = place.device;
  if (!dims.empty()) made.op.ptr.rowLength = static_cast<std::size_t>(dims.back().stride_bytes);
  if (dims.size() == 2) {
    require(dims[0].stride_bytes % dims[1].stride_bytes == 0, "the planes are not whole rows");
    made.op.ptr.layerHeight = static_cast<std::size_t>(dims[0].stride_bytes / dims[1].stride_bytes);
  }
  return made;
}

cudaExtent extent_of(const Layout& layout) {
  require(layout.kind() == Layout::Kind::Box && layout.dims().size() <= 2,
          "the runtime has no words for a layout");
  const auto dims = layout.dims();
  const auto count = [](const strake::Dim& dim) { return static_cast<std::size_t>(dim.count); };
  return {static_cast<std::size_t>(layout.block_bytes()), dims.empty() ? 1 : count(dims.back()),
          dims.size() < 2 ? 1 : count(dims[0])};
}

std::vector<cudaMemcpy3DBatchOp> copies_of(const BatchCase& batch,
                                           const std::vector<std::byte*>& bases) {
  std::vector<cudaMemcpy3DBatchOp> copies;
  for (const strake::CopyBatch::Copy& copy : batch.copies) {
    const auto to = static_cast<std::size_t>(copy.to_slot);
    const auto from = static_cast<std::size_t>(copy.from_slot);
    cudaMemcpy3DBatchOp& op = copies.emplace_back();
    op.src = operand(bases[from], copy.from, batch.slots[from].place);
    op.dst = operand(bases[to], copy.to, batch.slots[to].place);
    // The other side has the same form, or is dense.
    op.extent = extent_of(copy.from.is_dense() ? copy.to : copy.from);
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  }
  return copies;
}

}  // namespace

std::optional<Variant> memcpy_3d_variant(cudaStream_t stream, const BatchCase& batch, int calls) {
  std::array<std::vector<cudaMemcpy3DBatchOp>, 2> copies = {copies_of(batch, batch.bases[0]),
                                                            copies_of(batch, batch.bases[1])};
  cudaError_t code = enqueue_all(copies[0], stream);
  if (code == cudaSuccess) code = cudaStreamSynchronize(stream);
  if (code != cudaSuccess) {
    std::fprintf(stderr, "cudaMemcpy3DBatchAsync is not measured: %s\n", cudaGetErrorString(code));
    (void)cudaGetLastError();
    return std::nullopt;
  }
  // Not held: a stream that is held takes only about a thousand copies.
  return Variant{"cudaMemcpy3DBatchAsync",
                 stream,
                 0,
                 calls,
                 false,
                 [stream, copies](int i) mutable {
                   check(enqueue_all(copies[static_cast<std::size_t>(i % 2)], stream));
                 },
                 ""};
}
#else
std::optional<Variant> memcpy_3d_variant(cudaStream_t, const BatchCase&, int) {
  std::fprintf(stderr, "cudaMemcpy3DBatchAsync is not measured: CUDA %d lacks it\n",
               CUDART_VERSION);
  return std::nullopt;
}
#endif

}  // namespace bench
