// Sends a column of a matrix to the next rank: packed by Strake, to be received with an MPI
// datatype; and by a planned exchange.
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"
#include "strake/layout.hpp"

namespace {

constexpr int kRows = 300;
constexpr int kColumns = 40;
constexpr int kBytes = kRows * static_cast<int>(sizeof(double));

bool exceptions_cross() {
  try {
    (void)strake::Layout::dense(-1);
  } catch (const strake::InvalidArgument&) {
    return true;
  }
  return false;
}

std::byte* bytes(std::vector<double>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

bool has_column_of(int rank, const std::vector<double>& matrix) {
  for (int row = 0; row < kRows; ++row) {
    if (matrix[row * kColumns] != rank * 1000.0 + row || matrix[row * kColumns + 1] != -1.0)
      return false;
  }
  return true;
}

void exchange(const strake::Layout& column, int left, int right, std::vector<double>& from,
              std::vector<double>& to) {
  strake::ExchangePart part;
  const auto size = static_cast<std::int64_t>(from.size() * sizeof(double));
  part.send(right, 0, part.array({}, size), column);
  part.receive(left, 0, part.array({}, size), column);
  strake::Exchange planned(MPI_COMM_WORLD, part);
  const std::array arrays{bytes(from), bytes(to)};
  planned.start(arrays);
  planned.wait();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  std::vector<double> matrix(kRows * kColumns, -1.0);
  for (int row = 0; row < kRows; ++row) matrix[row * kColumns] = rank * 1000.0 + row;
  const strake::Dim rows{kRows, kColumns * sizeof(double)};
  const strake::Layout column = strake::Layout::box(0, sizeof(double), {&rows, 1});
  const auto plan =
      strake::CopyPlan::compile(strake::Layout::dense(column.size_bytes()), {}, column, {});
  std::vector<std::byte> packed(kBytes);
  plan.run(packed.data(), bytes(matrix));

  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  std::vector<double> received(kRows * kColumns, -1.0);
  const int right = (rank + 1) % ranks;
  const int left = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(packed.data(), kBytes, MPI_PACKED, right, 0, received.data(), 1, type, left, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::vector<double> exchanged(kRows * kColumns, -1.0);
  exchange(column, left, right, matrix, exchanged);
  const bool right_here =
      exceptions_cross() && has_column_of(left, received) && has_column_of(left, exchanged);
  const int good = right_here ? 1 : 0;
  MPI_Type_free(&type);
  int all = 0;
  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%s on %d ranks\n", all == 1 ? "right" : "wrong", ranks);
  MPI_Finalize();
  return all == 1 ? 0 : 1;
}
