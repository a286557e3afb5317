// A library to preload into ranks of MPICH that outnumber the cores. MPICH over UCX waits without
// giving its core to a rank that has something to do: four ranks on two cores take ten times as
// long as with this. Open MPI yields by itself there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

// UCX's function moves messages on; it returns how much there was to do.
unsigned ucp_worker_progress(void* worker) {
  static unsigned (*progress)(void*);
  if (progress == 0) progress = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned done = progress(worker);
  if (done == 0) sched_yield();
  return done;
}
