#include "mpi/real_mpi.hpp"

#include <dlfcn.h>

#include <string>

#include "strake/error.hpp"

namespace strake::mpi {
namespace {

// The base address of the shared object or program that holds `address`.
void* object_of(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// Strake's interposer, where the process has one and this is not it: it alone has this symbol.
void* other_interposer() noexcept {
  const void* const known = dlsym(RTLD_DEFAULT, "strake_type_commit_comm");
  return known != nullptr ? object_of(known) : nullptr;
}

// The MPI library itself: the interposer has no PMPI_ names.
void* mpi_library() noexcept {
  Dl_info info;
  const void* const known = dlsym(RTLD_DEFAULT, "PMPI_Init");
  if (known == nullptr || dladdr(known, &info) == 0) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

// RTLD_NEXT finds the next object after the one that holds this code, in load order. A library that
// was loaded before (or whose symbols the program itself exports) is found by RTLD_DEFAULT; that
// search also finds Strake's own wrappers, which live in the object of this function and would call
// themselves for ever.
void* find(const char* name) noexcept {
  static const char here = 0;
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  void* any = dlsym(RTLD_DEFAULT, name);
  if (any == nullptr || object_of(any) == object_of(&here)) return nullptr;
  if (object_of(any) != other_interposer()) return any;
  static void* const library = mpi_library();
  return library != nullptr ? dlsym(library, name) : any;
}

}  // namespace

void* find_real(const char* name) noexcept { return find(name); }

const RealMpi& resolve_real_mpi() noexcept {
  static const RealMpi table = [] {
    RealMpi made;
#define STRAKE_FUNCTION(name) made.name = reinterpret_cast<decltype(made.name)>(find(#name));
#include "mpi/declared.def"
#undef STRAKE_FUNCTION
    return made;
  }();
  g_real_mpi.store(&table, std::memory_order_release);
  return table;
}

void check(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (real_mpi().MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw MpiError(std::string(function) + " failed with code " + std::to_string(code) + ": " +
                     std::string(text, static_cast<std::size_t>(length)),
                 code);
}

}  // namespace strake::mpi
