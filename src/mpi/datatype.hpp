/// \file  MPI datatypes as layouts.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "strake/layout.hpp"

namespace strake::mpi {

/// What a datatype selects and how copies of it are spaced. A plain value: it outlives the
/// datatype.
struct TypeInfo {
  /// The bytes of one element, in type-map order, relative to the buffer address.
  Layout layout;
  std::int64_t size = 0;  ///< [bytes]
  std::int64_t lb = 0;
  std::int64_t extent = 0;
  std::int64_t true_lb = 0;
  std::int64_t true_extent = 0;
  /// No constructor made it; it lives as long as the library.
  bool predefined = false;
};

/// Decodes `type`, committed or not, by asking the library how it was made; leaves no reference
/// behind. Local. Cost: a few calls into MPI per constructor, O(blocks) for lists. \throws
/// Unsupported  a combiner or predefined type that is not known, or a size that the library sees
/// otherwise. \throws MpiError     the library refused a query. \throws InvalidArgument  `type` is
/// MPI_DATATYPE_NULL.
[[nodiscard]] TypeInfo decode(MPI_Datatype type);

/// The bytes of a buffer of `count` elements. \throws InvalidArgument  count < 0.
[[nodiscard]] Layout layout_for_count(const TypeInfo& type, std::int64_t count);

}  // namespace strake::mpi
