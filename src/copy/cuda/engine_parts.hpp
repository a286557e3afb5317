/// \file  A copy as one that a copy engine carries out: rows of one length, in planes. No CUDA in
/// here.
#pragma once

#include <cstdint>
#include <optional>

#include "strake/copy.hpp"

namespace strake::cuda {

/// Where one side of it lies.
struct EngineSide {
  std::int32_t slot = 0;
  std::int64_t offset = 0;      ///< of the first byte
  std::int64_t pitch = 0;       ///< from one row to the next [bytes]
  std::int64_t plane_rows = 1;  ///< from one plane to the next [rows]
};

struct EnginePart {
  std::int64_t row_bytes = 0;
  std::int64_t rows = 1;    ///< of a plane
  std::int64_t planes = 1;  ///< pitch * plane_rows apart
  EngineSide to;
  EngineSide from;
};

/// Copies of bytes that are dense on one side and a box of up to two dims on the other, or such
/// boxes of one shape on both, whose rows and planes follow each other in memory. Nothing for
/// others, and those of no bytes.
[[nodiscard]] std::optional<EnginePart> engine_part_of(const CopyBatch::Copy& copy);

}  // namespace strake::cuda
