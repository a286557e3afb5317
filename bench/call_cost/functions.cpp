#include "call_cost/functions.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace bench {

Functions outermost_functions() {
  Functions found;
#define BENCH_OUTERMOST(name) found.name = &::name;
  BENCH_TIMED_FUNCTIONS(BENCH_OUTERMOST)
#undef BENCH_OUTERMOST
  return found;
}

Stub loaded_stub(const char* library) {
  void* const object = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (object == nullptr) {
    std::fprintf(stderr,
                 "%s is not in this process: preload it after the interposer, as "
                 "bench/run-call-cost does\n",
                 library);
    std::exit(2);
  }
  Stub stub;
#define BENCH_STUB(name) \
  stub.functions.name = reinterpret_cast<decltype(stub.functions.name)>(dlsym(object, #name));
  BENCH_TIMED_FUNCTIONS(BENCH_STUB)
#undef BENCH_STUB
  stub.control = static_cast<StubControl*>(dlsym(object, "bench_stub_control"));
  return stub;
}

}  // namespace bench
