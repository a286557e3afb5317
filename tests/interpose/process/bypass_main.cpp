// Loads the library that is its argument, as an interpreter does: after the MPI library.
#include <dlfcn.h>
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* const library = dlopen(argv[1], RTLD_NOW);
  int (*check_calls)() = nullptr;
  if (library != nullptr) *reinterpret_cast<void**>(&check_calls) = dlsym(library, "check_calls");
  const int wrong = check_calls != nullptr ? check_calls() : 1;
  MPI_Finalize();
  return wrong;
}
