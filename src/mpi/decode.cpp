#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mpi/combiners.hpp"
#include "mpi/contents.hpp"
#include "mpi/datatype.hpp"
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

Element predefined(MPI_Datatype type, Descent& descent) {
  const std::int64_t size = size_of(type);
  const Extent e = extent_of(type);
  if (size == 0) return {Layout(), e.extent};
  if (size == e.extent) {
    descent.meet(size);
    return {Layout::dense(size, e.lb), e.extent};
  }
  descent.meet(0);
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

/// Each level of constructors takes about 1 KiB of stack, and threads may have small stacks.
constexpr int kDeepest = 100;

/// If Open MPI returns a copy of each member, a type that occurs again is decoded again. So a nest
/// may have as many constructors as leaves, some 4 us each.
constexpr std::size_t kMostConstructors = std::size_t{1} << 16;

/// \throws Unsupported  more levels than kDeepest
void reach(Descent& descent, int depth) {
  if (depth > kDeepest) {
    throw Unsupported("an MPI datatype of more than " + std::to_string(kDeepest) +
                      " constructors inside one another");
  }
  descent.deepest = std::max(descent.deepest, depth);
}

class Level {
 public:
  explicit Level(Descent& descent) : descent_(descent) {
    reach(descent, descent.depth + 1);
    ++descent_.depth;
  }
  ~Level() { --descent_.depth; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Descent& descent_;
};

/// Null: too much work.
Contents* open(MPI_Datatype type, Descent& descent) {
  if (descent.contents.size() == kMostConstructors) {
    throw Unsupported("an MPI datatype of more than " + std::to_string(kMostConstructors) +
                      " constructors");
  }
  if (!descent.afford(1 + list_arguments(type))) return nullptr;
  return &descent.contents.emplace_back(type);
}

/// All members of TypeInfo that the library gives for `type` itself.
TypeInfo outside_of(MPI_Datatype type, const Contents& contents) {
  TypeInfo info;
  info.predefined = contents.predefined();
  info.made_by = contents.hash();
  info.size = size_of(type);
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

/// Whether `known`, decoded before, may be the type that the handle has now. The handle may have
/// been freed through PMPI and reused since.
bool looks_like(const TypeInfo& known, const TypeInfo& now) {
  return known.made_by == now.made_by && known.size == now.size && known.lb == now.lb &&
         known.extent == now.extent && known.true_lb == now.true_lb &&
         known.true_extent == now.true_extent;
}

Element decode_element(MPI_Datatype type, Descent& descent) {
  const Level level(descent);
  Contents* const contents = open(type, descent);
  if (contents == nullptr) return {};
  if (contents->predefined()) return predefined(type, descent);
  if (descent.known != nullptr) {
    if (const auto known = descent.known(type);
        known != nullptr && looks_like(*known, outside_of(type, *contents))) {
      reach(descent, descent.depth + known->depth);
      if (known->size != 0) descent.meet(known->element_bytes);
      return {known->layout, known->extent};
    }
  }
  return {combine(*contents, descent), extent_of(type).extent};
}

}  // namespace

const Element& element_of(MPI_Datatype type, Descent& descent) {
  const auto [entry, is_new] = descent.elements.try_emplace(type);
  Element& element = entry->second;  // stays where it is as the map grows
  if (!is_new) {
    reach(descent, descent.depth + element.depth);
    return element;
  }
  const int deepest_before = std::exchange(descent.deepest, descent.depth);
  element = decode_element(type, descent);
  element.depth = descent.deepest - descent.depth;
  descent.deepest = std::max(descent.deepest, deepest_before);
  return element;
}

TypeInfo decode(MPI_Datatype type, KnownTypes known) {
  std::int64_t any = INT64_MAX;
  return *decode_within(type, known, any);
}

std::optional<TypeInfo> decode_within(MPI_Datatype type, KnownTypes known, std::int64_t& work) {
  if (type == MPI_DATATYPE_NULL) throw InvalidArgument("MPI_DATATYPE_NULL has no layout");
  Descent descent{known, work};
  std::optional<TypeInfo> info;
  if (Contents* const contents = open(type, descent)) {
    info = outside_of(type, *contents);
    info->layout =
        info->predefined ? predefined(type, descent).layout : combine(*contents, descent);
  }
  if (!descent.afford(0)) {
    work = std::max(descent.work, 2 * work);
    return std::nullopt;
  }
  info->depth = descent.deepest;
  info->constructors = static_cast<std::int64_t>(descent.contents.size());
  info->element_bytes = descent.element_bytes.value_or(0);
  if (info->size != info->layout.size_bytes()) {
    throw Unsupported("the MPI library gives a datatype " + std::to_string(info->size) +
                      " bytes where its constructors give it " +
                      std::to_string(info->layout.size_bytes()));
  }
  return info;
}

std::int64_t element_bytes(MPI_Datatype type) {
  Descent descent;
  std::unordered_set<MPI_Datatype> met = {type};
  std::vector<MPI_Datatype> ahead = {type};
  while (!ahead.empty()) {
    const MPI_Datatype next = ahead.back();
    ahead.pop_back();
    const Contents* const contents = open(next, descent);
    if (contents->predefined()) (void)predefined(next, descent);
    for (const MPI_Datatype member : contents->types()) {
      if (met.insert(member).second) ahead.push_back(member);
    }
  }
  return descent.element_bytes.value_or(0);
}

Layout layout_for_count(const TypeInfo& type, std::int64_t count) {
  return type.layout.repeated(count, type.extent);
}

}  // namespace strake::mpi
