#include "interpose/reached.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

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
};

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Whether `name` is one of those functions in any spelling: MPI_Recv, PMPI_Recv_c, pmpi_recv_,
/// MPI_RECV, mpi_recv_f08_.
bool must_reach(std::string_view name) noexcept {
  if (!name.empty() && lower(name.front()) == 'p') name.remove_prefix(1);
  constexpr std::string_view kPrefix = "mpi_";
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  if (name.size() < kPrefix.size() ||
      !std::equal(kPrefix.begin(), kPrefix.end(), name.begin(), same))
    return false;
  while (name.ends_with('_')) name.remove_suffix(1);
  for (const std::string_view form : {"_f08", "_c"}) {
    if (name.ends_with(form)) name.remove_suffix(form.size());
  }
  return std::any_of(std::begin(kMustReach), std::end(kMustReach), [&](std::string_view function) {
    return std::equal(function.begin(), function.end(), name.begin(), name.end(), same);
  });
}

/// The begin of the object that an address is in.
const void* object_of(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Whether what a call by that name reaches is in the object `own`, or is not there at all.
bool reaches(const std::string& name, const void* own) noexcept {
  const void* const first = dlsym(RTLD_DEFAULT, name.c_str());
  return first == nullptr || object_of(first) == own;
}

/// What another object may call: it has no entry for its own functions alone.
class Object {
 public:
  explicit Object(const link_map& map) noexcept : map_(map) {
    for (const ElfW(Dyn)* entry = map.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      const auto value = static_cast<std::size_t>(entry->d_un.d_val);
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols_ = at<ElfW(Sym)>(value);
          break;
        case DT_STRTAB:
          names_ = at<char>(value);
          break;
        case DT_JMPREL:
          calls_ = at<ElfW(Rela)>(value);
          break;
        case DT_PLTRELSZ:
          call_count_ = value / sizeof(ElfW(Rela));
          break;
        case DT_RELA:
          addresses_ = at<ElfW(Rela)>(value);
          break;
        case DT_RELASZ:
          address_count_ = value / sizeof(ElfW(Rela));
          break;
        default:
          break;
      }
    }
  }
  /// Calls `visit(name)` for each symbol of other objects that the object's code refers to, until
  /// one is wanted.
  template <typename Wanted>
  [[nodiscard]] std::string_view find_import(const Wanted& wanted) const {
    if (symbols_ == nullptr || names_ == nullptr) return {};
    for (const auto& table : {std::span(calls_, calls_ == nullptr ? 0 : call_count_),
                              std::span(addresses_, addresses_ == nullptr ? 0 : address_count_)}) {
      for (const ElfW(Rela) & entry : table) {
        const std::size_t number = ELF64_R_SYM(entry.r_info);
        if (number == 0 || symbols_[number].st_shndx != SHN_UNDEF) continue;
        const std::string_view name = names_ + symbols_[number].st_name;
        if (wanted(name)) return name;
      }
    }
    return {};
  }
  [[nodiscard]] std::string_view file_name() const noexcept {
    const std::string_view path = map_.l_name != nullptr ? map_.l_name : "";
    return path.substr(path.find_last_of('/') + 1);  // the whole, where there is none
  }

 private:
  /// Some architectures' loaders leave addresses in the dynamic section as they are in the file.
  template <typename T>
  [[nodiscard]] const T* at(std::size_t value) const noexcept {
    const std::size_t address = value < map_.l_addr ? map_.l_addr + value : value;
    return reinterpret_cast<const T*>(address);
  }

  const link_map& map_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const ElfW(Rela) * calls_ = nullptr;
  const ElfW(Rela) * addresses_ = nullptr;
  std::size_t call_count_ = 0;
  std::size_t address_count_ = 0;
};

bool is_of_library(std::string_view file) noexcept {
  return std::any_of(std::begin(mpi::quirks::kOwnObjects), std::end(mpi::quirks::kOwnObjects),
                     [&](std::string_view begin) { return file.starts_with(begin); });
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
      const std::string name = fmt::format("{}{}", function, form);
      if (mpi::find_real(name.c_str()) != nullptr && !reaches(name, own)) return name;
    }
  }
  for (const link_map* map = first_object(); map != nullptr; map = map->l_next) {
    const Object object(*map);
    if (is_of_library(object.file_name())) continue;
    const std::string_view past = object.find_import([&](std::string_view name) {
      return must_reach(name) && !reaches(std::string(name), own);
    });
    if (past.empty()) continue;
    const std::string_view file = object.file_name();
    return fmt::format("{} (called by {})", past, file.empty() ? "the program" : file);
  }
  return {};
}

}  // namespace strake::interpose
