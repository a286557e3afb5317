// Structs with gaps, and long index lists.
#include <array>

#include "mpi/case.hpp"
#include "mpi/index_list.hpp"

namespace bench {
namespace {

// An array of struct { first; double }, where the compiler leaves a gap after a first member of
// `bytes` bytes.
Case gapped_struct(int count, MPI_Datatype first, std::int64_t bytes) {
  Case c;
  const std::array<Member, 2> members{Member{0, first}, Member{8, MPI_DOUBLE}};
  c.type = structure(members);
  c.count = count;
  c.buffer_bytes = std::int64_t{16} * count;
  for (int i = 0; i < count; ++i) {
    c.blocks.push_back({std::int64_t{16} * i, bytes});
    c.blocks.push_back({std::int64_t{16} * i + 8, 8});
  }
  return c;
}

// The pair type of MAXLOC: { double; int }, with a gap at its end.
Case double_int(int count) {
  Case c;
  c.type = contiguous(count, MPI_DOUBLE_INT);
  c.buffer_bytes = std::int64_t{16} * count;
  for (int i = 0; i < count; ++i) c.blocks.push_back({std::int64_t{16} * i, 12});
  return c;
}

// Three floats per entry, one entry of three in use.
Case list_of_12_bytes(int count, Order order) {
  Case c;
  std::vector<int> places = pick_indices(count, 3 * count, order, 12);
  for (int& place : places) place *= 3;
  c.type = indexed_block(3, places, MPI_FLOAT);
  c.buffer_bytes = std::int64_t{36} * count;
  for (const int place : places) c.blocks.push_back({std::int64_t{4} * place, 12});
  return c;
}

// Blocks of 8 to 128 bytes with gaps of as much.
Case list_of_lengths(int count) {
  Case c;
  std::mt19937 random(8);
  std::vector<int> lengths;
  std::vector<int> places;
  int at = 0;
  for (int i = 0; i < count; ++i) {
    const int length = 1 + static_cast<int>(random() % 16);
    lengths.push_back(length);
    places.push_back(at);
    c.blocks.push_back({std::int64_t{8} * at, 8 * length});
    at += length + 1 + static_cast<int>(random() % 16);
  }
  c.type = indexed(lengths, places, MPI_DOUBLE);
  c.buffer_bytes = std::int64_t{8} * at;
  return c;
}

}  // namespace

void add_list_cases(CaseList& list, bool quick) {
  const int elements = quick ? 300 : 17000;
  list.push_back({"struct/int_double", [=] { return gapped_struct(elements, MPI_INT, 4); }});
  list.push_back({"struct/char_double", [=] { return gapped_struct(elements, MPI_CHAR, 1); }});
  list.push_back({"struct/double_int", [=] { return double_int(elements); }});
  const int blocks = quick ? 500 : 40000;
  list.push_back({"list/12B_sorted", [=] { return list_of_12_bytes(blocks, Order::Sorted); }});
  list.push_back({"list/12B_random", [=] { return list_of_12_bytes(blocks, Order::Random); }});
  list.push_back({"list/8-128B", [=] { return list_of_lengths(quick ? 500 : 20000); }});
}

}  // namespace bench
