// Permissions that the kernel gives here, and the part of the machine that this process may use.
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "find.hpp"
#include "memory/control_group.hpp"
#include "memory/sharing/directories.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "probe/foreign_memory.hpp"
#include "strake/error.hpp"

namespace strake::doctor {
namespace {

/// The first line of a file; empty if it can't be read.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// A whole number; 0 if the text is none ("max").
std::int64_t number_of(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Whether one child of this process can read another's memory, as one rank another's. 0 or errno.
int try_reading() {
  static volatile std::uint64_t token = 0x5354'5241'4b45'0001;
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) return errno;
  const pid_t owner = fork();
  if (owner == 0) {
    close(ready[1]);
    char end = 0;
    token = token + 1;  // so that it is not what its parent has
    (void)!read(ready[0], &end, 1);
    _exit(0);
  }
  close(ready[0]);
  errno = 0;
  const pid_t reader = owner < 0 ? -1 : fork();
  if (reader == 0) {
    int code = ESRCH;
    constexpr int kTries = 1000;  // until the owner has changed its token
    for (int i = 0; i < kTries && code == ESRCH; ++i) {
      code = probe::read_of_process(owner, reinterpret_cast<std::uint64_t>(&token), token + 1);
      if (code == ESRCH) usleep(1000);
    }
    _exit(code);
  }
  const int failed = errno;
  int status = 0;
  const bool ended = reader > 0 && waitpid(reader, &status, 0) == reader && WIFEXITED(status);
  close(ready[1]);
  if (owner > 0) waitpid(owner, nullptr, 0);
  if (ended) return WEXITSTATUS(status);
  return failed != 0 ? failed : EPERM;  // a filter may end the process that tries
}

/// The time of cores that this process's control group may use; 0: it has no limit.
double group_cpu_quota() {
  double least = 0;
  const auto note = [&](double quota, double period) {
    const double limit = period > 0 ? quota / period : 0;
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
  };
  for_group_folders("", [&](const std::string& folder) {
    std::istringstream line(line_of(folder + "/cpu.max"));
    std::string quota;
    double period = 0;
    line >> quota >> period;
    note(static_cast<double>(number_of(quota)), period);
  });
  for_group_folders("cpu", [&](const std::string& folder) {
    note(static_cast<double>(number_of(line_of(folder + "/cpu.cfs_quota_us"))),
         static_cast<double>(number_of(line_of(folder + "/cpu.cfs_period_us"))));
  });
  return least;
}

void find_shm(Machine& machine) {
  constexpr auto kTmpfs = 0x01021994;
  struct statfs kind {};
  struct statvfs size {};
  if (statfs("/dev/shm", &kind) != 0 || statvfs("/dev/shm", &size) != 0) return;
  machine.shm_kind = kind.f_type == kTmpfs ? "tmpfs" : "another file system";
  machine.shm_bytes = static_cast<std::int64_t>(size.f_blocks * size.f_frsize);
  machine.shm_free_bytes = static_cast<std::int64_t>(size.f_bavail * size.f_frsize);
}

std::string chosen_huge_pages() {
  const std::string line = line_of("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return line.substr(begin + 1, end - begin - 1);
}

}  // namespace

Machine find_machine() {
  Machine machine;
  machine.reading = try_reading();
  const std::string scope = line_of("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope.empty()) machine.ptrace_scope = static_cast<int>(number_of(scope));
  machine.xpmem = access("/dev/xpmem", R_OK | W_OK) == 0;
  find_shm(machine);
  try {
    constexpr std::int64_t kSome = 1 << 20;
    if (!sharing::SharedMemory::make(kSome).populate(0, kSome))
      machine.shared_memory_problem = "there is no memory for 1 MiB that is shared";
    (void)sharing::directory_of(sharing::new_number());
  } catch (const Error& error) {
    machine.shared_memory_problem = error.what();
  }
  machine.huge_pages = chosen_huge_pages();
  cpu_set_t set;
  machine.machine_cores = get_nprocs();
  machine.cores =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : machine.machine_cores;
  machine.cpu_quota = group_cpu_quota();
  machine.memory_limit = group_memory_limit();
  struct sysinfo info {};
  if (sysinfo(&info) == 0)
    machine.memory_bytes = static_cast<std::int64_t>(info.totalram) * info.mem_unit;
  rlimit locked{};
  getrlimit(RLIMIT_MEMLOCK, &locked);
  machine.locked_limit =
      locked.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(locked.rlim_cur);
  return machine;
}

}  // namespace strake::doctor
