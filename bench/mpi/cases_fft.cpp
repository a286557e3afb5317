// Transposition in a two-dimensional FFT: the datatypes transpose, so no pass of the application
// does.
#include "mpi/case.hpp"

namespace bench {
namespace {

// The whole n x n matrix column by column: one column resized to the width of an element, n times.
Case transpose(int n, MPI_Datatype element, std::int64_t bytes) {
  Case c;
  c.type = resized(vector(n, 1, n, element), bytes);
  c.count = n;
  c.buffer_bytes = bytes * n * n;
  for (int column = 0; column < n; ++column) {
    for (int row = 0; row < n; ++row) {
      c.blocks.push_back({bytes * (std::int64_t{row} * n + column), bytes});
    }
  }
  return c;
}

// One rank of p sends each of the others a tile of its n/p rows: vector rows of n/p elements,
// resized so that tile q starts at column q n/p.
Case send_tiles(int n, int p) {
  Case c;
  const int tile = n / p;
  c.type = resized(vector(tile, tile, n, MPI_C_DOUBLE_COMPLEX), 16 * tile);
  c.count = p;
  c.buffer_bytes = std::int64_t{16} * tile * n;
  for (int q = 0; q < p; ++q) {
    for (int row = 0; row < tile; ++row) {
      c.blocks.push_back({16 * (std::int64_t{row} * n + q * tile), 16 * tile});
    }
  }
  return c;
}

// And receives tiles transposed: each element of the message goes down a column.
Case receive_transposed(int n, int p) {
  Case c;
  const int tile = n / p;
  const Datatype column = resized(vector(tile, 1, n, MPI_C_DOUBLE_COMPLEX), 16);
  c.type = resized(contiguous(tile, column), 16 * tile);
  c.count = p;
  c.buffer_bytes = std::int64_t{16} * tile * n;
  for (int q = 0; q < p; ++q) {
    for (int j = 0; j < tile; ++j) {
      for (int row = 0; row < tile; ++row) {
        c.blocks.push_back({16 * (std::int64_t{row} * n + q * tile + j), 16});
      }
    }
  }
  return c;
}

}  // namespace

void add_fft_cases(CaseList& list, bool quick) {
  const int n = quick ? 32 : 512;
  const std::string size = std::to_string(n);
  list.push_back({"fft/transpose_double_" + size, [=] { return transpose(n, MPI_DOUBLE, 8); }});
  list.push_back(
      {"fft/transpose_complex_" + size, [=] { return transpose(n, MPI_C_DOUBLE_COMPLEX, 16); }});
  const int large = quick ? 64 : 1024;
  list.push_back({"fft/send_tiles_" + std::to_string(large), [=] { return send_tiles(large, 8); }});
  list.push_back({"fft/receive_transposed_" + std::to_string(large),
                  [=] { return receive_transposed(large, 8); }});
}

}  // namespace bench
