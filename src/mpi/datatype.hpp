/// \file  MPI datatypes as layouts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "strake/layout.hpp"

namespace strake::mpi {

/// The bytes that a datatype selects, and the spacing of its copies. A TypeInfo is a plain value,
/// and outlives the datatype.
struct TypeInfo {
  /// The bytes of one element, in type-map order, relative to the buffer address.
  Layout layout;
  std::int64_t size = 0;  ///< [bytes]
  std::int64_t lb = 0;
  std::int64_t extent = 0;
  std::int64_t true_lb = 0;
  std::int64_t true_extent = 0;
  bool predefined = false;
  /// Size of each basic element; 0 if they differ, or there are none. [bytes]
  std::int64_t element_bytes = 0;
  int depth = 0;                  ///< levels of nested constructors
  std::int64_t constructors = 0;  ///< constructors and predefined types that were decoded for it
  std::uint64_t made_by = 0;      ///< Contents::hash of the outermost constructor
};

/// Returns what a handle was decoded to before, or null. The handle may have become that of another
/// type since. May throw Unsupported: then a type with this member can't be decoded.
using KnownTypes = std::shared_ptr<const TypeInfo> (*)(MPI_Datatype type);

/// Decodes `type`, committed or not, by asking the library how it was made; keeps no handle. Local.
/// Cost: a few calls into MPI for each distinct type, O(blocks) for lists; nothing for a member
/// that is `known`. (An Open MPI later than 5.0 returns a new copy of each member, so that members
/// are never known.)
/// \throws Unsupported  an unknown combiner or predefined type, a size other than the library's, or
/// more than 100 levels of constructors.
/// \throws MpiError  the library refused a query.
/// \throws InvalidArgument  `type` is MPI_DATATYPE_NULL.
[[nodiscard]] TypeInfo decode(MPI_Datatype type, KnownTypes known = nullptr);

/// As decode, if that takes no more than `work`. The unit, about 40 ns, is an argument or a block
/// of a list, a member of a struct, or a constructor. Otherwise gives up early, returns nothing,
/// and raises `work` to what it takes at least, or to twice itself. So repeated tries take little
/// time together.
[[nodiscard]] std::optional<TypeInfo> decode_within(MPI_Datatype type, KnownTypes known,
                                                    std::int64_t& work);

/// Only TypeInfo::element_bytes. Cost: as decode, but without O(blocks). \throws as decode
[[nodiscard]] std::int64_t element_bytes(MPI_Datatype type);

/// The bytes of a buffer of `count` elements. \throws InvalidArgument  count < 0.
[[nodiscard]] Layout layout_for_count(const TypeInfo& type, std::int64_t count);

}  // namespace strake::mpi
