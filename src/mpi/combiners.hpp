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

/// A datatype as the constructors above it see it.
struct Element {
  Layout layout;
  /// Distance between neighbours. [bytes]
  std::int64_t extent = 0;
  int depth = 0;  ///< constructors inside one another
};

/// The way down through a datatype. A member that occurs again is not decoded again.
struct Descent {
  KnownTypes known = nullptr;
  std::int64_t most_work = INT64_MAX;
  std::int64_t work = 0;  ///< as decode_within counts it
  int depth = 0;          ///< constructors that this one is inside of
  int deepest = 0;        ///< the largest `depth` so far
  /// Of every constructor so far. They are kept to the end: a handle that they own can't come to
  /// mean another type before.
  std::deque<Contents> contents = {};
  std::unordered_map<MPI_Datatype, Element> elements = {};  ///< what was decoded so far
  /// Of the basic elements so far: the size of each, 0 where they differ. [bytes]
  std::optional<std::int64_t> element_bytes = {};
  /// Before so much more work. False: it is too much, and no more is done: what is left to decode
  /// turns out empty, up to the outermost, which is then of no use.
  bool afford(std::int64_t more) {
    work += more;
    return work <= most_work;
  }
  void meet(std::int64_t bytes) {
    element_bytes = element_bytes.value_or(bytes) == bytes ? bytes : 0;
  }
};

/// `type` and all below it; what is known already is not asked for again. The reference is good as
/// long as `descent`. \throws Unsupported  for a combiner or predefined type that is not known
/// here, numbers that a layout can't hold, or too many constructors, also inside one another.
/// \throws MpiError
[[nodiscard]] const Element& element_of(MPI_Datatype type, Descent& descent);

/// What the constructor that made `contents` selects. Reads `contents` to its end. Cost:
/// O(arguments + distinct types), and O(blocks) where the result is no box. \throws as element_of
[[nodiscard]] Layout combine(Contents& contents, Descent& descent);

}  // namespace strake::mpi
