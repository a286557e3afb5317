/// \file  MPI datatypes as layouts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>

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
  std::int64_t element_bytes =
      0;                          ///< of each basic element; 0 where they differ, or there are none
  int depth = 0;                  ///< constructors inside one another
  std::int64_t constructors = 0;  ///< that the library was asked for, predefined types among them
  std::uint64_t made_by = 0;      ///< Contents::hash of the outermost one
};

/// Finds what a handle was decoded to before, or null. It need not know whether the handle has come
/// to mean another type since. May throw Unsupported: a type that contains this one can't be
/// decoded.
using KnownTypes = std::shared_ptr<const TypeInfo> (*)(MPI_Datatype type);

/// Decodes `type`, committed or not, by asking the library how it was made; leaves no reference
/// behind. Local. Cost: a few calls into MPI per distinct type, O(blocks) for lists; nothing below
/// a member that is `known`. (An Open MPI later than 5.0 gives a copy of each member, so that none
/// is met twice and none is known.) \throws Unsupported  a combiner or predefined type that is not
/// known, a size that the library sees otherwise, or more than 100 constructors inside one another.
/// \throws MpiError     the library refused a query. \throws InvalidArgument  `type` is
/// MPI_DATATYPE_NULL.
[[nodiscard]] TypeInfo decode(MPI_Datatype type, KnownTypes known = nullptr);

/// As decode, where that takes no more than `work`: an argument or a block of a list, a member of a
/// struct and a constructor are one each, some 40 ns. Else gives nothing, soon, and `work` becomes
/// what it takes at least, or twice itself: tries that give up take little time together.
[[nodiscard]] std::optional<TypeInfo> decode_within(MPI_Datatype type, KnownTypes known,
                                                    std::int64_t& work);

/// TypeInfo::element_bytes alone. Cost: that of reading all constructors; nothing for blocks.
/// \throws as decode
[[nodiscard]] std::int64_t element_bytes(MPI_Datatype type);

/// The bytes of a buffer of `count` elements. \throws InvalidArgument  count < 0.
[[nodiscard]] Layout layout_for_count(const TypeInfo& type, std::int64_t count);

}  // namespace strake::mpi
