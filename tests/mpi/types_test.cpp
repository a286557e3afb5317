// The registry of datatypes: what is known of a handle, and until when.
#include "mpi/types.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <vector>

#include "mpi/datatype.hpp"
#include "mpi/elements.hpp"
#include "pack_reference.hpp"

namespace strake::mpi {
namespace {

using test::Committed;

/// Two types of the same size and the same extents.
const int kLengths[] = {1, 1, 1}, kThen[] = {0, 2, 9}, kNow[] = {0, 5, 9};

TEST(Types, a_handle_that_was_given_out_again_is_known_until_all_are_freed) {
  Committed type(MPI_Type_indexed, 3, kLengths, kThen, MPI_INT);
  add_type(type);
  const TypeRecord* record = find_type(type);
  ASSERT_NE(record, nullptr);
  add_reference(type);
  add_reference(type);
  remove_type(type);
  remove_type(type);
  EXPECT_EQ(find_type(type), record);
  remove_type(type);
  EXPECT_EQ(find_type(type), nullptr);
  add_reference(type);  // of no use to a handle that isn't known
  EXPECT_EQ(find_type(type), nullptr);
}

TEST(Types, predefined_types_have_no_references) {
  TypeRecord* const record = find_type(MPI_INT);
  add_reference(MPI_INT);
  for (int i = 0; i < 3; ++i) remove_type(MPI_INT);
  EXPECT_EQ(find_type(MPI_INT), record);
}

TEST(Types, committing_again_changes_nothing) {
  Committed type(MPI_Type_indexed, 3, kLengths, kThen, MPI_INT);
  add_type(type);
  const TypeRecord* record = find_type(type);
  add_type(type);
  EXPECT_EQ(find_type(type), record);
  remove_type(type);
  EXPECT_EQ(find_type(type), nullptr);
}

TEST(Types, a_handle_freed_unseen_means_the_type_that_was_committed_last) {
  int reused = 0;
  for (int turn = 0; turn < 10; ++turn) {
    MPI_Datatype before = MPI_DATATYPE_NULL, now = MPI_DATATYPE_NULL;
    MPI_Type_indexed(3, kLengths, kThen, MPI_INT, &before);
    MPI_Type_commit(&before);
    add_type(before);
    const MPI_Datatype freed = before;
    MPI_Type_free(&before);
    MPI_Type_indexed(3, kLengths, kNow, MPI_INT, &now);
    MPI_Type_commit(&now);
    add_type(now);
    reused += now == freed;
    EXPECT_EQ(find_type(now)->info().layout, decode(now).layout);
    // The other handle has a record still where it was not used again.
    remove_type(freed);
    remove_type(now);
    EXPECT_EQ(find_type(now), nullptr);
    MPI_Type_free(&now);
  }
  EXPECT_GT(reused, 0);
}

TEST(Types, a_duplicate_of_an_unknown_type_is_unknown) {
  Committed known(MPI_Type_indexed, 3, kLengths, kThen, MPI_INT);
  Committed unknown(MPI_Type_indexed, 3, kLengths, kNow, MPI_INT);
  add_type(known);
  add_duplicate(unknown, known);  // as if the handle had been freed unseen
  EXPECT_EQ(find_type(known), nullptr);
}

TEST(Types, types_that_grow_a_member_at_a_time) {
#ifdef MPICH_VERSION
  constexpr int kLevels = 1200;
#else
  constexpr int kLevels = 250;  // each level takes Open MPI's constructor longer
#endif
  constexpr int kDecoded = std::min(kLevels, 100);
  std::vector<MPI_Datatype> types = {MPI_BYTE};
  const std::clock_t start = std::clock();
  for (int level = 0; level < kLevels; ++level) {
    const int ones[] = {1, 1};
    const MPI_Aint at[] = {0, 3 * level + 5 + (level % 7 == 0 ? 0 : 1)};
    const MPI_Datatype members[] = {types.back(), MPI_BYTE};
    MPI_Datatype next = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, ones, at, members, &next);
    MPI_Type_commit(&next);
    add_type(next);
    types.push_back(next);
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::cout << kLevels << " levels: " << seconds << " s\n";
#ifdef MPICH_VERSION
  EXPECT_LT(seconds, 0.5);  // 0.008 s; 1.1 s where each level is decoded from the innermost
#endif
  EXPECT_TRUE(find_type(types[kDecoded])->decodable());
  // Itself, the member that is known, and MPI_BYTE.
  EXPECT_EQ(find_type(types[kDecoded])->info().constructors, 3);
  EXPECT_EQ(find_type(types[kDecoded])->info().layout, decode(types[kDecoded]).layout);
  EXPECT_EQ(find_type(types[kLevels])->decodable(), kLevels == kDecoded);
  for (int level = 1; level <= kLevels; ++level) {
    remove_type(types[static_cast<std::size_t>(level)]);
    MPI_Type_free(&types[static_cast<std::size_t>(level)]);
  }
}

}  // namespace
}  // namespace strake::mpi
