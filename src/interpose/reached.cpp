#include "interpose/reached.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <string_view>

#include "device/imports.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::interpose {
namespace {

/// Each without the `_c` of its form for large counts.
constexpr std::string_view kMustReach[] = {
    "MPI_Recv",
    "MPI_Irecv",
    "MPI_Recv_init",
    "MPI_Mrecv",
    "MPI_Imrecv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Isendrecv",
    "MPI_Isendrecv_replace",
    "MPI_Probe",
    "MPI_Iprobe",
    "MPI_Mprobe",
    "MPI_Improbe",
    "MPI_Start",
    "MPI_Startall",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Waitsome",
    "MPI_Test",
    "MPI_Testall",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Request_get_status",
    "MPI_Request_get_status_all",
    "MPI_Request_get_status_any",
    "MPI_Request_get_status_some",
    "MPI_Request_free",
    "MPI_Cancel",
    "MPI_Free_mem",  // of what Strake's MPI_Alloc_mem has given
};

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// A function's name, taken apart.
struct Spelling {
  std::string_view stem;  ///< "MPI_Recv", "mpi_recv"
  bool c = false;         ///< of C, or of mpi_f08, whose procedures have names of their own
};

/// MPI_Recv, PMPI_Recv_c, pmpi_recv_, MPI_RECV, mpi_recv_f08_, pmpir_recv_f08_.
Spelling take_apart(std::string_view name) noexcept {
  Spelling found;
  found.c = name.find("MPI_") != name.npos && name.size() > 5 && name[name.size() - 1] >= 'a' &&
            name[name.size() - 1] <= 'z';
  if (!name.empty() && lower(name.front()) == 'p') name.remove_prefix(1);
  while (name.ends_with('_')) name.remove_suffix(1);
  for (const std::string_view form : {"_f08", "_c"}) {
    if (!name.ends_with(form)) continue;
    found.c = true;
    name.remove_suffix(form.size());
  }
  found.stem = name;
  return found;
}

/// Whether `stem` is the name of a function in kMustReach, in upper or lower case.
bool must_reach(std::string_view stem) noexcept {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  constexpr std::string_view kInside = "mpir_";  // MPICH's PMPI procedures of mpi_f08
  constexpr std::string_view kPrefix = "mpi_";
  const bool inside = stem.starts_with(kInside);
  if (inside) stem.remove_prefix(kInside.size());
  return std::any_of(std::begin(kMustReach), std::end(kMustReach), [&](std::string_view function) {
    if (inside) function.remove_prefix(kPrefix.size());
    return std::equal(function.begin(), function.end(), stem.begin(), stem.end(), same);
  });
}

/// The begin of the object that an address is in.
const void* object_of(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// The first object that defines a function. A program that is not position-independent, and takes
/// the function's address, has an entry of its own, by which calls go on to that object.
const void* first_definition(const char* name) noexcept {
  void* const first = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  void* entry = nullptr;
  if (first == nullptr || dladdr1(first, &info, &entry, RTLD_DL_SYMENT) == 0) return first;
  const auto* const symbol = static_cast<const ElfW(Sym)*>(entry);
  return symbol != nullptr && symbol->st_shndx == SHN_UNDEF ? dlsym(RTLD_NEXT, name) : first;
}

/// The last part of a path.
std::string_view file_of(std::string_view path) noexcept {
  return path.substr(path.find_last_of('/') + 1);  // the whole, where there is no other
}

/// Returns the first symbol of another object that this one refers to and that is `wanted(name)`;
/// empty: there is none.
template <typename Wanted>
std::string_view find_import(const link_map& map, const Wanted& wanted) {
  std::string_view found;
  Imports(map).any([&](const auto&, const auto& symbol, const char* name) {
    const bool is = symbol.st_shndx == SHN_UNDEF && wanted(std::string_view(name));
    if (is) found = name;
    return is;
  });
  return found;
}

bool is_of_library(std::string_view file) noexcept {
  return std::any_of(std::begin(mpi::quirks::kOwnObjects), std::end(mpi::quirks::kOwnObjects),
                     [&](std::string_view begin) { return file.starts_with(begin); });
}

/// Whether a call by that name comes to Strake's own function, or to none.
bool reaches(const std::string& name, const void* own) noexcept {
  const void* const first = first_definition(name.c_str());
  return first == nullptr || object_of(first) == own;
}

/// Whether a call by that Fortran name comes to a procedure of the MPI library's that calls the C
/// function, and so reaches Strake.
bool reaches_through_library(const std::string& name) noexcept {
  Dl_info info;
  return mpi::quirks::kMpifCallsC && !take_apart(name).c &&
         dladdr(first_definition(name.c_str()), &info) != 0 &&
         is_of_library(file_of(info.dli_fname));
}

/// The first of the loader's list, or null.
const link_map* first_object() noexcept {
  void* const program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (program == nullptr || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) map = nullptr;
  if (program != nullptr) dlclose(program);
  return map;
}

}  // namespace

std::string unreached_function() {
  static const char here = 0;
  const void* const own = object_of(&here);
  for (const std::string_view function : kMustReach) {
    for (const char* form : {"", "_c"}) {
      std::string name = fmt::format("{}{}", function, form);
      if (mpi::find_real(name.c_str()) != nullptr && !reaches(name, own)) return name;
    }
  }
  for (const link_map* map = first_object(); map != nullptr; map = map->l_next) {
    const std::string_view file = file_of(map->l_name != nullptr ? map->l_name : "");
    if (is_of_library(file)) continue;
    const std::string_view past = find_import(*map, [&](std::string_view name) {
      if (!must_reach(take_apart(name).stem)) return false;
      const std::string whole(name);
      return !reaches(whole, own) && !reaches_through_library(whole);
    });
    if (past.empty()) continue;
    return fmt::format("{} (called by {})", past, file.empty() ? "the program" : file);
  }
  return {};
}

}  // namespace strake::interpose
