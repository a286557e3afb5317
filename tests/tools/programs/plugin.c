/* A program whose library opens, by its bare name and through its own RUNPATH, a plug-in that uses
 * MPI. PART is 0: the program, 1: the library, 2: the plug-in. */
#include <stdio.h>

#if PART == 0
int open_plugin(void);
int main(void) { return open_plugin(); }

#elif PART == 1
#include <dlfcn.h>
int open_plugin(void) {
  void* plugin = dlopen(PLUGIN, RTLD_NOW);
  if (plugin == NULL) {
    puts(dlerror());
    return 1;
  }
  return ((int (*)(void))dlsym(plugin, "run_plugin"))();
}

#else
#include <mpi.h>
int run_plugin(void) {
  MPI_Init(NULL, NULL);
  puts("plugin");
  return MPI_Finalize();
}
#endif
