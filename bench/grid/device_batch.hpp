/// \file  Ghost exchange by the CUDA runtime's own batches of copies.
#pragma once

#include <memory>

#include "grid/contenders.hpp"

namespace bench {

/// A rank's device pulls all boxes out of the neighbours' arrays, which CUDA IPC opens, by one call
/// of cudaMemcpy3DBatchAsync (CUDA 12.8 and later). It has no flags, so that a barrier of the host
/// comes before it, when all cells are there, and one behind it, when they may be changed. None,
/// and a line, where the runtime does not do it.
[[nodiscard]] std::unique_ptr<Contender> make_memcpy_batch(const RankBox& box,
                                                           const HaloShape& shape);

}  // namespace bench
