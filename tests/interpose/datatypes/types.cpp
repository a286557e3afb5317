/// \file  Messages of every type constructor, and of the odd ones: MPI_BOTTOM, overlapping sends,
/// zero counts, negative strides and extents, pair types.
#include <numeric>

#include "described.hpp"

namespace {

/// From one described type into another of the same size, by blocking and by nonblocking calls.
void exchange(const Described& out_type, int out_count, const Described& in_type, int in_count) {
  for (const bool nonblocking : {false, true}) {
    Image out(out_type, out_count), in(in_type, in_count);
    out.fill(7);
    if (nonblocking) {
      MPI_Request requests[2];
      CHECK_MPI(MPI_Irecv(in.data(), in_count, in_type.type, check::previous(), 1, MPI_COMM_WORLD,
                          &requests[0]));
      CHECK_MPI(MPI_Isend(out.data(), out_count, out_type.type, check::next(), 1, MPI_COMM_WORLD,
                          &requests[1]));
      CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else {
      CHECK_MPI(MPI_Sendrecv(out.data(), out_count, out_type.type, check::next(), 1, in.data(),
                             in_count, in_type.type, check::previous(), 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE));
    }
    CHECK(in.holds(7));
  }
}

void each_way(const char* name, const Described& type) {
  check::section(name);
  for (const int count : {1, 2, 5}) {
    exchange(type, count, type, count);
    const Described bytes =
        describe::commit(describe::contiguous(count * type.size(), describe::byte()));
    exchange(type, count, bytes, 1);
    exchange(bytes, 1, type, count);
  }
}

void constructors() {
  using namespace describe;
  const Described b = byte(), i = integer(), d = real();
  each_way("contiguous", commit(contiguous(7, d)));
  each_way("contiguous of vectors", commit(contiguous(3, vector(4, 2, 3, d))));
  each_way("vector", commit(vector(5, 3, 4, d)));
  each_way("vector of one block", commit(vector(1, 3, 4, d)));
  each_way("vector, stride = blocklength", commit(vector(6, 2, 2, i)));
  each_way("vector, negative stride", commit(vector(5, 3, -4, i)));
  each_way("hvector, odd stride", commit(hvector(5, 3, 13, b)));
  each_way("hvector, negative stride", commit(hvector(4, 1, -24, d)));
  each_way("vector with zero blocklengths", commit(indexed({2, 0, 1}, {0, 9, 5}, d)));
  each_way("indexed backwards", commit(indexed({1, 2, 3}, {20, 10, 0}, i)));
  each_way("hindexed", commit(hindexed({3, 1, 4}, {100, 7, 20}, b)));
  each_way("subarray", commit(subarray(9, 8, 4, 3, 2, 5, d)));
  each_way("subarray, offset in a dimension of one", commit(subarray(10, 10, 1, 4, 2, 5, d)));
  each_way("struct", commit(structure({1, 2, 3}, {40, 0, 24}, {&d, &d, &i})));
  each_way("resized, longer", commit(resized(0, 64, vector(3, 1, 2, d))));
  each_way("resized, interleaved", commit(resized(0, 8, vector(5, 1, 9, d))));
  each_way("resized, lb below", commit(resized(-16, 80, vector(3, 1, 2, d))));
  each_way("transpose", commit(hvector(6, 1, 8, vector(5, 1, 6, d))));
  each_way("nested vectors", commit(hvector(3, 2, 1012, hvector(4, 1, 152, vector(3, 2, 5, i)))));
  each_way("vector of subarrays", commit(contiguous(2, subarray(6, 7, 3, 2, 1, 4, i))));
  const Described faces[] = {subarray(8, 8, 1, 8, 0, 0, d), subarray(8, 8, 8, 1, 0, 0, d)};
  each_way("struct of subarrays", commit(structure({1, 1}, {0, 1024}, {&faces[0], &faces[1]})));
}

/// Indexed blocks and darrays: made by MPI, described by hand.
void further_constructors() {
  check::section("indexed_block, hindexed_block, darray");
  const int at[] = {12, 0, 6};
  Described block = describe::indexed({2, 2, 2}, {12, 0, 6}, describe::integer());
  block.release();
  CHECK_MPI(MPI_Type_create_indexed_block(3, 2, at, MPI_INT, &block.type));
  block.owned = true;
  each_way("indexed_block", describe::commit(std::move(block)));
  const MPI_Aint bytes_at[] = {50, 3, 20};
  Described hblock = describe::hindexed({5, 5, 5}, {50, 3, 20}, describe::byte());
  hblock.release();
  CHECK_MPI(MPI_Type_create_hindexed_block(3, 5, bytes_at, MPI_BYTE, &hblock.type));
  hblock.owned = true;
  each_way("hindexed_block", describe::commit(std::move(hblock)));
  // 12 x 10 doubles over 2 x 2 processes: block rows, cyclic(2) columns; process 1 holds rows 0-5
  // and columns 2, 3, 6, 7.
  Described darray =
      describe::hvector(6, 1, 80, describe::indexed({2, 2}, {2, 6}, describe::real()));
  darray.lb = 0;
  darray.extent = 12 * 10 * 8;
  darray.release();
  const int sizes[] = {12, 10}, ways[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 2};
  CHECK_MPI(MPI_Type_create_darray(4, 1, 2, sizes, ways, arguments, grid, MPI_ORDER_C, MPI_DOUBLE,
                                   &darray.type));
  darray.owned = true;
  each_way("darray", describe::commit(std::move(darray)));
}

void fortran_order() {
  check::section("subarray in Fortran order");
  // 5 x 4 x 3 in column-major order; the part 2 x 3 x 2 from (1, 0, 1).
  Described part =
      describe::hvector(2, 1, 20 * 8, describe::hvector(3, 2, 5 * 8, describe::real()));
  for (std::ptrdiff_t& offset : part.bytes) offset += (1 + 20) * 8;
  part.lb = 0;
  part.extent = 5 * 4 * 3 * 8;
  part.release();
  const int sizes[] = {5, 4, 3}, sub[] = {2, 3, 2}, start[] = {1, 0, 1};
  CHECK_MPI(
      MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_FORTRAN, MPI_DOUBLE, &part.type));
  part.owned = true;
  each_way("subarray in Fortran order", describe::commit(std::move(part)));
}

/// Absolute addresses: two arrays far apart in one message.
void bottom() {
  check::section("MPI_BOTTOM");
  std::vector<int> a(100), b(300), c(100, -1), d(300, -1);
  std::iota(a.begin(), a.end(), 1000);
  std::iota(b.begin(), b.end(), 2000);
  const auto type_of = [](std::vector<int>& first, std::vector<int>& second) {
    const int lengths[] = {5, 200};
    MPI_Aint at[2];
    MPI_Get_address(&first[10], &at[0]);
    MPI_Get_address(&second[50], &at[1]);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    CHECK_MPI(MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    return type;
  };
  MPI_Datatype out = type_of(a, b), in = type_of(c, d);
  const auto check_and_clear = [&] {
    for (std::size_t i = 0; i < 100; ++i) CHECK_EQ(c[i], i >= 10 && i < 15 ? a[i] : -1);
    for (std::size_t i = 0; i < 300; ++i) CHECK_EQ(d[i], i >= 50 && i < 250 ? b[i] : -1);
    std::fill(c.begin(), c.end(), -1);
    std::fill(d.begin(), d.end(), -1);
  };
  CHECK_MPI(MPI_Sendrecv(MPI_BOTTOM, 1, out, check::next(), 2, MPI_BOTTOM, 1, in, check::previous(),
                         2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  check_and_clear();
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(MPI_BOTTOM, 1, in, check::previous(), 2, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Isend(MPI_BOTTOM, 1, out, check::next(), 2, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  check_and_clear();
  // MPICH 4.0 refuses MPI_BOTTOM as a null pointer here; a library that takes it must do so
  // rightly.
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  char packed[205 * 4];
  int position = 0;
  const int code = MPI_Pack(MPI_BOTTOM, 1, out, packed, sizeof packed, &position, MPI_COMM_WORLD);
  if (code == MPI_SUCCESS) {
    CHECK_EQ(position, 205 * 4);
    position = 0;
    CHECK_MPI(MPI_Unpack(packed, sizeof packed, &position, MPI_BOTTOM, 1, in, MPI_COMM_WORLD));
    check_and_clear();
  }
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  MPI_Type_free(&out);
  MPI_Type_free(&in);
}

/// A sender may name a byte twice.
void overlapping_send() {
  check::section("overlapping send type");
  std::vector<int> memory(64), in(30, -1);
  std::iota(memory.begin(), memory.end(), 0);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(10, 3, 1, MPI_INT, &type));  // each block starts one further
  CHECK_MPI(MPI_Type_commit(&type));
  CHECK_MPI(MPI_Sendrecv(memory.data(), 1, type, check::next(), 3, in.data(), 30, MPI_INT,
                         check::previous(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (std::size_t i = 0; i < 30; ++i) CHECK_EQ(in[i], static_cast<int>(i / 3 + i % 3));
  MPI_Type_free(&type);
  CHECK_MPI(MPI_Type_create_hvector(20, 1, 0, MPI_INT, &type));  // one integer 20 times
  CHECK_MPI(MPI_Type_commit(&type));
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Isend(&memory[42], 1, type, check::next(), 3, MPI_COMM_WORLD, &request));
  CHECK_MPI(
      MPI_Recv(in.data(), 20, MPI_INT, check::previous(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (std::size_t i = 0; i < 20; ++i) CHECK_EQ(in[i], 42);
  MPI_Type_free(&type);
}

void empty_types() {
  check::section("empty types and zero counts");
  std::vector<Described> empty;
  empty.push_back(describe::commit(describe::vector(0, 3, 4, describe::integer())));
  empty.push_back(describe::commit(describe::indexed({0, 0}, {3, 9}, describe::integer())));
  empty.push_back(describe::commit(describe::contiguous(0, describe::integer())));
  for (const Described& type : empty) {
    exchange(type, 0, type, 0);
    exchange(type, 5, type, 5);
  }
  const Described type = describe::medium();
  exchange(type, 0, type, 0);
  MPI_Status status{};
  CHECK_MPI(MPI_Sendrecv(nullptr, 0, type.type, check::next(), 4, nullptr, 0, type.type,
                         check::previous(), 4, MPI_COMM_WORLD, &status));
  int count = -1;
  CHECK_MPI(MPI_Get_count(&status, type.type, &count));
  CHECK_EQ(count, 0);
}

/// More constructors inside one another than anyone follows, and as many as are.
void deep_types() {
  for (const int levels : {600, 100}) {
    Described type = describe::vector(40, 3, 5, describe::integer());
    for (int level = 0; level < levels; ++level) {
      MPI_Datatype outer = MPI_DATATYPE_NULL;
      CHECK_MPI(level % 2 == 0 ? MPI_Type_contiguous(1, type.type, &outer)
                               : MPI_Type_create_resized(type.type, 0, type.extent + 8, &outer));
      if (level % 2 == 1) type.extent += 8;
      CHECK_MPI(MPI_Type_free(&type.type));
      type.type = outer;
    }
    each_way("deep types", describe::commit(std::move(type)));
  }
}

/// Types that grow by a member at a time, each committed and used.
void growing_types() {
  check::section("growing types");
  Described type = describe::commit(describe::indexed({2, 1}, {0, 3}, describe::integer()));
  for (int level = 0; level < 100; ++level) {
    const Described b = describe::byte();
    // Apart from what is there by a byte or by two, which no repeat describes.
    type = describe::commit(
        describe::structure({1, 1}, {0, type.extent + 1 + level * level % 7 / 4}, {&type, &b}));
    if (level % 9 == 0) exchange(type, 2, type, 2);
  }
  exchange(type, 3, type, 3);
}

/// Lists of so many blocks that they are decoded only after some uses: the same messages before,
/// between a side that decoded and one that did not, and after.
void long_lists() {
  check::section("long lists");
  const Described i = describe::integer(), d = describe::real();
  const Described pair = describe::structure({1, 1}, {0, 8}, {&d, &i});
  std::vector<int> lengths, at;
  for (int block = 0; block < 500; ++block) {
    lengths.push_back(1 + block % 3);
    at.push_back(5 * block + block * block % 3);
  }
  const std::vector<const Described*> elements = {&i, &d, &pair};
  for (const Described* element : elements) {
    const Described list = describe::commit(describe::indexed(lengths, at, *element));
    const Described bytes = describe::commit(describe::contiguous(list.size(), describe::byte()));
    exchange(list, 1, bytes, 1);
    for (int use = 0; use < 10; ++use) exchange(list, 1, list, 1);
    exchange(bytes, 1, list, 1);
    const Described other = describe::commit(describe::indexed(lengths, at, *element));
    for (int use = 0; use < 10; ++use) exchange(other, 1, list, 1);
    const Described shifted = describe::commit(describe::resized(-16, list.extent + 40, list));
    for (const int count : {1, 3, 20}) exchange(shifted, count, other, count);
  }
}

/// A pair type has a gap that stays untouched.
void pair_types() {
  check::section("pair types");
  struct Pair {
    double value;
    int index;
    int gap;
  };
  Pair out[50], in[50];
  for (int i = 0; i < 50; ++i) {
    out[i] = {i * 1.5, i, 111};
    in[i] = {-1, -1, 222};
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(20, 1, 2, MPI_DOUBLE_INT, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  CHECK_MPI(MPI_Sendrecv(out, 1, type, check::next(), 5, in, 1, type, check::previous(), 5,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 50; ++i) {
    const bool moved = i < 40 && i % 2 == 0;
    CHECK_EQ(in[i].value, moved ? i * 1.5 : -1);
    CHECK_EQ(in[i].index, moved ? i : -1);
    CHECK_EQ(in[i].gap, 222);
  }
  MPI_Type_free(&type);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  constructors();
  further_constructors();
  fortran_order();
  bottom();
  overlapping_send();
  empty_types();
  deep_types();
  growing_types();
  long_lists();
  pair_types();
  return check::finish();
}
