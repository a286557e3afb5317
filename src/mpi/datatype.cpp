#include "mpi/datatype.hpp"

#include <algorithm>
#include <string>

#include "mpi/combiners.hpp"
#include "mpi/contents.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::mpi {
namespace {

struct Extent {
  MPI_Count lb = 0;
  MPI_Count extent = 0;
};

std::int64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  check(real_mpi().MPI_Type_size_x(type, &size), "MPI_Type_size_x");
  return size;
}

Extent extent_of(MPI_Datatype type) {
  Extent e;
  check(real_mpi().MPI_Type_get_extent_x(type, &e.lb, &e.extent), "MPI_Type_get_extent_x");
  return e;
}

// The pair types that may have gaps: struct { value; int index; }. MPI_FLOAT_INT, MPI_2INT and
// Fortran's pairs have none.
bool is_pair_with_gaps(MPI_Datatype type) {
  const MPI_Datatype pairs[] = {MPI_SHORT_INT, MPI_LONG_INT, MPI_DOUBLE_INT, MPI_LONG_DOUBLE_INT};
  return std::find(std::begin(pairs), std::end(pairs), type) != std::end(pairs);
}

Element predefined(MPI_Datatype type) {
  const std::int64_t size = size_of(type);
  const Extent e = extent_of(type);
  if (size == 0) return {Layout(), e.extent};
  if (size == e.extent) return {Layout::dense(size, e.lb), e.extent};
  if (!is_pair_with_gaps(type)) {
    throw Unsupported("a predefined MPI type of " + std::to_string(size) + " bytes with extent " +
                      std::to_string(e.extent) + " that is none of the pair types");
  }
  constexpr std::int64_t kIndex = sizeof(int);
  const std::int64_t value = size - kIndex;
  const std::int64_t index_at =
      (value + kIndex - 1) / kIndex * kIndex;  // int is aligned by its size
  const std::int64_t offsets[] = {0, index_at};
  const std::int64_t lengths[] = {value, kIndex};
  return {Layout::blocks(offsets, lengths), e.extent};
}

/// A constructor inside others. Each takes about 1 KiB of stack, of which threads may have little.
class Level {
 public:
  Level() {
    if (t_depth >= kDeepest) {
      throw Unsupported("an MPI datatype of more than " + std::to_string(kDeepest) +
                        " constructors inside one another");
    }
    ++t_depth;
  }
  ~Level() { --t_depth; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  static constexpr int kDeepest = 500;
  static inline thread_local int t_depth = 0;
};

}  // namespace

Element element_of(MPI_Datatype type) {
  const Level level;
  Contents contents(type);
  if (contents.predefined()) return predefined(type);
  return {combine(contents), extent_of(type).extent};
}

TypeInfo decode(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw InvalidArgument("MPI_DATATYPE_NULL has no layout");
  Contents contents(type);
  TypeInfo info;
  info.predefined = contents.predefined();
  info.layout = info.predefined ? predefined(type).layout : combine(contents);
  info.size = size_of(type);
  if (info.size != info.layout.size_bytes()) {
    throw Unsupported("the MPI library gives a datatype " + std::to_string(info.size) +
                      " bytes where its constructors give it " +
                      std::to_string(info.layout.size_bytes()));
  }
  const Extent extent = extent_of(type);
  info.lb = extent.lb;
  info.extent = extent.extent;
  Extent true_extent;
  check(real_mpi().MPI_Type_get_true_extent_x(type, &true_extent.lb, &true_extent.extent),
        "MPI_Type_get_true_extent_x");
  info.true_lb = true_extent.lb;
  info.true_extent = true_extent.extent;
  return info;
}

Layout layout_for_count(const TypeInfo& type, std::int64_t count) {
  return type.layout.repeated(count, type.extent);
}

}  // namespace strake::mpi
