/* past LIBRARY: calls the functions of LIBRARY, an MPI library, by its handle, as ctypes does. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

typedef int (*Init)(int*, char***);
typedef int (*Finalize)(void);

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    puts(dlerror());
    return 1;
  }
  ((Init)dlsym(library, "MPI_Init"))(NULL, NULL);
  return ((Finalize)dlsym(library, "MPI_Finalize"))();
}
