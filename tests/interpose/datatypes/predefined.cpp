/// \file  Predefined datatypes that C programs seldom name, and their duplicates: none is
/// committed, and all may be used.
#include "check.hpp"

namespace {

void travels(const char* name, MPI_Datatype type) {
  check::section(name);
  constexpr int kCount = 100;
  int size = 0;
  CHECK_MPI(MPI_Type_size(type, &size));
  const auto bytes = static_cast<std::size_t>(size) * kCount;
  test_memory::Buffer<unsigned char> buffer(bytes);
  std::vector<unsigned char> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<unsigned char>(i % 2);
  if (check::rank() == 0) {
    buffer.set(values);
    CHECK_MPI(MPI_Send(buffer.data(), kCount, type, 1, 1, MPI_COMM_WORLD));
  } else if (check::rank() == 1) {
    CHECK_MPI(MPI_Recv(buffer.data(), kCount, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(buffer.get() == values);
  }
  std::vector<unsigned char> packed(bytes + 64);
  int position = 0;
  buffer.set(values);
  CHECK_MPI(MPI_Pack(buffer.data(), kCount, type, packed.data(), static_cast<int>(packed.size()),
                     &position, MPI_COMM_WORLD));
  CHECK_EQ(static_cast<std::size_t>(position), bytes);
  packed.resize(bytes);
  CHECK(packed == values);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  travels("MPI_CXX_BOOL", MPI_CXX_BOOL);
  travels("MPI_CXX_FLOAT_COMPLEX", MPI_CXX_FLOAT_COMPLEX);
  travels("MPI_CXX_DOUBLE_COMPLEX", MPI_CXX_DOUBLE_COMPLEX);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_create_f90_real(15, 300, &type));
  travels("MPI_Type_create_f90_real", type);
  MPI_Datatype duplicate = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_dup(type, &duplicate));
  travels("its duplicate", duplicate);
  CHECK_MPI(MPI_Type_free(&duplicate));
  CHECK_MPI(MPI_Type_create_f90_complex(6, 30, &type));
  travels("MPI_Type_create_f90_complex", type);
  CHECK_MPI(MPI_Type_create_f90_integer(9, &type));
  travels("MPI_Type_create_f90_integer", type);
  return check::finish();
}
