/// \file  Copies of layouts that are made of parts, as copies of these. No CUDA in here.
#pragma once

#include <cstdint>
#include <vector>

#include "strake/copy.hpp"

namespace strake::cuda {

/// One copy for each part of a layout, if the parts are long and no more than `most`: a part may be
/// a box, which is found sooner than a place in a tree. Nothing where there are no such parts, or
/// where the two sides are not cut alike.
[[nodiscard]] std::vector<CopyBatch::Copy> parts_of(const CopyBatch::Copy& copy, std::int64_t most);

}  // namespace strake::cuda
