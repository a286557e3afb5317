// A datatype made by MPI, and the same one written as an expression, are one layout.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "../support/random_types.hpp"
#include "expression/parser.hpp"
#include "mpi/contents.hpp"
#include "mpi/datatype.hpp"

namespace strake::test {
namespace {

constexpr std::uint64_t kTypeSeed = 20261019;

std::string text(std::int64_t value) { return std::to_string(value); }
std::string distribution(std::int64_t value) {
  if (value == MPI_DISTRIBUTE_NONE) return "none";
  return value == MPI_DISTRIBUTE_BLOCK ? "block" : "cyclic";
}
std::string distribution_argument(std::int64_t value) {
  return value == MPI_DISTRIBUTE_DFLT_DARG ? "dfl" : text(value);
}

template <typename Word = std::string(std::int64_t)>
std::string list(mpi::Numbers numbers, Word word = text) {
  std::string items;
  for (std::int64_t i = 0; i < numbers.size(); ++i) items += (i > 0 ? "," : "") + word(numbers[i]);
  return "[" + items + "],";
}

std::string bounded(MPI_Datatype type);

std::string library_name_of(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MPI_Type_get_name(type, name, &length);
  return name;
}

std::string next_count(mpi::Contents& contents) { return text(contents.next_count()) + ","; }
std::string next_address(mpi::Contents& contents) { return text(contents.next_address()) + ","; }
std::string next_order(mpi::Contents& contents) {
  return contents.next_int() == MPI_ORDER_C ? "c," : "fortran,";
}

/// The arguments of indexed, hindexed and struct: block lengths and displacements.
std::string lengths_and_places(mpi::Contents& contents) {
  const bool in_bytes = contents.combiner() != MPI_COMBINER_INDEXED;
  const std::int64_t n = contents.next_count();
  const std::string lengths = list(contents.next_counts(n));
  return lengths + list(in_bytes ? contents.next_addresses(n) : contents.next_counts(n));
}

/// The arguments of indexed_block and hindexed_block: the length of all blocks, and displacements.
std::string length_and_places(mpi::Contents& contents) {
  const bool in_bytes = contents.combiner() == MPI_COMBINER_HINDEXED_BLOCK;
  const std::int64_t n = contents.next_count();
  const std::string length = next_count(contents);
  return length + list(in_bytes ? contents.next_addresses(n) : contents.next_counts(n));
}

std::string subarray(mpi::Contents& contents) {
  const std::int64_t n = contents.next_int();
  std::string call = "subarray(";
  for (int i = 0; i < 3; ++i) call += list(contents.next_counts(n));
  return call + next_order(contents);
}

std::string darray(mpi::Contents& contents) {
  std::string call = "darray(" + text(contents.next_int()) + ",";
  call += text(contents.next_int()) + ",";
  const std::int64_t n = contents.next_int();
  call += list(contents.next_counts(n));
  call += list(contents.next_ints(n), distribution);
  call += list(contents.next_ints(n), distribution_argument);
  call += list(contents.next_ints(n));
  return call + next_order(contents);
}

/// The call that made a type, up to its members.
std::string begin_of_call(mpi::Contents& contents) {
  std::string call;
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
      return "dup(";
    case MPI_COMBINER_CONTIGUOUS:
      return "contiguous(" + next_count(contents);
    case MPI_COMBINER_VECTOR:
      call = "vector(" + next_count(contents);
      call += next_count(contents);
      return call + next_count(contents);
    case MPI_COMBINER_HVECTOR:
      call = "hvector(" + next_count(contents);
      call += next_count(contents);
      return call + next_address(contents);
    case MPI_COMBINER_RESIZED:
      call = "resized(" + next_address(contents);
      return call + next_address(contents);
    case MPI_COMBINER_INDEXED:
      return "indexed(" + lengths_and_places(contents);
    case MPI_COMBINER_HINDEXED:
      return "hindexed(" + lengths_and_places(contents);
    case MPI_COMBINER_STRUCT:
      return "struct(" + lengths_and_places(contents);
    case MPI_COMBINER_INDEXED_BLOCK:
      return "indexed_block(" + length_and_places(contents);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return "hindexed_block(" + length_and_places(contents);
    case MPI_COMBINER_SUBARRAY:
      return subarray(contents);
    case MPI_COMBINER_DARRAY:
      return darray(contents);
    default:
      ADD_FAILURE() << "combiner " << contents.combiner();
      return "";
  }
}

/// MPI's record of how `type` was made, in the grammar of expressions.
std::string expression_of(MPI_Datatype type) {
  mpi::Contents contents(type);
  if (contents.predefined()) return library_name_of(type);
  std::string members;
  for (const MPI_Datatype member : contents.types()) {
    members += (members.empty() ? "" : ",") + bounded(member);
  }
  if (contents.combiner() == MPI_COMBINER_STRUCT) members = "[" + members + "]";
  return begin_of_call(contents) + members + ")";
}

/// A member, with the library's own bounds where expressions might have others.
std::string bounded(MPI_Datatype type) {
  const std::string expression = expression_of(type);
  if (expression.back() != ')') return expression;
  MPI_Count lb = 0, extent = 0;
  MPI_Type_get_extent_x(type, &lb, &extent);
  return "resized(" + text(lb) + "," + text(extent) + "," + expression + ")";
}

TEST(Expressions, select_what_the_datatype_does_that_they_describe) {
  std::cout << "seed " << kTypeSeed << '\n';
  RandomTypes types(kTypeSeed);
  int darrays = 0;
  for (int i = 0; i < 4000 && !testing::Test::HasFailure(); ++i) {
    const RandomType random = types.next();
    const std::string expression = expression_of(random.type);
    darrays += expression.find("darray") != std::string::npos;
    EXPECT_EQ(expression::parse(expression).layout, mpi::decode(random.type).layout) << expression;
  }
  EXPECT_GT(darrays, 400);
}

TEST(Expressions, have_the_librarys_bounds) {
  std::cout << "seed " << kTypeSeed << '\n';
  RandomTypeOptions options;
  options.bytes_only = true;  // libraries pad differently
  options.allow_empty = false;
  options.forwards = true;  // Open MPI 4.1 takes strides back for strides forth
  RandomTypes types(kTypeSeed, options);
  for (int i = 0; i < 4000 && !testing::Test::HasFailure(); ++i) {
    const RandomType random = types.next();
    const std::string expression = expression_of(random.type);
#ifdef OPEN_MPI
    if (expression.starts_with("struct")) continue;  // takes over its resized members' bounds
#endif
    MPI_Count lb = 0, extent = 0;
    MPI_Type_get_extent_x(random.type, &lb, &extent);
    const expression::Datatype type = expression::parse(expression);
    EXPECT_EQ(type.lb, lb) << expression;
    EXPECT_EQ(type.extent(), extent) << expression;
  }
}

}  // namespace
}  // namespace strake::test
