#include "copy/cuda/put_engine.hpp"

#include "device/cuda/driver.hpp"
#include "device/cuda/stream.hpp"
#include "memory/per_thread.hpp"

namespace strake::cuda {
namespace {

void* address_of(const EngineSide& side, std::span<const std::byte* const> bases) {
  return const_cast<std::byte*>(bases[static_cast<std::size_t>(side.slot)] + side.offset);
}

cudaExtent extent_of(const EnginePart& part) {
  return {size_of(part.row_bytes), size_of(part.rows), size_of(part.planes)};
}

void copy_one(const EnginePart& part, std::span<const std::byte* const> bases,
              cudaStream_t stream) {
  const auto side = [&](const EngineSide& of) {
    return cudaPitchedPtr{address_of(of, bases), size_of(of.pitch), size_of(part.row_bytes),
                          size_of(of.plane_rows)};
  };
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = side(part.from);
  parameters.dstPtr = side(part.to);
  parameters.extent = extent_of(part);
  parameters.kind = cudaMemcpyDefault;
  check(cudaMemcpy3DAsync(&parameters, stream));
}

#if CUDART_VERSION >= 12080
cudaMemcpy3DOperand operand(const EngineSide& side, std::span<const std::byte* const> bases) {
  cudaMemcpy3DOperand made{};
  made.type = cudaMemcpyOperandTypePointer;
  made.op.ptr.ptr = address_of(side, bases);
  made.op.ptr.rowLength = size_of(side.pitch);
  made.op.ptr.layerHeight = size_of(side.plane_rows);
  return made;
}

/// Whether the driver has batched copies, which came with CUDA 12.8.
bool driver_has_batches() {
  static const bool has = [] {
    constexpr int kFirst = 12080;
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess && version >= kFirst;
  }();
  return has;
}

bool copy_together(std::span<const EnginePart> parts, std::span<const std::byte* const> bases,
                   cudaStream_t stream) {
  // A default stream takes no batched copies.
  if (!driver_has_batches() || is_default_stream(stream)) return false;
  using Batch = std::vector<cudaMemcpy3DBatchOp>;
  Batch& batch = PerThread<Batch>::get();
  batch.clear();
  for (const EnginePart& part : parts) {
    cudaMemcpy3DBatchOp one{};
    one.src = operand(part.from, bases);
    one.dst = operand(part.to, bases);
    one.extent = extent_of(part);
    one.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    // Else the driver may take a kernel, within a device.
    one.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    batch.push_back(one);
  }
#if CUDART_VERSION >= 13000
  check(cudaMemcpy3DBatchAsync(batch.size(), batch.data(), 0, stream));
#else
  std::size_t failed = 0;
  check(cudaMemcpy3DBatchAsync(batch.size(), batch.data(), &failed, 0, stream));
#endif
  return true;
}
#else
bool copy_together(std::span<const EnginePart> /*parts*/,
                   std::span<const std::byte* const> /*bases*/, cudaStream_t /*stream*/) {
  return false;
}
#endif

}  // namespace

void PutEngine::add(std::span<const CopyBatch::Copy> copies, Copies& left) {
  for (const CopyBatch::Copy& copy : copies) {
    if (const auto part = engine_part_of(copy)) {
      parts_.push_back(*part);
    } else {
      left.push_back(copy);
    }
  }
}

void PutEngine::enqueue(cudaStream_t stream, std::span<const std::byte* const> bases) const {
  if (parts_.empty() || copy_together(parts_, bases, stream)) return;
  for (const EnginePart& part : parts_) copy_one(part, bases, stream);
}

}  // namespace strake::cuda
