// Memory of MPI_Alloc_mem: more than there is, and such that the program maps other memory over.
// A message has the bytes that its sender sees.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kRows = 128;
constexpr int kBytes = kRows * 2048;

void fill(char* memory, int seed) {
  for (int i = 0; i < kBytes; ++i) memory[i] = static_cast<char>(seed * 131 + i / 7);
}

void exchange(char* out, char* in, MPI_Datatype type, int round) {
  const int peer = 1 - check::rank();
  fill(out, 2 * round + check::rank());
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(in, 1, type, peer, 1, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Isend(out, 1, type, peer, 1, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  std::vector<char> sent(kBytes);
  fill(sent.data(), 2 * round + peer);
  for (int row = 0; row < kRows; ++row)
    if (std::memcmp(in + row * 2048, sent.data() + row * 2048, 1024) != 0)
      return check::fail(__FILE__, __LINE__, "old bytes in round " + std::to_string(round));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  check::section("more than there is");
  void* huge = nullptr;
  const int code = MPI_Alloc_mem(MPI_Aint{1} << 45, MPI_INFO_NULL, &huge);
  int error_class = code;
  MPI_Error_class(code, &error_class);
  check::note("32 TiB: %s", error_class == MPI_SUCCESS ? "given" : "not given");
  if (code == MPI_SUCCESS) CHECK_MPI(MPI_Free_mem(huge));
  check::section("mapped anew");
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(kRows, 1024, 2048, MPI_BYTE, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  constexpr std::size_t kPage = 4096;
  char* memory[2] = {};
  for (char*& one : memory) CHECK_MPI(MPI_Alloc_mem(kBytes + kPage, MPI_INFO_NULL, &one));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory[0]) % kPage;
  char* const out = memory[0] + (before == 0 ? 0 : kPage - before);
  for (int round = 0; round < 100; ++round) exchange(out, memory[1], type, round);
  CHECK(mmap(out, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        out);
  for (int round = 100; round < 200; ++round) exchange(out, memory[1], type, round);
  for (char* const one : memory) CHECK_MPI(MPI_Free_mem(one));
  CHECK_MPI(MPI_Type_free(&type));
  return check::finish();
}
