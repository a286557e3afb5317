// A library that calls MPI, as libstrake-openmpi.so does, beside the preloaded interposer: its
// calls are not for that one, also where the MPI library was loaded before it.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "mpi/real_mpi.hpp"

extern "C" __attribute__((visibility("default"))) int check_calls() {
  int wrong = 0;
  const auto& real = strake::mpi::real_mpi();
  for (const void* function : {reinterpret_cast<const void*>(real.MPI_Send),
                               reinterpret_cast<const void*>(real.MPI_Waitall)}) {
    Dl_info info{};
    if (dladdr(function, &info) != 0 && std::strstr(info.dli_fname, "libmpi") != nullptr) continue;
    std::printf("a call goes to %s\n", info.dli_fname != nullptr ? info.dli_fname : "none");
    ++wrong;
  }
  return wrong;
}
