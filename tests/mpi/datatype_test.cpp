// Each constructor of MPI 3.1 and MPI 4, and the places where decoders go wrong.
#include "mpi/datatype.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/combiners.hpp"
#include "mpi/contents.hpp"
#include "pack_reference.hpp"
#include "strake/error.hpp"

namespace strake::test {
namespace {

using mpi::decode;

Layout combined(mpi::Contents& contents) {
  mpi::Descent descent;
  return mpi::combine(contents, descent);
}

TEST(Datatype, the_size_of_all_its_elements_is_known) {
  const auto of = [](MPI_Datatype type, bool own) {
    const std::int64_t bytes = decode(type).element_bytes;
    if (own) MPI_Type_free(&type);
    return bytes;
  };
  const auto pair = [](MPI_Datatype first, MPI_Datatype second) {
    const int lengths[] = {2, 3};
    const MPI_Aint at[] = {0, 64};
    const MPI_Datatype types[] = {first, second};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, at, types, &made);
    return made;
  };
  EXPECT_EQ(of(MPI_INT, false), 4);
  EXPECT_EQ(of(MPI_C_DOUBLE_COMPLEX, false), 16);
  EXPECT_EQ(of(MPI_DOUBLE_INT, false), 0);
  EXPECT_EQ(of(pair(MPI_DOUBLE, MPI_LONG), true), 8);
  EXPECT_EQ(of(pair(MPI_DOUBLE, MPI_INT), true), 0);
  EXPECT_EQ(of(pair(MPI_FLOAT, MPI_DOUBLE_INT), true), 0);
}

TEST(Datatype, named_types_are_dense_but_for_the_gaps_of_pairs) {
  const MPI_Datatype named[] = {MPI_CHAR,
                                MPI_SIGNED_CHAR,
                                MPI_UNSIGNED_CHAR,
                                MPI_BYTE,
                                MPI_WCHAR,
                                MPI_SHORT,
                                MPI_UNSIGNED_SHORT,
                                MPI_INT,
                                MPI_UNSIGNED,
                                MPI_LONG,
                                MPI_UNSIGNED_LONG,
                                MPI_FLOAT,
                                MPI_DOUBLE,
                                MPI_LONG_DOUBLE,
                                MPI_LONG_LONG,
                                MPI_UNSIGNED_LONG_LONG,
                                MPI_INT8_T,
                                MPI_INT16_T,
                                MPI_INT32_T,
                                MPI_INT64_T,
                                MPI_UINT8_T,
                                MPI_UINT16_T,
                                MPI_UINT32_T,
                                MPI_UINT64_T,
                                MPI_C_BOOL,
                                MPI_C_FLOAT_COMPLEX,
                                MPI_C_DOUBLE_COMPLEX,
                                MPI_C_LONG_DOUBLE_COMPLEX,
                                MPI_AINT,
                                MPI_COUNT,
                                MPI_OFFSET,
                                MPI_PACKED,
                                MPI_FLOAT_INT,
                                MPI_DOUBLE_INT,
                                MPI_LONG_INT,
                                MPI_2INT,
                                MPI_SHORT_INT,
                                MPI_LONG_DOUBLE_INT,
                                MPI_CHARACTER,
                                MPI_LOGICAL,
                                MPI_INTEGER,
                                MPI_REAL,
                                MPI_DOUBLE_PRECISION,
                                MPI_COMPLEX,
                                MPI_DOUBLE_COMPLEX,
                                MPI_2REAL,
                                MPI_2DOUBLE_PRECISION,
                                MPI_2INTEGER,
                                MPI_INTEGER1,
                                MPI_INTEGER2,
                                MPI_INTEGER4,
                                MPI_INTEGER8,
                                MPI_REAL4,
                                MPI_REAL8};
  for (const MPI_Datatype type : named) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Type_get_name(type, name, &length);
    EXPECT_TRUE(decodes_as_packed(type)) << name;
    EXPECT_TRUE(decode(type).predefined) << name;
  }
  struct ShortInt {
    short value;
    int index;
  };
  const std::int64_t offsets[] = {0, offsetof(ShortInt, index)};
  const std::int64_t lengths[] = {sizeof(short), sizeof(int)};
  EXPECT_EQ(decode(MPI_SHORT_INT).layout, Layout::blocks(offsets, lengths));
  EXPECT_EQ(decode(MPI_DOUBLE_INT).layout, Layout::dense(12));
  EXPECT_EQ(decode(MPI_DOUBLE_INT).extent, 16);
}

TEST(Datatype, fortran_kinds_are_predefined) {
  MPI_Datatype real, complex, integer;
  MPI_Type_create_f90_real(15, 300, &real);
  MPI_Type_create_f90_complex(6, 30, &complex);
  MPI_Type_create_f90_integer(9, &integer);
  for (const MPI_Datatype type : {real, complex, integer}) {
    EXPECT_TRUE(decodes_as_packed(type));
    EXPECT_TRUE(decode(type).predefined);
  }
  EXPECT_EQ(decode(real).layout, Layout::dense(8));
  // As a member it must not be freed: decoding twice still finds it.
  Committed row(MPI_Type_vector, 3, 1, 2, real);
  EXPECT_EQ(decode(row).layout, decode(row).layout);
  EXPECT_TRUE(decodes_as_packed(row));
}

TEST(Datatype, every_constructor_selects_what_mpi_packs) {
  const int lengths[] = {2, 0, 3, 1};
  const int at[] = {7, 3, 0, 20};
  const MPI_Aint bytes_at[] = {100, 3, 0, 321};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT_INT, MPI_CHAR};
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_dup, MPI_DOUBLE_INT)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_contiguous, 7, MPI_SHORT_INT)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_vector, 5, 2, 4, MPI_DOUBLE)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_vector, 5, 2, -4, MPI_DOUBLE_INT)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_create_hvector, 5, 2, MPI_Aint{77}, MPI_INT)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_indexed, 4, lengths, at, MPI_FLOAT)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_indexed, 4, lengths, at, MPI_SHORT_INT)));
  EXPECT_TRUE(
      decodes_as_packed(Committed(MPI_Type_create_hindexed, 4, lengths, bytes_at, MPI_2INT)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_create_indexed_block, 4, 3, at, MPI_DOUBLE)));
  EXPECT_TRUE(
      decodes_as_packed(Committed(MPI_Type_create_hindexed_block, 4, 2, bytes_at, MPI_CHAR)));
  EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_create_struct, 4, lengths, bytes_at, members)));
  EXPECT_TRUE(decodes_as_packed(
      Committed(MPI_Type_create_resized, MPI_DOUBLE, MPI_Aint{-16}, MPI_Aint{40})));
  const int sizes[] = {5, 6, 7}, subsizes[] = {2, 3, 4}, starts[] = {1, 2, 3};
  for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
    EXPECT_TRUE(decodes_as_packed(
        Committed(MPI_Type_create_subarray, 3, sizes, subsizes, starts, order, MPI_DOUBLE)));
  }
}

TEST(Datatype, distributed_arrays_of_every_kind_and_order) {
  const int sizes[] = {11, 9, 7};
  const int grid[] = {2, 3, 1};
  const int dflt = MPI_DISTRIBUTE_DFLT_DARG;
  const int kinds[][3] = {
      {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE},
      {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE},
      {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC},
  };
  const int blocks[][3] = {{dflt, dflt, dflt}, {7, 2, dflt}, {dflt, 4, dflt}};
  for (const auto& kind : kinds) {
    for (const auto& block : blocks) {
      if (kind[0] == MPI_DISTRIBUTE_CYCLIC && kind[1] == MPI_DISTRIBUTE_BLOCK && block[1] == 2) {
        continue;  // 3 blocks of 2 do not hold 9 elements
      }
      for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
        for (int rank = 0; rank < 6; ++rank) {
          EXPECT_TRUE(decodes_as_packed(Committed(MPI_Type_create_darray, 6, rank, 3, sizes, kind,
                                                  block, grid, order, MPI_DOUBLE)))
              << "rank " << rank << " order " << order << " block " << block[0] << "," << block[1];
        }
      }
    }
  }
}

// Fortran's MPI 1 constructors: no current library returns these combiners for a datatype made
// today.
TEST(Datatype, removed_fortran_combiners_keep_displacements_as_integers) {
  mpi::Contents hvector(mpi::kCombinerHvectorInteger, {3, 2, 24}, {}, {}, {MPI_INT});
  const Dim dims[] = {{3, 24}};
  EXPECT_EQ(combined(hvector), Layout::box(0, 8, dims));
  mpi::Contents hindexed(mpi::kCombinerHindexedInteger, {2, 1, 3, 40, 8}, {}, {}, {MPI_INT});
  const std::int64_t offsets[] = {40, 8}, lengths[] = {4, 12};
  EXPECT_EQ(combined(hindexed), Layout::blocks(offsets, lengths));
  mpi::Contents record(mpi::kCombinerStructInteger, {2, 1, 3, 40, 8}, {}, {}, {MPI_INT, MPI_INT});
  EXPECT_EQ(combined(record), Layout::blocks(offsets, lengths));
}

/// `levels` constructors inside one another around a vector, which is one more.
MPI_Datatype nested(int levels) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  for (int level = 0; level < levels; ++level) {
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(1, type, &outer);
    MPI_Type_free(&type);
    type = outer;
  }
  return type;
}

TEST(Datatype, more_than_100_constructors_inside_one_another_are_refused) {
  for (const int levels : {0, 1, 99, 100, 600}) {
    MPI_Datatype type = nested(levels);
    if (levels < 100) {
      EXPECT_EQ(decode(type).depth, levels + 1);
    } else {
      EXPECT_THROW((void)decode(type), Unsupported) << levels;
    }
    MPI_Type_free(&type);
  }
}

/// The one type that `known_before` knows, its info, and the number of calls.
MPI_Datatype g_known_type = MPI_DATATYPE_NULL;
std::shared_ptr<const mpi::TypeInfo> g_known_info;
int g_asked = 0;

std::shared_ptr<const mpi::TypeInfo> known_before(MPI_Datatype type) {
  ++g_asked;
  return type == g_known_type ? g_known_info : nullptr;
}

void know(MPI_Datatype type, const mpi::TypeInfo& info) {
  g_known_type = type;
  g_known_info = std::make_shared<const mpi::TypeInfo>(info);
  g_asked = 0;
}

TEST(Datatype, known_members_give_what_unknown_ones_do) {
  MPI_Datatype inner = nested(20);
  const int lengths[] = {1, 2, 3};
  const MPI_Aint at[] = {0, 64, 256};
  const MPI_Datatype members[] = {inner, MPI_SHORT_INT, inner};
  Committed outer(MPI_Type_create_struct, 3, lengths, at, members);
  const mpi::TypeInfo plain = decode(outer);
  know(inner, decode(inner));
  const mpi::TypeInfo again = decode(outer, known_before);
  EXPECT_EQ(again.layout, plain.layout);
  EXPECT_EQ(again.size, plain.size);
  EXPECT_EQ(again.extent, plain.extent);
  EXPECT_EQ(again.depth, plain.depth);
#ifdef MPICH_VERSION
  EXPECT_EQ(g_asked, 1);  // nothing below it was looked at
#endif
  MPI_Type_free(&inner);
}

TEST(Datatype, known_members_count_as_deep_as_they_are) {
  MPI_Datatype inner = nested(99);
  Committed outer(MPI_Type_contiguous, 1, inner);
  know(inner, decode(inner));
  EXPECT_THROW((void)decode(outer, known_before), Unsupported);
  MPI_Type_free(&inner);
}

TEST(Datatype, what_was_known_of_another_type_is_not_believed) {
  // Freed and used again unseen: of the same size and the same extents.
  const int lengths[] = {1, 1, 1}, then[] = {0, 2, 9}, now[] = {0, 5, 9};
  Committed before(MPI_Type_indexed, 3, lengths, then, MPI_INT);
  Committed inner(MPI_Type_indexed, 3, lengths, now, MPI_INT);
  Committed outer(MPI_Type_contiguous, 2, static_cast<MPI_Datatype>(inner));
  know(inner, decode(before));
  EXPECT_EQ(decode(outer, known_before).layout, decode(outer).layout);
}

TEST(Datatype, arguments_that_are_not_there_are_an_error) {
  mpi::Contents cut(MPI_COMBINER_INDEXED, {5, 1, 1}, {}, {}, {MPI_INT});
  EXPECT_THROW((void)combined(cut), Unsupported);
  mpi::Contents unknown(9999, {}, {}, {}, {MPI_INT});
  EXPECT_THROW((void)combined(unknown), Unsupported);
  EXPECT_THROW((void)decode(MPI_DATATYPE_NULL), InvalidArgument);
}

TEST(Datatype, the_canonical_face_is_one_box) {
  const int sizes[] = {262, 262, 2560}, subsizes[] = {256, 256, 24}, starts[] = {3, 3, 24};
  Committed face(MPI_Type_create_subarray, 3, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE);
  const Layout layout = decode(face).layout;
  EXPECT_EQ(layout.kind(), Layout::Kind::Box);
  EXPECT_EQ(layout.offset(), 2019864);
  EXPECT_EQ(layout.block_bytes(), 24);
  ASSERT_EQ(layout.dims().size(), 2U);
  EXPECT_EQ(layout.dims()[0], (Dim{256, 670720}));
  EXPECT_EQ(layout.dims()[1], (Dim{256, 2560}));
  EXPECT_EQ(layout.block_count(), 65536);
  EXPECT_EQ(layout.size_bytes(), 1572864);
  EXPECT_LE(layout.metadata_bytes(), 512);
  EXPECT_TRUE(decodes_as_packed(face, {1}));
}

TEST(Datatype, a_dim_of_one_still_has_an_offset) {
  const int sizes[] = {10, 10, 10}, subsizes[] = {10, 1, 4}, starts[] = {0, 5, 2};
  Committed type(MPI_Type_create_subarray, 3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE);
  EXPECT_EQ(decode(type).layout.offset(), 416);
  EXPECT_TRUE(decodes_as_packed(type));
}

TEST(Datatype, a_transpose_keeps_its_packed_order) {
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &column);
  Committed transpose(MPI_Type_create_hvector, 3, 1, MPI_Aint{8}, column);
  MPI_Type_free(&column);
  const Dim dims[] = {{3, 8}, {4, 24}};
  EXPECT_EQ(decode(transpose).layout, Layout::box(0, 8, dims));
  EXPECT_EQ(decode(transpose).layout.block_count(), 12);
  EXPECT_TRUE(decodes_as_packed(transpose));
}

TEST(Datatype, several_elements_advance_by_the_extent) {
  const int size[] = {10}, subsize[] = {4}, start[] = {3};
  Committed part(MPI_Type_create_subarray, 1, size, subsize, start, MPI_ORDER_C, MPI_DOUBLE);
  const Dim three[] = {{3, 80}};
  EXPECT_EQ(mpi::layout_for_count(decode(part), 3), Layout::box(24, 32, three));
  EXPECT_TRUE(decodes_as_packed(part));
  Committed smaller(MPI_Type_create_resized, static_cast<MPI_Datatype>(part), MPI_Aint{0},
                    MPI_Aint{8});
  Committed backwards(MPI_Type_create_resized, static_cast<MPI_Datatype>(part), MPI_Aint{0},
                      MPI_Aint{-80});
  EXPECT_TRUE(decodes_as_packed(smaller));
  const Dim back[] = {{3, -80}};
  EXPECT_EQ(mpi::layout_for_count(decode(backwards), 3), Layout::box(24, 32, back));
  EXPECT_THROW((void)mpi::layout_for_count(decode(part), -1), InvalidArgument);
}

TEST(Datatype, empty_types_are_empty_at_any_count) {
  const int none[] = {0, 0}, at[] = {5, 9};
  Committed no_blocks(MPI_Type_vector, 0, 3, 5, MPI_DOUBLE);
  Committed no_length(MPI_Type_vector, 3, 0, 5, MPI_DOUBLE);
  Committed no_lengths(MPI_Type_indexed, 2, none, at, MPI_SHORT_INT);
  Committed nothing(MPI_Type_contiguous, 0, MPI_INT);
  Committed of_nothing(MPI_Type_contiguous, 4, static_cast<MPI_Datatype>(nothing));
  for (const MPI_Datatype type :
       {static_cast<MPI_Datatype>(no_blocks), static_cast<MPI_Datatype>(no_length),
        static_cast<MPI_Datatype>(no_lengths), static_cast<MPI_Datatype>(nothing),
        static_cast<MPI_Datatype>(of_nothing)}) {
    EXPECT_EQ(mpi::layout_for_count(decode(type), 1000), Layout());
  }
  EXPECT_EQ(mpi::layout_for_count(decode(MPI_DOUBLE), 0), Layout());
}

TEST(Datatype, absolute_addresses_serve_mpi_bottom) {
  std::vector<int> here{1, 2, 3};
  double there = 4.5;
  MPI_Aint at[2];
  MPI_Get_address(here.data(), &at[0]);
  MPI_Get_address(&there, &at[1]);
  const int lengths[] = {3, 1};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  Committed type(MPI_Type_create_struct, 2, lengths, at, members);
  const Layout layout = decode(type).layout;
  // A message to oneself and not MPI_Pack, which MPICH refuses at MPI_BOTTOM.
  std::vector<std::byte> sent(20);
  MPI_Sendrecv(MPI_BOTTOM, 1, type, 0, 0, sent.data(), 20, MPI_PACKED, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  EXPECT_TRUE(same_bytes(gather(layout, nullptr), sent));
}

TEST(Datatype, strides_past_two_gigabytes) {
  constexpr MPI_Aint kStride = MPI_Aint{3} << 30;
  Committed type(MPI_Type_create_hvector, 4, 2, kStride, MPI_DOUBLE);
  const Dim dims[] = {{4, kStride}};
  EXPECT_EQ(decode(type).layout, Layout::box(0, 16, dims));
  EXPECT_EQ(decode(type).true_extent, 3 * kStride + 16);
  Committed wide(MPI_Type_contiguous, 1 << 30, MPI_DOUBLE);
  EXPECT_EQ(decode(wide).layout, Layout::dense(std::int64_t{8} << 30));
}

#if STRAKE_MPI_LARGE_COUNTS
TEST(Datatype, large_count_constructors) {
  constexpr MPI_Count kHuge = MPI_Count{5} << 31;
  Committed dense(MPI_Type_contiguous_c, kHuge, MPI_BYTE);
  EXPECT_EQ(decode(dense).layout, Layout::dense(kHuge));
  Committed strided(MPI_Type_vector_c, kHuge, MPI_Count{1}, MPI_Count{3}, MPI_INT);
  const Dim dims[] = {{kHuge, 12}};
  EXPECT_EQ(decode(strided).layout, Layout::box(0, 4, dims));
  EXPECT_EQ(decode(strided).size, 4 * kHuge);
  const MPI_Count sizes[] = {3, kHuge}, subsizes[] = {2, 5}, starts[] = {1, kHuge - 5};
  Committed corner(MPI_Type_create_subarray_c, 2, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE);
  const Dim rows[] = {{2, kHuge}};
  EXPECT_EQ(decode(corner).layout, Layout::box(2 * kHuge - 5, 5, rows));
  const MPI_Count lengths[] = {1, 2}, at[] = {kHuge, 16};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  const std::int64_t offsets[] = {kHuge, 16}, bytes[] = {4, 16};
  Committed record(MPI_Type_create_struct_c, MPI_Count{2}, lengths, at, members);
  EXPECT_EQ(decode(record).layout, Layout::blocks(offsets, bytes));
  Committed resized(MPI_Type_create_resized_c, MPI_INT, MPI_Count{0}, kHuge);
  EXPECT_EQ(decode(resized).extent, kHuge);
}
#endif

}  // namespace
}  // namespace strake::test
