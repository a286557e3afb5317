/* Stands in for an interposer in the tests of `strake run`: takes over MPI_Init in C and Fortran,
 * and says so in a line. Like the real one it is not linked to MPI: the next MPI_Init is found by
 * name, also where the library was loaded privately (python). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    void* library = dlopen(STANDIN_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) found = dlsym(library, name);
  }
  if (found == NULL) {
    fprintf(stderr, "standin: no %s in %s\n", name, STANDIN_LIBRARY);
    exit(70);
  }
  return found;
}

static const char* value_of(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "-" : value;
}

static void say(const char* entry) {
  const char* preload = value_of("LD_PRELOAD");
  printf("standin %s %s summary=%s json=%s disable=%s job=%d chunk=%s hidden=%d\n", STANDIN_FLAVOR,
         entry, value_of("STRAKE_SUMMARY"), value_of("STRAKE_SUMMARY_JSON"),
         value_of("STRAKE_DISABLE"), (int)strlen(value_of("STRAKE_JOB")), value_of("STRAKE_CHUNK"),
         strstr(preload, "libstrake-mpi-") == NULL);
  fflush(stdout);
}

int MPI_Init(int* argc, char*** argv) {
  say("MPI_Init");
  return ((int (*)(int*, char***))next("MPI_Init"))(argc, argv);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  say("MPI_Init_thread");
  return ((int (*)(int*, char***, int, int*))next("MPI_Init_thread"))(argc, argv, required,
                                                                      provided);
}

void mpi_init_(int* error) {
  say("mpi_init_");
  ((void (*)(int*))next("mpi_init_"))(error);
}
