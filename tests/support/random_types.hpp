/// \file  Random MPI datatypes from a seed, each with its type map worked out from the MPI
/// standard's text alone, so that what a library or Strake does with the datatype can be checked
/// against it. Needs MPI and the standard library only.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace strake::test {

/// `length` adjacent bytes at `offset` from the buffer address.
struct Run {
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

/// The bytes [begin, end) from the buffer address that some number of elements lie in.
struct Reach {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A committed datatype, freed when this goes. Move-only.
struct RandomType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::string description;  ///< how it was made, as nested calls
  std::vector<Run> runs;    ///< one element's bytes, in packed order
  std::int64_t size = 0;    ///< [bytes]
  std::int64_t extent = 0;

  RandomType() = default;
  RandomType(RandomType&& other) noexcept;
  RandomType& operator=(RandomType&& other) noexcept;
  ~RandomType();

  /// The bytes that `count` elements lie in ({0, 0} when they have none): allocate end - begin, and
  /// give MPI the address of the first less `begin`.
  [[nodiscard]] Reach reach(std::int64_t count) const;
  /// Whether no byte occurs twice among `count` elements, so that they may be received into.
  [[nodiscard]] bool is_receivable(std::int64_t count) const;
  /// Bytes that MPI_Pack must give for `count` elements at `buffer`.
  [[nodiscard]] std::vector<std::byte> packed(const std::byte* buffer, std::int64_t count) const;
};

struct RandomTypeOptions {
  int max_depth = 4;               ///< constructors on top of each other
  std::int64_t max_bytes = 4096;   ///< of one element
  std::int64_t max_reach = 65536;  ///< of one element and its extent
  bool receivable = false;         ///< no byte twice among up to five elements
  bool bytes_only = false;         ///< of MPI_BYTE alone: any two of one size match
  bool forwards = false;           ///< strides, extents and displacements that never lead back
  bool allow_empty = true;         ///< zero counts and lengths, and so datatypes of no bytes
};

/// A sequence of datatypes that the seed determines: ranks with one seed get the same. MPI must be
/// initialised.
class RandomTypes {
 public:
  explicit RandomTypes(std::uint64_t seed, RandomTypeOptions options = {});
  [[nodiscard]] RandomType next();
  /// A number in [low, high], from the same sequence.
  [[nodiscard]] std::int64_t pick(std::int64_t low, std::int64_t high);

 private:
  struct Made;
  Made leaf();
  Made finish(Made made, Made child);
  Made make(int depth);
  Made contiguous(Made child);
  Made vector(Made child, bool in_bytes);
  Made indexed(Made child, bool in_bytes, bool one_length);
  Made struct_of(Made first, int depth);
  Made subarray(Made child);
  Made darray(Made child);
  Made resized(Made child);
  Made dup(Made child);
  bool chance(int percent) { return pick(1, 100) <= percent; }

  std::mt19937_64 random_;
  RandomTypeOptions options_;
};

}  // namespace strake::test
