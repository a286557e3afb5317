// Cost of decoding: linear in the blocks of a list, next to nothing for a box, and nothing is left
// behind.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <random>
#include <vector>

#include "mpi/datatype.hpp"
#include "pack_reference.hpp"

namespace strake::test {
namespace {

// Processor time, which other processes on the machine do not lengthen.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double decode_seconds(MPI_Datatype type) {
  const std::clock_t start = std::clock();
  const mpi::TypeInfo info = mpi::decode(type);
  const double seconds = seconds_since(start);
  std::cout << "decoded " << info.size << " bytes, " << info.layout.block_count() << " blocks, in "
            << seconds * 1e3 << " ms\n";
  return seconds;
}

// Resident set. [KiB]
long resident_kib() {
  long pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%ld %ld", &pages, &resident);
  std::fclose(file);
  return read == 2 ? resident * 4 : 0;
}

// Quadratic work on lists of these lengths takes minutes; linear work takes milliseconds even in a
// sanitizer build.
constexpr double kLinearSeconds = 20;

TEST(DatatypeCost, lists_of_a_million_entries) {
  constexpr int kEntries = 1000000;
  std::mt19937_64 random(5);
  std::vector<int> lengths(kEntries), at(kEntries);
  for (int i = 0; i < kEntries; ++i) {
    lengths[static_cast<std::size_t>(i)] = static_cast<int>(1 + random() % 16);
    at[static_cast<std::size_t>(i)] = i * 20;
  }
  std::shuffle(at.begin(), at.end(), random);
  Committed indexed(MPI_Type_indexed, kEntries, lengths.data(), at.data(), MPI_DOUBLE);
  EXPECT_LT(decode_seconds(indexed), kLinearSeconds);
  Committed block(MPI_Type_create_indexed_block, kEntries, 3, at.data(), MPI_INT);
  EXPECT_LT(decode_seconds(block), kLinearSeconds);
  for (int& length : lengths) length = 1 + length % 3;
  Committed gaps(MPI_Type_indexed, kEntries, lengths.data(), at.data(), MPI_SHORT_INT);
  EXPECT_LT(decode_seconds(gaps), kLinearSeconds);
}

TEST(DatatypeCost, lists_of_40000_entries_select_what_mpi_packs) {
  constexpr int kEntries = 40000;
  std::mt19937_64 random(6);
  std::vector<int> at(kEntries);
  for (int i = 0; i < kEntries; ++i) at[static_cast<std::size_t>(i)] = i * 2;
  std::shuffle(at.begin(), at.end(), random);
  Committed type(MPI_Type_create_indexed_block, kEntries, 1, at.data(), MPI_FLOAT_INT);
  EXPECT_TRUE(decodes_as_packed(type));
}

TEST(DatatypeCost, structs_of_65530_members) {
  constexpr int kMembers = 65530;
  std::vector<int> lengths(kMembers);
  std::vector<MPI_Aint> at(kMembers);
  std::vector<MPI_Datatype> types(kMembers);
  MPI_Datatype row;
  MPI_Type_vector(2, 1, 3, MPI_SHORT, &row);
  const MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT_INT, row, MPI_CHAR};
  for (std::size_t i = 0; i < kMembers; ++i) {
    lengths[i] = static_cast<int>(1 + i % 3);
    at[i] = static_cast<MPI_Aint>(i) * 80;
    types[i] = kinds[i * 7 % 5];
  }
  Committed type(MPI_Type_create_struct, kMembers, lengths.data(), at.data(), types.data());
  MPI_Type_free(&row);
  EXPECT_LT(decode_seconds(type), kLinearSeconds);
  EXPECT_TRUE(decodes_as_packed(type, {1, 2}));
}

TEST(DatatypeCost, structs_with_gaps_many_times) {
  struct Member {
    int first;
    std::uint64_t second;
  };
  const int lengths[] = {1, 1};
  const MPI_Aint at[] = {offsetof(Member, first), offsetof(Member, second)};
  const MPI_Datatype types[] = {MPI_INT, MPI_UINT64_T};
  Committed type(MPI_Type_create_struct, 2, lengths, at, types);
  constexpr int kCount = 17000;
  const Layout layout = mpi::layout_for_count(mpi::decode(type), kCount);
  EXPECT_EQ(layout.size_bytes(), 12 * kCount);
  Arena arena(layout.bounds());
  EXPECT_TRUE(same_bytes(gather(layout, arena.base()),
                         mpi_packed(arena.base(), kCount, type, 12 * kCount)));
}

// A struct of two members of one type, or of that type and one made of it, so often that visits of
// each member would be 2^levels.
MPI_Datatype nested(int levels, bool through_another) {
  MPI_Datatype type;
  MPI_Type_contiguous(1, MPI_INT, &type);
  for (int level = 0; level < levels; ++level) {
    MPI_Aint lb = 0, extent = 0;
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Datatype second = type, next = MPI_DATATYPE_NULL;
    if (through_another) MPI_Type_contiguous(1, type, &second);
    const int ones[] = {1, 1};
    const MPI_Aint at[] = {0, extent + 4 * (1 + level % 3)};
    const MPI_Datatype both[] = {type, second};
    MPI_Type_create_struct(2, ones, at, both, &next);
    if (through_another) MPI_Type_free(&second);
    MPI_Type_free(&type);
    type = next;
  }
  MPI_Type_commit(&type);
  return type;
}

TEST(DatatypeCost, each_distinct_type_of_a_tree_is_asked_for_once) {
  for (const bool through_another : {false, true}) {
    for (const int levels : {1, 8, 14}) {
      MPI_Datatype type = nested(levels, through_another);
      const mpi::TypeInfo info = mpi::decode(type);
      const int each = through_another ? 2 : 1;
      EXPECT_EQ(info.constructors, each * levels + 2);  // and MPI_INT, and one of it
      EXPECT_EQ(info.depth, each * levels + 1);         // below the outermost
      EXPECT_TRUE(decodes_as_packed(type, {1, 2}));
      MPI_Type_free(&type);
    }
  }
}

TEST(DatatypeCost, a_member_that_comes_again_is_asked_for_once) {
  constexpr int kMembers = 10000;
  const std::vector<int> lengths(kMembers, 1);
  std::vector<MPI_Aint> at(kMembers);
  for (std::size_t i = 0; i < kMembers; ++i) at[i] = static_cast<MPI_Aint>(200 * i + 8 * (i % 3));
  MPI_Datatype row;
  MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &row);
  const std::vector<MPI_Datatype> types(kMembers, row);
  Committed type(MPI_Type_create_struct, kMembers, lengths.data(), at.data(), types.data());
  MPI_Type_free(&row);
  EXPECT_EQ(mpi::decode(type).constructors, 3);
  EXPECT_TRUE(decodes_as_packed(type, {1, 2}));
}

TEST(DatatypeCost, a_list_takes_its_arguments_a_box_nothing) {
  const auto takes = [](MPI_Datatype type, std::int64_t most) {
    std::int64_t work = most;
    return mpi::decode_within(type, nullptr, work).has_value();
  };
  const int sizes[] = {262, 262, 2560}, subsizes[] = {256, 256, 24}, starts[] = {3, 3, 24};
  Committed box(MPI_Type_create_subarray, 3, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE);
  EXPECT_TRUE(takes(box, 2));  // itself and MPI_BYTE
  const int ones[] = {1, 1, 1};
  const MPI_Aint apart[] = {0, MPI_Aint{1} << 30, MPI_Aint{2} << 30};
  const MPI_Aint at[] = {0, MPI_Aint{1} << 30, MPI_Aint{3} << 30};
  const MPI_Datatype boxes[] = {box, box, box};
  Committed equal(MPI_Type_create_struct, 3, ones, apart, boxes);
  EXPECT_TRUE(takes(equal, 20));  // still one box
  Committed unequal(MPI_Type_create_struct, 3, ones, at, boxes);
  EXPECT_FALSE(takes(unequal, 3 * 256 * 256));
  EXPECT_TRUE(takes(unequal, 3 * 256 * 256 + 20));

  constexpr int kBlocks = 100000;
  const std::vector<int> lengths(kBlocks, 1);
  std::vector<int> places(kBlocks);
  for (int i = 0; i < kBlocks; ++i) places[static_cast<std::size_t>(i)] = 3 * i + i % 2;
  Committed list(MPI_Type_indexed, kBlocks, lengths.data(), places.data(), MPI_INT);
  std::int64_t work = 128;
  EXPECT_FALSE(mpi::decode_within(list, nullptr, work));
  EXPECT_GE(work, 2 * kBlocks);
  EXPECT_TRUE(takes(list, work + 1));
  Committed resized(MPI_Type_create_resized, MPI_Datatype(list), MPI_Aint{0},
                    MPI_Aint{16} * kBlocks);
  EXPECT_FALSE(takes(resized, 2 * kBlocks));
  EXPECT_TRUE(takes(resized, 2 * kBlocks + 10));
}

TEST(DatatypeCost, tries_that_give_up_are_few) {
  MPI_Datatype tree = nested(14, true);
  int tries = 1;
  std::int64_t work = 128;
  while (!mpi::decode_within(tree, nullptr, work)) ++tries;
  EXPECT_LE(tries, 12);  // 128 doubled until it is 3 x 16384 blocks and more
  MPI_Type_free(&tree);
}

TEST(DatatypeCost, a_subarray_is_decoded_in_a_few_calls) {
  const int sizes[] = {262, 262, 2560}, subsizes[] = {256, 256, 24}, starts[] = {3, 3, 24};
  Committed face(MPI_Type_create_subarray, 3, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE);
  constexpr int kTimes = 2000;
  const std::clock_t start = std::clock();
  for (int i = 0; i < kTimes; ++i) (void)mpi::decode(face);
  const double each_us = seconds_since(start) / kTimes * 1e6;
  std::cout << "3D subarray: " << each_us << " us\n";
  EXPECT_LT(each_us, 200);  // 5 us is the aim; this only catches work that grows with the blocks
}

TEST(DatatypeCost, nothing_is_left_behind) {
  const auto once = [] {
    MPI_Datatype row, rows, all;
    MPI_Type_vector(3, 1, 4, MPI_DOUBLE, &row);
    MPI_Type_create_hvector(4, 1, MPI_Aint{200}, row, &rows);
    const int lengths[] = {1, 2, 1};
    const MPI_Aint at[] = {0, 1024, 4096};
    const MPI_Datatype members[] = {rows, row, MPI_SHORT_INT};
    MPI_Type_create_struct(3, lengths, at, members, &all);
    MPI_Type_commit(&all);
    (void)mpi::decode(all);
    MPI_Type_free(&row);
    MPI_Type_free(&rows);
    MPI_Type_free(&all);
  };
  for (int i = 0; i < 10000; ++i) once();
  const long before = resident_kib();
  for (int i = 0; i < 100000; ++i) once();
  const long grown = resident_kib() - before;
  std::cout << "resident set grew by " << grown << " KiB\n";
  EXPECT_LT(grown, 1024);  // one leaked reference a time would be 10 MiB and more
}

}  // namespace
}  // namespace strake::test
