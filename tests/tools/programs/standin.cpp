// Stands in for an interposer in the tests of `strake run`: takes over MPI_Init in C and Fortran,
// and says so in a line. Like the real one it is not linked to MPI: the next MPI_Init is found by
// name, also where the library was loaded privately (python).
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "job/first.hpp"
#include "job/report.hpp"

namespace {

template <typename Function>
Function* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    void* library = dlopen(STANDIN_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) found = dlsym(library, name);
  }
  if (found == nullptr) {
    std::fprintf(stderr, "standin: no %s in %s\n", name, STANDIN_LIBRARY);
    std::exit(70);
  }
  return reinterpret_cast<Function*>(found);
}

const char* value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "-" : value;
}

/// STANDIN_TIME="A U": a summary by which the job is A seconds in MPI, or U if not disabled.
void write_summary() {
  double alone = 0, under = 0;
  if (std::sscanf(value_of("STANDIN_TIME"), "%lf %lf", &alone, &under) != 2) return;
  std::FILE* file = std::fopen(value_of("STRAKE_SUMMARY_JSON"), "w");
  if (file == nullptr || !strake::job::first_of_job()) return;
  const double seconds = std::strcmp(value_of("STRAKE_DISABLE"), "1") == 0 ? alone : under;
  std::fprintf(file, "{\"time\": {\"wall_s\": 10, \"in_mpi_s\": %g, \"in_mpi_share\": %g}}\n",
               seconds, seconds / 10);
  std::fclose(file);
}

void say(const char* entry) {
  std::printf("standin %s %s summary=%s json=%s disable=%s job=%d chunk=%s hidden=%d\n",
              STANDIN_FLAVOR, entry, value_of("STRAKE_SUMMARY"), value_of("STRAKE_SUMMARY_JSON"),
              value_of("STRAKE_DISABLE"), static_cast<int>(std::strlen(value_of("STRAKE_JOB"))),
              value_of("STRAKE_CHUNK"),
              std::strstr(value_of("LD_PRELOAD"), "libstrake-mpi-") == nullptr ? 1 : 0);
  std::fflush(stdout);
  write_summary();
  strake::job::leave_letter(value_of("STRAKE_JOB"), strake::job::Letter::Started);
}

}  // namespace

extern "C" int MPI_Init(int* argc, char*** argv) {
  say("MPI_Init");
  return next<int(int*, char***)>("MPI_Init")(argc, argv);
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  say("MPI_Init_thread");
  const int code =
      next<int(int*, char***, int, int*)>("MPI_Init_thread")(argc, argv, required, provided);
  constexpr int kMultiple = 3;  // of each library
  if (*provided == kMultiple)
    strake::job::leave_letter(value_of("STRAKE_JOB"), strake::job::Letter::Threads);
  return code;
}

extern "C" void mpi_init_(int* error) {
  say("mpi_init_");
  next<void(int*)>("mpi_init_")(error);
}
