/// \file  The type map that each MPI constructor (combiner) prescribes, as a Layout.
#pragma once

#include <cstdint>

#include "mpi/contents.hpp"
#include "strake/layout.hpp"

namespace strake::mpi {

/// A datatype as the constructors above it see it.
struct Element {
  Layout layout;
  /// Distance between neighbours. [bytes]
  std::int64_t extent = 0;
};

/// `type` and all below it. \throws Unsupported  for a combiner or predefined type that is not
/// known here, or numbers that a layout can't hold. \throws MpiError
[[nodiscard]] Element element_of(MPI_Datatype type);

/// What the constructor that made `contents` selects. Reads `contents` to its end. Cost:
/// O(arguments + distinct types), and O(blocks) where the result is no box. \throws as element_of
[[nodiscard]] Layout combine(Contents& contents);

}  // namespace strake::mpi
