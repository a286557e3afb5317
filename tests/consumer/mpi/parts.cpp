// The program and its static library have one core, that of the shared library; the program's
// shared library keeps its own. Plans may go from one to the other.
#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "part.hpp"

namespace {

bool check(bool is_so, const char* what) {
  if (!is_so) std::printf("wrong: %s\n", what);
  return is_so;
}

bool runs(const strake::CopyPlan& plan) {
  std::array<std::byte, 8> from{};
  from.fill(std::byte{7});
  std::array<std::byte, 8> to{};
  plan.run(to.data(), from.data());
  return to == from;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto* const own = reinterpret_cast<const void*>(&strake::CopyPlan::compile);
  Dl_info info{};
  const bool known = dladdr(own, &info) != 0;
  bool good = check(known && std::strstr(info.dli_fname, "/libstrake-") != nullptr,
                    "the program's core is the shared library's");
  good = check(part::address_of_compile() == own, "and its static library's core") && good;
  good = check(keeper::address_of_compile() != own, "a shared library keeps its own") && good;
  strake::CopyPlan plan = part::make_plan(8);
  good = check(runs(plan), "the static library's plan runs") && good;
  plan = keeper::make_plan(8);
  good = check(runs(plan), "the shared library's plan runs") && good;
  MPI_Finalize();
  return good ? 0 : 1;
}
