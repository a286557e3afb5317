#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expression/parser.hpp"

namespace strake::expression {
namespace {

/// Each byte's offset, in packed order.
std::vector<std::int64_t> bytes_of(const Layout& layout) {
  std::vector<std::int64_t> bytes;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) bytes.push_back(offset + i);
  });
  return bytes;
}

void expect_bounds(const std::string& text, std::int64_t lb, std::int64_t extent,
                   std::int64_t size) {
  const Datatype type = parse(text);
  EXPECT_EQ(type.lb, lb) << text;
  EXPECT_EQ(type.extent(), extent) << text;
  EXPECT_EQ(type.layout.size_bytes(), size) << text;
}

void expect_same(const std::string& a, const std::string& b) {
  EXPECT_EQ(parse(a).layout, parse(b).layout) << a << " and " << b;
}

TEST(Expression, canonical_face_of_a_grid) {
  const Datatype type = parse("subarray([262,262,2560],[256,256,24],[3,3,24],byte)");
  EXPECT_EQ(type.layout.kind(), Layout::Kind::Box);
  EXPECT_EQ(type.layout.offset(), 2019864);
  EXPECT_EQ(type.layout.block_bytes(), 24);
  ASSERT_EQ(type.layout.dims().size(), 2U);
  EXPECT_EQ(type.layout.dims()[0], (Dim{256, 670720}));
  EXPECT_EQ(type.layout.dims()[1], (Dim{256, 2560}));
  EXPECT_EQ(type.layout.block_count(), 65536);
  EXPECT_EQ(type.layout.size_bytes(), 1572864);
  EXPECT_EQ(type.extent(), std::int64_t{262} * 262 * 2560);
}

TEST(Expression, a_dimension_of_count_1_still_has_an_offset) {
  EXPECT_EQ(parse("subarray([10,10,10],[10,1,4],[0,5,2],double)").layout.offset(), 416);
}

TEST(Expression, a_transpose_keeps_its_order) {
  const auto bytes = bytes_of(parse("hvector(3,1,8,vector(4,1,3,double))").layout);
  ASSERT_EQ(bytes.size(), 96U);
  EXPECT_EQ(bytes[8], 24);
  EXPECT_EQ(bytes[32], 8);
}

TEST(Expression, fortran_order_mirrors_c_order) {
  expect_same("subarray([4,5,6],[2,3,4],[1,1,2],int,fortran)",
              "subarray([6,5,4],[4,3,2],[2,1,1],int,c)");
}

TEST(Expression, blanks_case_and_prefix_do_not_count) {
  expect_same(" Vector ( 3 ,2,\t4 , MPI_DOUBLE ) ", "vector(3,2,4,double)");
}

TEST(Expression, names_of_mpi_functions_are_constructors) {
  expect_same("MPI_Type_vector(3,2,4,MPI_INT)", "vector(3,2,4,int)");
  expect_same("MPI_TYPE_CREATE_SUBARRAY([4,5],[2,3],[1,1],MPI_INT)",
              "subarray([4,5],[2,3],[1,1],int)");
  expect_same("mpi_type_create_hvector(3,1,9,MPI_Type_dup(int))", "hvector(3,1,9,int)");
  expect_same("MPI_vector(3,2,4,int)", "vector(3,2,4,int)");
}

/// What a basic type takes up.
struct Size {
  const char* name;
  std::int64_t bytes;
  std::int64_t alignment;
};

class BasicType : public testing::TestWithParam<Size> {};

TEST_P(BasicType, has_size_and_alignment) {
  const auto& [name, bytes, alignment] = GetParam();
  expect_bounds(name, 0, bytes, bytes);
  expect_bounds(std::string("MPI_") + name, 0, bytes, bytes);
  EXPECT_EQ(parse(name).alignment, alignment) << name;
}

INSTANTIATE_TEST_SUITE_P(
    Expression, BasicType,
    testing::Values(
        Size{"INTEGER1", 1, 1}, Size{"INTEGER2", 2, 2}, Size{"INTEGER4", 4, 4},
        Size{"INTEGER8", 8, 8}, Size{"INTEGER16", 16, 16}, Size{"REAL2", 2, 2}, Size{"REAL4", 4, 4},
        Size{"REAL8", 8, 8}, Size{"REAL16", 16, 16}, Size{"COMPLEX4", 4, 2}, Size{"COMPLEX8", 8, 4},
        Size{"COMPLEX16", 16, 8}, Size{"COMPLEX32", 32, 16}, Size{"2REAL", 8, 4},
        Size{"2INTEGER", 8, 4}, Size{"2DOUBLE_PRECISION", 16, 8}, Size{"C_COMPLEX", 8, 4},
        Size{"CXX_BOOL", 1, 1}, Size{"CXX_FLOAT_COMPLEX", 8, 4}, Size{"CXX_DOUBLE_COMPLEX", 16, 8},
        Size{"CXX_LONG_DOUBLE_COMPLEX", 2 * sizeof(long double), alignof(long double)}));

TEST(Expression, equal_bytes_in_many_words) {
  expect_same("vector(3,2,4,int)", "hvector(3,1,16,contiguous(2,int))");
  expect_same("vector(3,2,4,int)", "indexed([2,2,2],[0,4,8],int)");
  expect_same("vector(3,2,4,int)", "hindexed([2,2,2],[0,16,32],int)");
  expect_same("vector(3,2,4,int)", "indexed_block(2,[0,4,8],int)");
  expect_same("vector(3,2,4,int)", "hindexed_block(2,[0,16,32],dup(int))");
  expect_same("vector(3,2,4,int)", "contiguous(3,resized(0,16,contiguous(2,int)))");
  expect_same("vector(3,2,4,int)", "struct([2,2,1],[0,16,32],[int,float,double])");
}

// Values as both Open MPI 4.1 and MPICH 4.0 give them.
TEST(Expression, bounds_are_those_of_the_mpi_libraries) {
  expect_bounds("struct([1,1],[0,4],[int,char])", 0, 8, 5);
  expect_bounds("struct([1,1],[3,9],[int,char])", 3, 8, 5);
  expect_bounds("contiguous(5,struct([1,1],[3,9],[int,char]))", 3, 40, 25);
  expect_bounds("vector(2,1,2,resized(-4,40,struct([1,1],[3,9],[int,char])))", -4, 120, 10);
  expect_bounds("struct([0,1],[0,4],[int,char])", 4, 1, 1);
  expect_bounds("contiguous(0,int)", 0, 0, 0);
  expect_bounds("vector(0,1,2,int)", 0, 0, 0);
  expect_bounds("indexed([0,1],[50,1],int)", 4, 4, 4);
  expect_bounds("hindexed([1,1],[1,9],int)", 1, 12, 8);
  expect_bounds("struct([1],[0],[long_double])", 0, 16, 16);
  expect_bounds("struct([1,1],[0,4],[char,double_int])", 0, 24, 13);
  expect_bounds("double_int", 0, 16, 12);
  expect_bounds("short_int", 0, 8, 6);
  expect_bounds("long_double_int", 0, 32, 20);
  expect_bounds("subarray([4,5],[2,3],[1,1],int)", 0, 80, 24);
}

// Where Open MPI pads or inherits bounds and MPICH does not, these follow MPICH.
TEST(Expression, bounds_that_libraries_give_differently) {
  expect_bounds("hvector(3,1,13,int)", 0, 30, 12);
  expect_bounds("hvector(3,1,-13,int)", -26, 30, 12);
  expect_bounds("struct([1,1],[0,100],[resized(0,16,int),int])", 0, 104, 8);
}

TEST(Expression, count_advances_by_extent) {
  EXPECT_EQ(bytes_of(layout_of(parse("subarray([4],[1],[2],char)"), 3)),
            (std::vector<std::int64_t>{2, 6, 10}));
  EXPECT_EQ(bytes_of(layout_of(parse("resized(0,-2,char)"), 3)),
            (std::vector<std::int64_t>{0, -2, -4}));
  EXPECT_EQ(layout_of(parse("int"), 0).kind(), Layout::Kind::Empty);
}

TEST(Expression, strides_past_2_to_the_31) {
  const Datatype type = parse("hvector(3,1,3221225472,byte)");
  EXPECT_EQ(type.extent(), 2 * std::int64_t{3221225472} + 1);
  EXPECT_EQ(type.layout.bounds().end, type.extent());
}

struct Bad {
  const char* text;
  std::size_t position;
  const char* message;
};

class BadExpression : public testing::TestWithParam<Bad> {};

TEST_P(BadExpression, is_refused_where_it_goes_wrong) {
  try {
    static_cast<void>(parse(GetParam().text));
    FAIL() << GetParam().text << " was taken";
  } catch (const SyntaxError& error) {
    EXPECT_EQ(error.position(), GetParam().position) << GetParam().text;
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Expression, BadExpression,
    testing::Values(
        Bad{"", 0, "expected a type, found the end"},
        Bad{"  ", 2, "expected a type, found the end"},
        Bad{"doubel", 0, "expected a type, found 'doubel'"},
        Bad{"double)", 6, "expected the end of the type"}, Bad{"vector", 6, "expected '('"},
        Bad{"vectr(1,2,3,int)", 0, "expected a constructor"},
        Bad{"MPI_Type_vector", 15, "expected '('"},
        Bad{"MPI_Type_vectr(1,2,3,int)", 0, "expected a constructor"},
        Bad{"MPI_Type_int", 0, "expected a type, found 'type_int'"},
        Bad{"vector(1,2,int)", 11, "expected a whole number, found 'i'"},
        Bad{"vector(1,2,3,int", 16, "expected ')', found the end"},
        Bad{"vector(-1,2,3,int)", 0, "vector: the count must not be negative: -1"},
        Bad{"contiguous(2,vector(1,-2,3,int))", 13,
            "vector: the blocklength must not be negative: -2"},
        Bad{"indexed([1,2],[0],int)", 0, "has 2 values, but that of displacements has 1"},
        Bad{"indexed([1,2,[0],int)", 13, "expected a whole number, found '['"},
        Bad{"indexed([1,2[0],int)", 12, "expected ',' or ']', found '['"},
        Bad{"struct([1],[0],int)", 15, "expected '[', found 'i'"},
        Bad{"struct([1],[0],[int,int])", 0, "has 1 values, but that of types has 2"},
        Bad{"subarray([4],[5],[0],int)", 0, "subsize 5 from start 0 does not lie within size 4"},
        Bad{"subarray([4],[2],[3],int)", 0, "subsize 2 from start 3 does not lie within size 4"},
        Bad{"subarray([],[],[],int)", 0, "at least one dimension"},
        Bad{"subarray([4],[2],[1],int,row)", 25, "expected c or fortran"},
        Bad{"contiguous(99999999999999999999,int)", 11, "a number past 2^63"},
        Bad{"hvector(4611686018427387904,1,8,int)", 0, "past 2^63"}));

TEST(Expression, a_nest_too_deep_is_refused) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "dup(";
  EXPECT_THROW(static_cast<void>(parse(text)), SyntaxError);
}

}  // namespace
}  // namespace strake::expression
