/* loads BROKEN LIBRARY: asks whether LIBRARY, an MPI library, is loaded, tries BROKEN, which needs
 * one that is not there, and then uses LIBRARY. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

typedef int (*Init)(int*, char***);
typedef int (*Finalize)(void);

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  puts(dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD) == NULL ? "absent" : "loaded");
  puts(dlopen(argv[1], RTLD_NOW) == NULL ? "refused" : "brought");
  if (dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) == NULL) {
    puts(dlerror());
    return 1;
  }
  ((Init)dlsym(RTLD_DEFAULT, "MPI_Init"))(&argc, &argv);
  return ((Finalize)dlsym(RTLD_DEFAULT, "MPI_Finalize"))();
}
