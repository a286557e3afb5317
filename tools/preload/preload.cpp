/// \file  libstrake-preload.so: what `strake run` puts into the environment of a job's ranks. In
/// each process it asks one question, whether MPI is there, and brings in the interposer of that
/// MPI library:
///  - A program linked to MPI starts anew at once, in the same process and before any of it has
///    run, with the interposer preloaded: only then do its MPI calls find the interposer first.
///  - A process that loads MPI later (python with mpi4py) gets the interposer just before that, in
///    the global scope, which the loader searches before the new object's own.
///  - Any other process (shells, env, numactl, …) is left as it is. Its children get this object,
///    too, also where it gives them another LD_PRELOAD.
/// Uses only the C library. Decision 2 says why it is done this way.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <utility>

#include "job/first.hpp"
#include "job/report.hpp"
#include "mpi_library.hpp"
#include "needed_libraries.hpp"
#include "own_program.hpp"

namespace strake::preload {
namespace {

using job::Letter;

constexpr const char* kPreload = "LD_PRELOAD=";
constexpr const char* kJob = "STRAKE_JOB=";
constexpr const char* kInterposer = "libstrake-mpi-";
/// The program that was started anew.
constexpr const char* kAgain = "_STRAKE_AGAIN=";

using Dlopen = void* (*)(const char*, int);
Dlopen g_dlopen = nullptr;
/// The job's id, from the environment that this process started with; empty: of no job.
char g_job[64] = {};
/// Whether the search for MPI in this process is over.
std::atomic<bool> g_settled{true};

/// The C library's functions that start programs, and this object's path. Looked up at the start,
/// since after a fork nothing may be looked up.
using Execve = int (*)(const char*, char* const*, char* const*);
using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                      const posix_spawnattr_t*, char* const*, char* const*);
Execve g_execve = nullptr;
Execve g_execvpe = nullptr;
using Fexecve = int (*)(int, char* const*, char* const*);
Fexecve g_fexecve = nullptr;
Spawn g_posix_spawn = nullptr;
Spawn g_posix_spawnp = nullptr;
char g_self[PATH_MAX] = {};

template <typename Function>
void find_next(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void find_dlopen() { find_next(g_dlopen, "dlopen"); }

/// The MPI library and the interposer among the objects that are loaded in the process.
struct Scan {
  MpiLibrary library = MpiLibrary::None;
  char library_path[PATH_MAX] = {};
  const char* loaded_as = "";
  bool interposed = false;
};

int visit_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& scan = *static_cast<Scan*>(data);
  const char* path = info->dlpi_name;
  if (starts_with(base_name(path), kInterposer)) scan.interposed = true;
  if (scan.library != MpiLibrary::None) return 0;
  scan.loaded_as = path;
  std::snprintf(scan.library_path, sizeof(scan.library_path), "%s", path);
  scan.library = identify_behind(scan.library_path);
  return 0;
}

bool is_loaded(const char* name) {
  return dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t, void* wanted) {
               return std::strcmp(base_name(info->dlpi_name), static_cast<const char*>(wanted)) == 0
                          ? 1
                          : 0;
             },
             const_cast<char*>(name)) != 0;
}

/// Reports to `strake run`, if that runs on this machine.
void report(Letter letter) { job::leave_letter(g_job, letter); }

/// Ends the process: a job must not go on if not every rank has the interposer.
[[noreturn]] void give_up(const char* what, const char* path) {
  if (job::first_of_job()) {
    dprintf(STDERR_FILENO, "strake run: %s %s\n", path, what);
  } else {
    // The launcher ends the job with the first rank that ends so, and with it what others write.
    const timespec while_the_first_one_writes{0, 500'000'000};
    (void)nanosleep(&while_the_first_one_writes, nullptr);
  }
  report(Letter::Refused);
  _exit(2);
}

/// The path of the interposer for the library, beside this object. If the library has several
/// names, it is the interposer that needs it by this name: another one could bring in a second
/// library.
void interposer_for(MpiLibrary library, const char* library_path, char (&out)[PATH_MAX]) {
  const char* forced = std::getenv("STRAKE_MPI");
  const bool force =
      forced != nullptr && (std::strcmp(forced, flavor_of(MpiLibrary::OpenMpi)) == 0 ||
                            std::strcmp(forced, flavor_of(MpiLibrary::Mpich)) == 0);
  if (library == MpiLibrary::Abi) give_up(kAbiRefused, library_path);
  if (library == MpiLibrary::Unknown && !force) {
    give_up(
        "is an MPI library that Strake does not know; it knows Open MPI (libmpi.so.40) and MPICH "
        "(libmpi.so.12, libmpich.so.12), and --mpi tells it which of them another one is like",
        library_path);
  }
  if (force && library != MpiLibrary::Unknown && std::strcmp(forced, flavor_of(library)) != 0) {
    give_up("is used by this program, which is not the library that --mpi (STRAKE_MPI) names",
            library_path);
  }
  Dl_info self{};
  const int found = dladdr(reinterpret_cast<const void*>(&visit_object), &self);
  const int folder = found == 0 ? 0 : static_cast<int>(base_name(self.dli_fname) - self.dli_fname);
  const char* flavor = force ? forced : flavor_of(library);
  const char* name = base_name(library_path);
  std::snprintf(out, sizeof(out), "%.*s%s%s-%.*s.so", folder, self.dli_fname, kInterposer, flavor,
                static_cast<int>(std::strcspn(name, ".")), name);
  if (access(out, R_OK) == 0) return;
  std::snprintf(out, sizeof(out), "%.*s%s%s.so", folder, self.dli_fname, kInterposer, flavor);
  if (access(out, R_OK) != 0)
    give_up("is missing: Strake was not built for the MPI library of this program", out);
}

/// The entry of the variable; null if it is not set.
char** find_variable(char** environment, const char* name) {
  for (; *environment != nullptr; ++environment) {
    if (starts_with(*environment, name)) return environment;
  }
  return nullptr;
}

void remove_variable(char** slot) {
  for (; slot[0] != nullptr; ++slot) slot[0] = slot[1];
}

/// Whether the program itself needs the library that was loaded as `path`, and not only one of its
/// other libraries.
bool program_needs(const char* path) {
  const link_map* program = _r_debug.r_map;
  if (program == nullptr || program->l_ld == nullptr) return false;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = program->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    // The loader has turned it into an address, unless the section is read-only.
    const bool relative = entry->d_un.d_ptr < program->l_addr;
    names = reinterpret_cast<const char*>(entry->d_un.d_ptr + (relative ? program->l_addr : 0));
  }
  for (const ElfW(Dyn)* entry = program->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && names != nullptr &&
        std::strcmp(base_name(names + entry->d_un.d_val), base_name(path)) == 0) {
      return true;
    }
  }
  return false;
}

/// The arguments that this process was started with, from /proc rather than from main's
/// `arguments`: those lack the loader if the program was started by its name (ld.so PROGRAM).
/// Without /proc, main's.
char** own_arguments(char** arguments, const char* interposer) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return arguments;
  std::size_t capacity = std::size_t{1} << 16;
  std::size_t length = 0;
  char* line = nullptr;
  for (ssize_t got = 1; got > 0; length += static_cast<std::size_t>(got)) {
    if (line == nullptr || length == capacity) {
      capacity *= 2;
      line = static_cast<char*>(std::realloc(line, capacity));
      if (line == nullptr) give_up("could not be preloaded: out of memory", interposer);
    }
    got = read(fd, line + length, capacity - length);
    if (got < 0) give_up("could not be preloaded: /proc/self/cmdline can't be read", interposer);
  }
  close(fd);
  std::size_t count = 0;
  for (std::size_t i = 0; i < length; ++i) count += line[i] == '\0' ? 1 : 0;
  auto** words = static_cast<char**>(std::malloc((count + 1) * sizeof(char*)));
  if (words == nullptr) give_up("could not be preloaded: out of memory", interposer);
  char* next = line;
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = next;
    next += std::strlen(next) + 1;
  }
  words[count] = nullptr;
  return words;
}

/// Starts the program anew, as it was started, with `interposer` first in LD_PRELOAD, and `library`
/// after it.
[[noreturn]] void start_again(const char* interposer, const char* library, char** arguments,
                              char** environment) {
  char program[PATH_MAX];
  own_program(program);
  if (char** again = find_variable(environment, kAgain)) {
    if (std::strcmp(*again + std::strlen(kAgain), program) == 0)
      give_up("could not be loaded", interposer);  // this is the second start
    remove_variable(again);
  }
  std::size_t variables = 0;
  while (environment[variables] != nullptr) ++variables;
  char** slot = find_variable(environment, kPreload);
  const char* before = slot == nullptr ? "" : *slot + std::strlen(kPreload);
  if (std::strpbrk(library, ": ") != nullptr) library = "";  // LD_PRELOAD can't name it
  const std::size_t size = std::strlen(kPreload) + std::strlen(interposer) + std::strlen(library) +
                           std::strlen(before) + 3;
  auto* value = static_cast<char*>(std::malloc(size));
  const std::size_t again_size = std::strlen(kAgain) + std::strlen(program) + 1;
  auto* again = static_cast<char*>(std::malloc(again_size));
  auto** changed = static_cast<char**>(std::malloc((variables + 3) * sizeof(char*)));
  if (value == nullptr || again == nullptr || changed == nullptr)
    give_up("could not be preloaded: out of memory", interposer);
  std::snprintf(value, size, "%s%s%s%s%s%s", kPreload, interposer, library[0] == '\0' ? "" : ":",
                library, before[0] == '\0' ? "" : ":", before);
  std::snprintf(again, again_size, "%s%s", kAgain, program);
  std::memcpy(changed, environment, variables * sizeof(char*));
  changed[slot == nullptr ? variables++ : static_cast<std::size_t>(slot - environment)] = value;
  changed[variables++] = again;
  changed[variables] = nullptr;

  char* const* own = own_arguments(arguments, interposer);
  if (program[0] != '\0') execve(program, own, changed);
  execve("/proc/self/exe", own, changed);  // the file was renamed or removed meanwhile
  give_up("could not be preloaded: the program can't be started again", interposer);
}

/// Calls the C library's function of that name, with this object in the LD_PRELOAD of
/// `environment`, its last argument. A script may have changed or removed the variable, but every
/// rank of a job must have the object. (An environment without the job's id is not that of a rank.)
/// Uses only memory of the stack, as is required after the fork of a process with threads.
template <typename Function, typename... Arguments>
int start_with_self(Function& function, const char* name, char* const* environment,
                    Arguments... arguments) {
  if (function == nullptr) find_next(function, name);  // an earlier constructor calls this
  std::size_t variables = 0;
  std::size_t slot = 0;  // of LD_PRELOAD, counted from 1; 0: none
  bool job = false;
  for (; environment != nullptr && environment[variables] != nullptr; ++variables) {
    job = job || starts_with(environment[variables], kJob);
    if (slot == 0 && starts_with(environment[variables], kPreload)) slot = variables + 1;
  }
  const char* others = slot == 0 ? "" : environment[slot - 1] + std::strlen(kPreload);
  if (!job) report(Letter::Emptied);
  if (!job || g_self[0] == '\0' || std::strstr(others, base_name(g_self)) != nullptr) {
    return function(arguments..., environment);
  }
  const std::size_t size =
      std::strlen(kPreload) + std::strlen(g_self) + std::strlen(others) + sizeof ":";
  auto* value = static_cast<char*>(__builtin_alloca(size));
  std::snprintf(value, size, "%s%s%s%s", kPreload, g_self, others[0] == '\0' ? "" : ":", others);
  auto** changed = static_cast<char**>(__builtin_alloca((variables + 2) * sizeof(char*)));
  std::memcpy(changed, environment, variables * sizeof(char*));
  changed[slot == 0 ? variables++ : slot - 1] = value;
  changed[variables] = nullptr;
  return function(arguments..., changed);
}

/// Whether `is` is true for the item of a list that begins at `item`.
template <typename Is>
bool item_is(char* item, Is&& is) {
  char* end = item + std::strcspn(item, ": ");
  const char separator = std::exchange(*end, '\0');
  const bool answer = is(item);
  *end = separator;
  return answer;
}

/// Removes the interposer and the library after it from LD_PRELOAD: shells and tools that the
/// program starts must not load them. Not yet if this process is only what the program runs under
/// (valgrind is started first in the program's place, and puts its own object in front).
void hide_interposer(char** environment) {
  if (char** again = find_variable(environment, kAgain)) {
    char program[PATH_MAX];
    own_program(program);
    if (std::strcmp(*again + std::strlen(kAgain), program) != 0) return;
    remove_variable(again);
  }
  char** slot = find_variable(environment, kPreload);
  if (slot == nullptr) return;
  char* value = *slot + std::strlen(kPreload);
  const auto next = [](char* item) {
    item += std::strcspn(item, ": ");
    return *item == '\0' ? item : item + 1;
  };
  const auto drop = [&](char* item) {
    const char* rest = next(item);
    std::memmove(item, rest, std::strlen(rest) + 1);
  };
  const auto is_interposer = [](const char* path) {
    return starts_with(base_name(path), kInterposer);
  };
  while (*value != '\0' && !item_is(value, is_interposer)) value = next(value);
  if (*value == '\0') return;
  drop(value);
  if (item_is(value, [](const char* path) { return identify(path) != MpiLibrary::None; })) {
    drop(value);
  }
  if ((*slot)[std::strlen(kPreload)] == '\0') remove_variable(slot);
}

/// Begins the shared heap, if that is loaded: its handlers of fork() are to be the first ones.
void begin_heap() {
  if (void* const begin = dlsym(RTLD_DEFAULT, "strake_heap_begin"))
    reinterpret_cast<void (*)()>(begin)();
}

/// Linked to run before every other constructor of the process, also before those of the C library:
/// `environ` is not set yet; `environment` is its later value.
__attribute__((constructor)) void start(int, char** arguments, char** environment) {
  if (environ == nullptr) environ = environment;
  if (char** job = find_variable(environment, kJob))
    std::snprintf(g_job, sizeof(g_job), "%s", *job + std::strlen(kJob));
  find_dlopen();
  find_next(g_execve, "execve");
  find_next(g_execvpe, "execvpe");
  find_next(g_fexecve, "fexecve");
  find_next(g_posix_spawn, "posix_spawn");
  find_next(g_posix_spawnp, "posix_spawnp");
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&visit_object), &self) != 0) {
    std::snprintf(g_self, sizeof(g_self), "%s", self.dli_fname);
  }
  Scan scan;
  dl_iterate_phdr(visit_object, &scan);
  if (scan.interposed) {
    begin_heap();
    hide_interposer(environment);
    report(Letter::WithMpi);
    return;
  }
  if (scan.library != MpiLibrary::None) {
    char interposer[PATH_MAX];
    const bool old_openmpi =
        scan.library == MpiLibrary::Mpich && dlsym(RTLD_DEFAULT, kOpenMpiSymbol) != nullptr;
    interposer_for(old_openmpi ? MpiLibrary::Unknown : scan.library, scan.library_path, interposer);
    // If the program needs the MPI library only through another library, the loader could find a
    // second one of the same name for the interposer, such as the distribution's beside the user's.
    // So its path is preloaded as well. Otherwise the library keeps its place, after tools that
    // wrap its functions.
    const char* library = program_needs(scan.loaded_as) ? "" : scan.library_path;
    start_again(interposer, library, arguments, environment);
  }
  begin_heap();
  report(Letter::WithoutMpi);
  g_settled.store(false, std::memory_order_relaxed);
}

/// The path of the object that has the code at `address`; empty: the program itself.
const char* object_at(const void* address) {
  Dl_info info{};
  link_map* object = nullptr;
  const int found =
      dladdr1(address, &info, reinterpret_cast<void**>(&object), static_cast<int>(RTLD_DL_LINKMAP));
  return found == 0 || object == nullptr ? "" : object->l_name;
}

/// Loads the interposer if loading `file`, for the code at `caller`, brings MPI in.
void before_dlopen(const char* file, int mode, const void* caller) {
  const bool loads = file != nullptr && (mode & RTLD_NOLOAD) == 0;
  if (!loads || g_settled.load(std::memory_order_acquire)) return;
  MpiUse use;
  const int kept = errno;
  find_mpi(file, is_loaded, use, object_at(caller));
  // Load this very MPI library first: for the interposer the loader could find another one of the
  // same name (an environment may have an MPI library beside the distribution's). If it can't be
  // loaded, the program sees the error, and may try another.
  if (use.library != MpiLibrary::None && g_dlopen(use.path, RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    (void)dlerror();
  } else if (use.library != MpiLibrary::None && !g_settled.exchange(true)) {
    char interposer[PATH_MAX];
    interposer_for(use.library, use.path, interposer);
    if (g_dlopen(interposer, RTLD_NOW | RTLD_GLOBAL) == nullptr) give_up(dlerror(), interposer);
    report(Letter::WithMpi);
  }
  errno = kept;
}

}  // namespace
}  // namespace strake::preload

/// Ends in a jump, not a call (the file is always built with sibling-call optimisation): the C
/// library finds the caller, whose RUNPATH counts in the search, by the return address.
extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file, int mode) {
  if (strake::preload::g_dlopen == nullptr)
    strake::preload::find_dlopen();  // an earlier constructor calls this
  strake::preload::before_dlopen(file, mode, __builtin_return_address(0));
  return strake::preload::g_dlopen(file, mode);
}

/// \{ The functions that start programs, wrapped so that the children keep this object.
#define STRAKE_EXPORT extern "C" __attribute__((visibility("default")))

STRAKE_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) {
  using namespace strake::preload;
  return start_with_self(g_execve, "execve", environment, path, arguments);
}

STRAKE_EXPORT int execv(const char* path, char* const* arguments) {
  return execve(path, arguments, environ);
}

STRAKE_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) {
  using namespace strake::preload;
  return start_with_self(g_execvpe, "execvpe", environment, file, arguments);
}

STRAKE_EXPORT int execvp(const char* file, char* const* arguments) {
  return execvpe(file, arguments, environ);
}

STRAKE_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) {
  using namespace strake::preload;
  return start_with_self(g_fexecve, "fexecve", environment, file, arguments);
}

// Declares `arguments`, on the stack: the arguments up to a null pointer.
#define STRAKE_LISTED_ARGUMENTS(first)                                                   \
  va_list list;                                                                          \
  va_start(list, first);                                                                 \
  std::size_t count = 1;                                                                 \
  while (va_arg(list, const char*) != nullptr) ++count;                                  \
  va_end(list);                                                                          \
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                               \
  va_start(list, first);                                                                 \
  for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

STRAKE_EXPORT int execl(const char* path, const char* first, ...) {
  STRAKE_LISTED_ARGUMENTS(first);
  va_end(list);
  return execve(path, arguments, environ);
}

STRAKE_EXPORT int execlp(const char* file, const char* first, ...) {
  STRAKE_LISTED_ARGUMENTS(first);
  va_end(list);
  return execvpe(file, arguments, environ);
}

STRAKE_EXPORT int execle(const char* path, const char* first, ...) {
  STRAKE_LISTED_ARGUMENTS(first);
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, arguments, environment);
}

STRAKE_EXPORT int posix_spawn(pid_t* process, const char* path,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments,
                              char* const* environment) {
  using namespace strake::preload;
  return start_with_self(g_posix_spawn, "posix_spawn", environment, process, path, actions,
                         attributes, arguments);
}

STRAKE_EXPORT int posix_spawnp(pid_t* process, const char* file,
                               const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments,
                               char* const* environment) {
  using namespace strake::preload;
  return start_with_self(g_posix_spawnp, "posix_spawnp", environment, process, file, actions,
                         attributes, arguments);
}
/// \}
