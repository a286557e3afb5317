/// \file  MPI calls after main: from what atexit has registered, and from the destructor of a
/// global that finalises MPI, as programs do whose environment is an object.
#include <cstdlib>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kRows = 64;

/// Sends a column to oneself, packs it, and looks at both.
void exchange(const char* when) {
  check::section(when);
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(kRows, 1, kRows, MPI_DOUBLE, &column));
  CHECK_MPI(MPI_Type_commit(&column));
  std::vector<double> rows(kRows * kRows);
  for (int i = 0; i < kRows; ++i) rows[static_cast<std::size_t>(i * kRows)] = i;
  test_memory::Buffer<double> out(rows.size()), in(rows.size()), packed(kRows);
  out.set(rows);
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(in.data(), 1, column, 0, 1, MPI_COMM_SELF, &requests[0]));
  CHECK_MPI(MPI_Isend(out.data(), 1, column, 0, 1, MPI_COMM_SELF, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  int position = 0;
  CHECK_MPI(MPI_Pack(in.data(), 1, column, packed.data(), kRows * 8, &position, MPI_COMM_SELF));
  for (int i = 0; i < kRows; ++i) CHECK_EQ(packed.get()[static_cast<std::size_t>(i)], i);
  double one = 1, sum = 0;
  CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, check::size());
  CHECK_MPI(MPI_Type_free(&column));
}

struct Environment {
  Environment() { check::state(); }  // which then outlives this
  ~Environment() {
    exchange("destructor of a global");
    std::_Exit(check::finish());
  }
};
Environment g_environment;

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  exchange("main");
  std::atexit([] { exchange("atexit"); });
  return 0;
}
