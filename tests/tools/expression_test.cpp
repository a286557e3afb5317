#include "layout/expression.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expression/parser.hpp"
#include "unit/random_layouts.hpp"

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

TEST(Expression, the_index_of_a_pair_is_aligned) {
  expect_same("short_int", "struct([1,1],[0,4],[short,int])");
  expect_same("double_int", "struct([1,1],[0,8],[double,int])");
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

/// Each element's place in the whole array of a darray, in storage order, by asking of every
/// element whose it is.
std::vector<std::int64_t> dealt_to(std::int64_t rank, const std::vector<std::int64_t>& sizes,
                                   const std::vector<std::int64_t>& blocks,
                                   const std::vector<std::int64_t>& grid, bool fortran) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= size;
  std::vector<std::int64_t> own;
  for (std::int64_t element = 0; element < elements; ++element) {
    std::vector<std::int64_t> turn(sizes.size());
    std::int64_t rest = element;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t d = fortran ? k : sizes.size() - 1 - k;
      turn[d] = rest % sizes[d] / blocks[d] % grid[d];
      rest /= sizes[d];
    }
    std::int64_t owner = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) owner = owner * grid[d] + turn[d];
    if (owner == rank) own.push_back(element);
  }
  return own;
}

/// One distribution, and the blocks that it means for `sizes` over `grid` in the test below.
struct Dealing {
  const char* distribs;
  const char* dargs;
  std::vector<std::int64_t> blocks;
};

TEST(Expression, a_darray_holds_the_elements_whose_turn_is_its_process) {
  const std::vector<std::int64_t> sizes = {7, 5, 4};
  const std::vector<std::int64_t> grid = {3, 2, 1};
  const std::vector<Dealing> dealings = {
      {"block,block,none", "dfl,default,dfl", {3, 3, 4}},
      {"block,block,block", "4,3,4", {4, 3, 4}},
      {"cyclic,cyclic,none", "dfl,dfl,1", {1, 1, 4}},
      {"cyclic,cyclic,cyclic", "2,3,1", {2, 3, 1}},
      {"cyclic,block,cyclic", "3,9,5", {3, 9, 5}},
      {"block,cyclic,none", "7,2,dfl", {7, 2, 4}},
  };
  for (const Dealing& dealing : dealings) {
    for (const char* order : {"c", "fortran"}) {
      for (std::int64_t rank = 0; rank < 6; ++rank) {
        const auto text = "darray(6," + std::to_string(rank) + ",[7,5,4],[" + dealing.distribs +
                          "],[" + dealing.dargs + "],[3,2,1],resized(0,3,char)," + order + ")";
        auto expected = dealt_to(rank, sizes, dealing.blocks, grid, order[0] == 'f');
        const auto held = static_cast<std::int64_t>(expected.size());
        for (std::int64_t& element : expected) element *= 3;
        EXPECT_EQ(bytes_of(parse(text).layout), expected) << text;
        expect_bounds(text, 0, 7 * 5 * 4 * 3, held);
      }
    }
  }
}

TEST(Expression, a_darray_dealt_in_blocks_is_a_subarray) {
  expect_same("darray(4,1,[8,6],[block,block],[dfl,dfl],[2,2],double)",
              "subarray([8,6],[4,3],[0,3],double)");
  // Ranks fill the grid in row-major order, also where the array is Fortran's.
  expect_same("darray(4,1,[8,6],[block,block],[dfl,dfl],[2,2],double,fortran)",
              "subarray([8,6],[4,3],[0,3],double,fortran)");
}

TEST(Expression, a_darray_of_nearly_2_to_the_63_bytes) {
  expect_same("darray(2,1,[9223372036854775807],[block],[dfl],[2],byte)",
              "subarray([9223372036854775807],[4611686018427387903],[4611686018427387904],byte)");
  expect_same("darray(2,1,[4611686018427387904],[cyclic],[4611686018427387903],[2],byte)",
              "subarray([4611686018427387904],[1],[4611686018427387903],byte)");
  // The block of rank 4 would begin at 2^64.
  expect_same("darray(5,4,[4611686018427387904],[cyclic],[4611686018427387904],[5],byte)",
              "contiguous(0,byte)");
}

TEST(Expression, a_dimension_that_is_not_distributed_has_no_use_for_its_darg) {
  // Not even for its form, past the number of blocks up to which forms are compared.
  expect_same("darray(1,0,[3,8388608],[none,none],[2,dfl],[1,1],resized(0,2,byte))",
              "contiguous(25165824,resized(0,2,byte))");
}

TEST(Expression, the_order_of_an_array_stands_before_or_behind_its_type) {
  expect_same("subarray([4,5],[2,3],[1,1],fortran,int)", "subarray([4,5],[2,3],[1,1],int,fortran)");
  expect_same("subarray([4,5],[2,3],[1,1],C,int)", "subarray([4,5],[2,3],[1,1],int)");
  expect_same("subarray([4,5],[2,3],[1,1],MPI_ORDER_FORTRAN,MPI_INT)",
              "subarray([4,5],[2,3],[1,1],int,fortran)");
  expect_same(
      "darray(2,1,[4,5],[MPI_DISTRIBUTE_CYCLIC,MPI_DISTRIBUTE_NONE],[MPI_DISTRIBUTE_DFLT_DARG,dfl],"
      "[2,1],MPI_ORDER_C,int)",
      "darray(2,1,[4,5],[cyclic,none],[dfl,dfl],[2,1],int)");
  expect_same("darray(2,1,[4,5],[block,none],[dfl,dfl],[2,1],Fortran,int)",
              "darray(2,1,[4,5],[block,none],[dfl,dfl],[2,1],int,fortran)");
}

TEST(Expression, blanks_case_and_prefix_do_not_count) {
  expect_same(" Vector ( 3 ,2,\t4 , MPI_DOUBLE ) ", "vector(3,2,4,double)");
}

TEST(Expression, names_of_mpi_functions_are_constructors) {
  expect_same("MPI_Type_vector(3,2,4,MPI_INT)", "vector(3,2,4,int)");
  expect_same("MPI_TYPE_CREATE_SUBARRAY([4,5],[2,3],[1,1],MPI_INT)",
              "subarray([4,5],[2,3],[1,1],int)");
  expect_same("MPI_Type_create_darray(2,1,[8],[BLOCK],[DEFAULT],[2],MPI_INT)",
              "subarray([8],[4],[4],int)");
  expect_same("mpi_type_create_hvector(3,1,9,MPI_Type_dup(int))", "hvector(3,1,9,int)");
  expect_same("MPI_vector(3,2,4,int)", "vector(3,2,4,int)");
}

/// Size and alignment of a basic type.
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

// By the standard's text: blocks without elements leave nothing in the type map, but the bounds
// that resized, subarray and darray set are entries of it. Neither library does all of this.
TEST(Expression, bounds_of_types_without_bytes_are_those_of_their_type_maps) {
  expect_bounds("hvector(3,0,40,int)", 0, 0, 0);
  expect_bounds("hindexed([0,0],[100,8],int)", 0, 0, 0);
  expect_bounds("hindexed_block(0,[100,8],int)", 0, 0, 0);
  expect_bounds("struct([],[],[])", 0, 0, 0);
  expect_bounds("hvector(3,1,40,contiguous(0,int))", 0, 0, 0);
  expect_bounds("hindexed_block(1,[100,0],contiguous(0,int))", 0, 0, 0);
  expect_bounds("struct([1,1],[100,0],[contiguous(0,int),int])", 0, 4, 4);
  expect_bounds("struct([1,1],[100,0],[dup(vector(3,0,2,int)),int])", 0, 4, 4);
  expect_bounds("resized(-4,16,contiguous(0,int))", -4, 16, 0);
  expect_bounds("contiguous(3,resized(-4,16,contiguous(0,int)))", -4, 48, 0);
  expect_bounds("hindexed([1,1],[100,8],resized(0,16,contiguous(0,int)))", 8, 108, 0);
  expect_bounds("struct([1,1],[100,0],[resized(0,16,contiguous(0,int)),int])", 0, 116, 4);
  expect_bounds("contiguous(3,darray(2,1,[1],[block],[dfl],[2],int))", 0, 12, 0);
  expect_bounds("struct([1],[100],[subarray([4],[2],[1],contiguous(0,int))])", 100, 0, 0);
}

TEST(Expression, members_without_bytes_do_not_pad_a_struct) {
  expect_bounds("struct([1,1,1],[0,0,8],[resized(0,8,contiguous(0,double)),int,char])", 0, 12, 5);
}

// Where Open MPI pads or inherits bounds and MPICH does not, these follow MPICH.
TEST(Expression, bounds_that_libraries_give_differently) {
  expect_bounds("hvector(3,1,13,int)", 0, 30, 12);
  expect_bounds("hvector(3,1,-13,int)", -26, 30, 12);
  expect_bounds("struct([1,1],[0,100],[resized(0,16,int),int])", 0, 104, 8);
  // But MPICH does not pad a struct of one type, and this is Open MPI's.
  expect_bounds("struct([1,1],[0,42],[int,int])", 0, 48, 8);
}

TEST(Expression, of_a_layout_gives_that_layout) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const Layout layout = random_layout(random);
    const std::string text = expression_of(layout, INT64_MAX);
    EXPECT_EQ(parse(text).layout, layout) << text;
  }
}

TEST(Expression, of_a_layout_is_what_a_program_would_write) {
  EXPECT_EQ(expression_of(parse("vector(512,1,512,double)").layout), "hvector(512,8,4096,byte)");
  EXPECT_EQ(expression_of(parse("contiguous(3,double)").layout), "contiguous(24,byte)");
  EXPECT_EQ(expression_of(Layout()), "contiguous(0,byte)");
}

TEST(Expression, of_a_layout_with_too_many_blocks_is_empty) {
  const Layout layout = parse("indexed([1,2,3],[0,10,30],double)").layout;
  EXPECT_EQ(expression_of(layout, 3), "hindexed([8,16,24],[0,80,240],byte)");
  EXPECT_EQ(expression_of(layout, 2), "");
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
        Bad{"doubel", 0, "'doubel' is not a type; did you mean double?"},
        Bad{"double)", 6, "expected the end of the type"}, Bad{"vector", 6, "expected '('"},
        Bad{"vectr(1,2,3,int)", 0, "'vectr' is not a constructor; did you mean vector?"},
        Bad{"MPI_Type_vector", 15, "expected '('"},
        Bad{"MPI_Type_vectr(1,2,3,int)", 0, "did you mean vector?"},
        Bad{"MPI_Type_int", 0, "'type_int' is not a type; did you mean int?"},
        Bad{"vector(1,2,int)", 11, "expected a whole number, found 'int'"},
        Bad{"vector(1,2,3,int", 16, "expected ')', found the end"},
        Bad{"vector(-1,2,3,int)", 0, "vector: the count must not be negative: -1"},
        Bad{"contiguous(2,vector(1,-2,3,int))", 13,
            "vector: the blocklength must not be negative: -2"},
        Bad{"indexed([1,2],[0],int)", 0, "has 2 values, but that of displacements has 1"},
        Bad{"indexed([1,2,[0],int)", 13, "expected a whole number, found '['"},
        Bad{"indexed([1,2[0],int)", 12, "expected ',' or ']', found '['"},
        Bad{"struct([1],[0],int)", 15, "expected '[', found 'int'"},
        Bad{"struct([1],[0],[int,int])", 0, "has 1 values, but that of types has 2"},
        Bad{"subarray([4],[5],[0],int)", 0, "subsize 5 from start 0 does not lie within size 4"},
        Bad{"subarray([4],[2],[3],int)", 0, "subsize 2 from start 3 does not lie within size 4"},
        Bad{"subarray([],[],[],int)", 0, "at least one dimension"},
        Bad{"subarray([4],[2],[1],int,row)", 25, "expected c or fortran"},
        Bad{"subarray([4],[2],[1],c,int,c)", 26, "expected ')', found ','"},
        Bad{"darray(2,0,[4],[blok],[dfl],[2],int)", 16, "expected block, cyclic or none"},
        Bad{"darray(2,0,[4],[block],[dlf],[2],int)", 24, "a whole number, default or dfl"},
        Bad{"darray(2,0,[4],[block],[dfl],[2])", 32, "expected ',', found ')'"},
        Bad{"darray(2,0,[4,4],[block],[dfl,dfl],[2,1],int)", 0,
            "has 2 values, but that of distribs has 1"},
        Bad{"darray(2,0,[4],[block],[],[2],int)", 0, "has 1 values, but that of dargs has 0"},
        Bad{"darray(2,0,[4],[block],[dfl],[2,1],int)", 0, "has 1 values, but that of psizes has 2"},
        Bad{"darray(1,0,[],[],[],[],int)", 0, "at least one dimension"},
        Bad{"dup(darray(2,2,[4],[block],[dfl],[2],int))", 4, "rank 2 does not lie within size 2"},
        Bad{"darray(2,-1,[4],[block],[dfl],[2],int)", 0, "rank -1 does not lie within size 2"},
        Bad{"darray(3,0,[4,4],[block,block],[dfl,dfl],[2,2],int)", 0,
            "product of psizes is 4, but the size is 3"},
        Bad{"darray(2,0,[4],[none],[dfl],[2],int)", 0,
            "dimension 0: none goes with psize 1, not 2"},
        Bad{"darray(2,0,[1,7],[none,block],[dfl,3],[1,2],int)", 0,
            "dimension 1: 2 blocks of 3 do not hold gsize 7"},
        Bad{"darray(2,0,[4],[cyclic],[0],[2],int)", 0, "dimension 0: darg 0 must be positive"},
        Bad{"darray(0,0,[4],[block],[dfl],[0],int)", 0, "gsize 4 and psize 0 must be positive"},
        Bad{"darray(1,0,[0],[block],[dfl],[1],int)", 0, "gsize 0 and psize 1 must be positive"},
        Bad{"darray(1,0,[4294967296,4294967296],[none,none],[dfl,dfl],[1,1],int)", 0, "past 2^63"},
        Bad{"contiguous(99999999999999999999,int)", 11, "a number past 2^63"},
        Bad{"hvector(2,1,-9223372036854775808,byte)", 0, "past 2^63"},
        Bad{"hvector(4611686018427387904,1,8,int)", 0, "past 2^63"}));

TEST(Expression, a_nest_too_deep_is_refused) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "dup(";
  EXPECT_THROW(static_cast<void>(parse(text)), SyntaxError);
}

}  // namespace
}  // namespace strake::expression
