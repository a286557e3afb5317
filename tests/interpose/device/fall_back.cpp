/// \file  A message for whose best method there is no memory: it travels by the next method.
#include "check.hpp"
#include "memory.hpp"

namespace {

constexpr int kElements = 10 << 20;  // 40 MiB of every second int

void exchange() {
  const int next = (check::rank() + 1) % check::size();
  const int previous = (check::rank() + check::size() - 1) % check::size();
  const auto value = [](int rank, std::size_t i) { return static_cast<int>(i) + rank; };
  std::vector<int> given(2 * std::size_t{kElements});
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = value(check::rank(), i);
  test_memory::Buffer<int> out(given.size());
  test_memory::Buffer<int> in(given.size(), -1);
  out.set(given);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(kElements, 1, 2, MPI_INT, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  CHECK_MPI(MPI_Sendrecv(out.data(), 1, type, next, 1, in.data(), 1, type, previous, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Type_free(&type));
  std::size_t wrong = 0;
  const std::vector<int>& got = in.get();
  for (std::size_t i = 0; i < got.size(); ++i) {
    wrong += got[i] != (i % 2 == 0 ? value(previous, i) : -1);
  }
  CHECK_EQ(wrong, std::size_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  exchange();
  return check::finish();
}
