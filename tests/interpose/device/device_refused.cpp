/// \file  Calls whose buffers the MPI library itself must reach: in a device's memory that it does
/// not reach, they give MPI_ERR_BUFFER, where the library would end the program. Elsewhere they
/// succeed.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "check.hpp"
#include "memory.hpp"

namespace {

constexpr int kInts = 64;
using Buffer = test_memory::Buffer<int>;

/// Whether the buffers lie in memory that the MPI library does not reach.
bool out_of_reach() {
  return test_memory::on_device() && test_memory::devices() > 0 &&
         std::getenv("STRAKE_GPU_AWARE") == nullptr;
}

/// Whether the call was carried out. In any run it ends in one of the two right ways.
bool done(const char* name, int code) {
  check::section(name);
  const std::string expected = out_of_reach() ? "MPI_ERR_BUFFER" : "MPI_SUCCESS";
  CHECK_EQ(check::class_name(code), expected);
  check::note("%s: as it should be", name);
  return code == MPI_SUCCESS;
}

void packs_externally(Buffer& device) {
  int host[kInts] = {};
  MPI_Aint position = 0;
  done("MPI_Pack_external",
       MPI_Pack_external("external32", device.data(), 4, MPI_INT, host, sizeof host, &position));
  position = 0;
  done("MPI_Unpack_external",
       MPI_Unpack_external("external32", host, sizeof host, &position, device.data(), 4, MPI_INT));
}

void puts_and_gets(Buffer& device, MPI_Win win) {
  int host = 1;
  int* const data = device.data();
  const int to = check::next();
  CHECK_MPI(MPI_Win_lock_all(0, win));
  done("MPI_Put", MPI_Put(data, 1, MPI_INT, to, 0, 1, MPI_INT, win));
  CHECK_MPI(MPI_Win_flush_all(win));
  done("MPI_Get", MPI_Get(data, 1, MPI_INT, to, 1, 1, MPI_INT, win));
  CHECK_MPI(MPI_Win_flush_all(win));
  done("MPI_Accumulate", MPI_Accumulate(data, 1, MPI_INT, to, 2, 1, MPI_INT, MPI_SUM, win));
  done("MPI_Get_accumulate",
       MPI_Get_accumulate(&host, 1, MPI_INT, data, 1, MPI_INT, to, 3, 1, MPI_INT, MPI_SUM, win));
  CHECK_MPI(MPI_Win_flush_all(win));
  done("MPI_Fetch_and_op", MPI_Fetch_and_op(&host, data + 1, MPI_INT, to, 4, MPI_SUM, win));
  CHECK_MPI(MPI_Win_flush_all(win));
  done("MPI_Compare_and_swap", MPI_Compare_and_swap(&host, &host, data + 2, MPI_INT, to, 5, win));
  CHECK_MPI(MPI_Win_flush_all(win));
  MPI_Request request = MPI_REQUEST_NULL;
  const auto completed = [&](const char* name, int code) {
    if (!done(name, code)) CHECK(request == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  };
  completed("MPI_Rput", MPI_Rput(data, 1, MPI_INT, to, 0, 1, MPI_INT, win, &request));
  completed("MPI_Rget", MPI_Rget(data, 1, MPI_INT, to, 1, 1, MPI_INT, win, &request));
  completed("MPI_Raccumulate",
            MPI_Raccumulate(data, 1, MPI_INT, to, 2, 1, MPI_INT, MPI_SUM, win, &request));
  completed("MPI_Rget_accumulate", MPI_Rget_accumulate(&host, 1, MPI_INT, data, 1, MPI_INT, to, 3,
                                                       1, MPI_INT, MPI_SUM, win, &request));
  // By absolute addresses. (Not in a file: MPICH 4.0 reads at MPI_BOTTOM then.)
  const int lengths[] = {1, 1};
  MPI_Aint addresses[2] = {};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Get_address(data, &addresses[0]));
  CHECK_MPI(MPI_Get_address(data + 9, &addresses[1]));
  CHECK_MPI(MPI_Type_create_hindexed(2, lengths, addresses, MPI_INT, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  done("MPI_Put by addresses", MPI_Put(MPI_BOTTOM, 1, type, to, 6, 2, MPI_INT, win));
  CHECK_MPI(MPI_Win_flush_all(win));
  CHECK_MPI(MPI_Type_free(&type));
  // Nothing is read there.
  CHECK_MPI(MPI_Put(data, 0, MPI_INT, to, 0, 0, MPI_INT, win));
  CHECK_MPI(MPI_Win_unlock_all(win));
}

void windows(Buffer& device) {
  MPI_Win win = MPI_WIN_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  if (done("MPI_Win_create", MPI_Win_create(device.data(), kInts * sizeof(int), sizeof(int),
                                            MPI_INFO_NULL, comm, &win)))
    CHECK_MPI(MPI_Win_free(&win));
  static int memory[kInts];
  CHECK_MPI(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win));
  CHECK_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  puts_and_gets(device, win);
  CHECK_MPI(MPI_Win_free(&win));
  CHECK_MPI(MPI_Comm_free(&comm));
}

void reads_and_writes(Buffer& device, MPI_File file) {
  MPI_Status status;
  int* const data = device.data();
#define TRY(name, ...) done("MPI_File_" #name, MPI_File_##name(file, __VA_ARGS__))
  TRY(write, data, 4, MPI_INT, &status);
  TRY(write_at, 0, data, 4, MPI_INT, &status);
  TRY(write_shared, data, 4, MPI_INT, &status);
  TRY(write_all, data, 4, MPI_INT, &status);
  TRY(write_at_all, 0, data, 4, MPI_INT, &status);
  TRY(write_ordered, data, 4, MPI_INT, &status);
  CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
  TRY(read, data, 4, MPI_INT, &status);
  TRY(read_at, 0, data, 4, MPI_INT, &status);
  TRY(read_shared, data, 4, MPI_INT, &status);
  TRY(read_all, data, 4, MPI_INT, &status);
  TRY(read_at_all, 0, data, 4, MPI_INT, &status);
  TRY(read_ordered, data, 4, MPI_INT, &status);
  if (TRY(write_at_all_begin, 0, data, 4, MPI_INT))
    CHECK_MPI(MPI_File_write_at_all_end(file, data, &status));
  if (TRY(read_at_all_begin, 0, data, 4, MPI_INT))
    CHECK_MPI(MPI_File_read_at_all_end(file, data, &status));
  MPI_Request request = MPI_REQUEST_NULL;
  TRY(iwrite_at, 0, data, 4, MPI_INT, &request);
  CHECK_MPI(MPI_Wait(&request, &status));
  TRY(iread_at, 0, data, 4, MPI_INT, &request);
  CHECK_MPI(MPI_Wait(&request, &status));
}

void files(Buffer& device) {
  char name[] = "/tmp/strake-interpose-XXXXXX";
  const int made = mkstemp(name);
  CHECK(made >= 0);
  close(made);
  MPI_File file = MPI_FILE_NULL;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  reads_and_writes(device, file);
  CHECK_MPI(MPI_File_close(&file));
  unlink(name);
}

/// A datatype that was not committed is an error in any memory.
void collective_of_no_type(Buffer& device) {
  check::section("a datatype that was not committed");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_MPI(MPI_Type_vector(4, 1, 2, MPI_INT, &type));
  CHECK_EQ(check::class_name(MPI_Bcast(device.data(), 2, type, 0, comm)), "MPI_ERR_TYPE");
  CHECK_MPI(MPI_Type_free(&type));
  CHECK_MPI(MPI_Comm_free(&comm));
}

#if MPI_VERSION >= 4
void partitioned(Buffer& device) {
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  int* const data = device.data();
  MPI_Request requests[2];
  done("MPI_Psend_init",
       MPI_Psend_init(data, 2, 4, MPI_INT, check::next(), 0, comm, MPI_INFO_NULL, &requests[0]));
  if (done("MPI_Precv_init", MPI_Precv_init(data + 8, 2, 4, MPI_INT, check::previous(), 0, comm,
                                            MPI_INFO_NULL, &requests[1]))) {
    CHECK_MPI(MPI_Startall(2, requests));
    CHECK_MPI(MPI_Pready_range(0, 1, requests[0]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
  }
  CHECK_MPI(MPI_Comm_free(&comm));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  {
    Buffer device(kInts, 3);
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    CHECK_MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    packs_externally(device);
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
    windows(device);
    files(device);
    collective_of_no_type(device);
#if MPI_VERSION >= 4
    partitioned(device);
#endif
  }
  return check::finish();
}
