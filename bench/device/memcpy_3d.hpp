/// \file  The CUDA runtime's own batches of copies, to compare with.
#pragma once

#include <optional>

#include "device/batch_cases.hpp"

namespace bench {

/// A case of boxes as one call of cudaMemcpy3DBatchAsync (CUDA 12.8 and later). None, with a
/// message, where there is no such call, or where it fails.
[[nodiscard]] std::optional<Variant> memcpy_3d_variant(cudaStream_t stream, const BatchCase& batch,
                                                       int calls);

}  // namespace bench
