/// \file  The type map that each MPI constructor (combiner) prescribes, as a Layout.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "mpi/contents.hpp"
#include "mpi/datatype.hpp"
#include "strake/layout.hpp"

namespace strake::mpi {

/// A decoded datatype, as far as a constructor that takes it needs it.
struct Element {
  Layout layout;
  /// Distance between neighbours. [bytes]
  std::int64_t extent = 0;
  int depth = 0;  ///< levels of nested constructors
};

/// State of decoding a datatype from the outermost constructor inwards. A member that occurs again
/// is not decoded again.
struct Descent {
  KnownTypes known = nullptr;
  std::int64_t most_work = INT64_MAX;
  std::int64_t work = 0;  ///< as decode_within counts it
  int depth = 0;          ///< constructors that the current one is nested in
  int deepest = 0;        ///< the largest `depth` so far
  /// The contents of every constructor so far. They own the members' handles, so they are kept
  /// until the end: MPI must not give such a handle to another type meanwhile.
  std::deque<Contents> contents = {};
  std::unordered_map<MPI_Datatype, Element> elements = {};  ///< decoded so far
  /// The size of each basic element so far, or 0 if they differ. [bytes]
  std::optional<std::int64_t> element_bytes = {};
  /// Call it before so much more work. False: it would exceed `most_work`. Then return an empty
  /// layout at once; the result as a whole is discarded.
  bool afford(std::int64_t more) {
    work += more;
    return work <= most_work;
  }
  /// Call it for each basic element.
  void meet(std::int64_t bytes) {
    element_bytes = element_bytes.value_or(bytes) == bytes ? bytes : 0;
  }
};

/// Decodes `type` and all its members, except those that are known. The reference is valid as long
/// as `descent`.
/// \throws Unsupported  for an unknown combiner or predefined type, numbers that a layout can't
/// hold, too many constructors, or too many levels of them.
/// \throws MpiError
[[nodiscard]] const Element& element_of(MPI_Datatype type, Descent& descent);

/// The bytes that the constructor with these `contents` selects. Reads `contents` to its end. Cost:
/// O(arguments + distinct types), and O(blocks) if the result is no box.
/// \throws as element_of
[[nodiscard]] Layout combine(Contents& contents, Descent& descent);

}  // namespace strake::mpi
