/// \file  Copies of a round of puts that copy engines carry out, all those of a step by one call.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "copy/cuda/engine_parts.hpp"
#include "copy/device_copier.hpp"

namespace strake::cuda {

class PutEngine {
 public:
  using Copies = std::vector<CopyBatch::Copy>;

  PutEngine() = default;
  /// Adds those of `copies` that engines can carry out; the others, to `left`.
  void add(std::span<const CopyBatch::Copy> copies, Copies& left);
  [[nodiscard]] bool is_empty() const noexcept { return parts_.empty(); }
  /// Enqueues all, in any order, within a DeviceScope; bases[i] is the address of slot i. Nothing
  /// is allocated once a thread has called it before.
  /// \throws CudaError
  void enqueue(cudaStream_t stream, std::span<const std::byte* const> bases) const;

 private:
  std::vector<EnginePart> parts_;
};

}  // namespace strake::cuda
