/// \file  Datatypes that are committed by all ranks together, with and without Strake.
#include <strake/mpix.h>

#include "check.hpp"

namespace {

MPI_Datatype column_of(int rows) {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, 2, 5, MPI_DOUBLE, &column);
  return column;
}

void exchange(MPI_Comm comm, MPI_Datatype type) {
  constexpr std::size_t kValues = 20'000;
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<double> out(kValues), in(kValues, -1);
  for (std::size_t i = 0; i < kValues; ++i) out[i] = static_cast<double>(i) + rank;
  MPI_Request requests[2];
  const int from = (rank + size - 1) % size;
  CHECK_MPI(MPI_Irecv(in.data(), 1, type, from, 3, comm, &requests[0]));
  CHECK_MPI(MPI_Isend(out.data(), 1, type, (rank + 1) % size, 3, comm, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / 16 * 5; ++i)
    CHECK_EQ(in[i], i % 5 < 2 ? static_cast<double>(i) + from : -1);
}

void types_of_one_layout() {
  check::section("types of one layout");
  MPI_Datatype type = column_of(3000);
  CHECK_MPI(MPIX_Type_commit_comm(&type, MPI_COMM_WORLD));
  for (int turn = 0; turn < 3; ++turn) exchange(MPI_COMM_WORLD, type);
  CHECK_MPI(MPIX_Type_commit_comm(&type, MPI_COMM_WORLD));  // twice does no harm
  CHECK_MPI(MPIX_Type_free_comm(&type, MPI_COMM_WORLD));
  CHECK(type == MPI_DATATYPE_NULL);
}

void communicator_of_its_own(MPI_Comm comm, bool strake) {
  check::section("a communicator of its own");
  MPI_Datatype type = column_of(2000);
  CHECK_MPI(MPIX_Type_commit_comm(&type, comm));
  exchange(comm, type);
  if (strake) {
    CHECK_EQ(check::class_name(MPIX_Type_free_comm(&type, MPI_COMM_WORLD)), "MPI_ERR_TYPE");
    CHECK(type != MPI_DATATYPE_NULL);
  }
  CHECK_MPI(MPIX_Type_free_comm(&type, comm));
}

void hundreds_of_types(MPI_Comm comm) {
  check::section("hundreds of types");
  for (int rows = 70; rows < 270; ++rows) {
    MPI_Datatype type = column_of(rows);
    CHECK_MPI(MPIX_Type_commit_comm(&type, comm));
    if (rows % 100 == 0) exchange(comm, type);
    CHECK_MPI(MPIX_Type_free_comm(&type, comm));
  }
}

void types_that_differ() {
  check::section("types that differ");
  MPI_Datatype type = column_of(100 + check::rank());
  const char* const expected = check::size() > 1 ? "MPI_ERR_TYPE" : "MPI_SUCCESS";
  CHECK_EQ(check::class_name(MPIX_Type_commit_comm(&type, MPI_COMM_WORLD)), expected);
  MPI_Type_free(&type);
}

void bad_arguments(MPI_Comm comm) {
  check::section("arguments that are none");
  CHECK_EQ(check::class_name(MPIX_Type_commit_comm(nullptr, comm)), "MPI_ERR_ARG");
  CHECK_EQ(check::class_name(MPIX_Type_free_comm(nullptr, comm)), "MPI_ERR_ARG");
  MPI_Datatype type = column_of(10);
  CHECK_EQ(check::class_name(MPIX_Type_commit_comm(&type, MPI_COMM_NULL)), "MPI_ERR_COMM");
  MPI_Type_free(&type);
  type = MPI_DATATYPE_NULL;
  CHECK_EQ(check::class_name(MPIX_Type_free_comm(&type, comm)), "MPI_ERR_TYPE");
}

void intercommunicator() {
  check::section("an intercommunicator");
  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  const int side = check::rank() == 0 ? 0 : 1;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 9, &between);
  MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
  MPI_Datatype type = column_of(10);
  CHECK_EQ(check::class_name(MPIX_Type_commit_comm(&type, between)), "MPI_ERR_COMM");
  MPI_Type_free(&type);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  // Without Strake, or disabled, these are MPI_Type_commit and MPI_Type_free, which know nothing of
  // the others' types.
  const bool strake = dlsym(nullptr, "strake_type_commit_comm") != nullptr &&
                      std::getenv("STRAKE_DISABLE") == nullptr;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  types_of_one_layout();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -check::rank(), &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  communicator_of_its_own(comm, strake);
  hundreds_of_types(comm);
  if (strake) {
    types_that_differ();
    bad_arguments(comm);
    if (check::size() > 1) intercommunicator();
  }
  MPI_Comm_free(&comm);
  return check::finish();
}
