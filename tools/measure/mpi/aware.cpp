#include "aware.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_driver.hpp"

extern char** environ;

namespace strake::measure {
namespace {

#ifdef OPEN_MPI
constexpr const char* kProbe = "strake-gpu-probe-openmpi";
constexpr std::array kLauncherNames = {"mpirun.openmpi", "mpirun"};
#else
constexpr const char* kProbe = "strake-gpu-probe-mpich";
constexpr std::array kLauncherNames = {"mpirun.mpich", "mpirun", "mpirun.openmpi"};
#endif

// What the helper program prints.
constexpr const char* kBegins = "strake-gpu-probe: begins";
constexpr const char* kRight = "strake-gpu-probe: right";
constexpr const char* kEnds = "strake-gpu-probe: ends";

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// The helper program, beside this object or where the build puts it; empty: missing.
std::string probe_program() {
  Dl_info info{};
  char real[PATH_MAX] = "";
  if (dladdr(reinterpret_cast<const void*>(&probe_program), &info) == 0 ||
      realpath(info.dli_fname, real) == nullptr) {
    return {};
  }
  const std::string folder = folder_of(real);
  for (const std::string& path : {folder + "/" + kProbe, folder + "/../bin/" + kProbe}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

/// Where launchers may be: beside the process that started this one (mpirun itself, or a daemon of
/// it), in the installation that the environment names, on the PATH.
std::vector<std::string> launchers() {
  std::vector<std::string> folders;
  std::array<char, PATH_MAX> parent{};
  const std::string link = "/proc/" + std::to_string(getppid()) + "/exe";
  if (readlink(link.c_str(), parent.data(), parent.size() - 1) > 0) {
    folders.push_back(folder_of(parent.data()));
  }
  for (const char* name : {"OPAL_PREFIX", "PRTE_PREFIX", "MPI_HOME"}) {
    if (const char* prefix = std::getenv(name)) folders.push_back(std::string(prefix) + "/bin");
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    for (const char* name : kLauncherNames) {
      const std::string program = folder + "/" + name;
      if (access(program.c_str(), X_OK) != 0) continue;
      char real[PATH_MAX] = "";
      if (realpath(program.c_str(), real) == nullptr) continue;
      bool known = false;
      for (const std::string& other : found) {
        char other_real[PATH_MAX] = "";
        known = known || (realpath(other.c_str(), other_real) != nullptr &&
                          std::string_view(real) == other_real);
      }
      if (!known) found.push_back(program);
    }
  }
  return found;
}

/// Whether a variable belongs to the job around this process, rather than to its user.
bool is_of_this_job(std::string_view variable) {
  // What a user chooses of Open MPI's transports decides the answer, and so it stays.
  for (const std::string_view kept :
       {"OMPI_MCA_pml=", "OMPI_MCA_btl=", "OMPI_MCA_btl_",
        "OMPI_MCA_mtl=", "OMPI_MCA_coll=", "OMPI_MCA_osc=", "OMPI_MCA_opal_common_ucx_",
        "OMPI_MCA_opal_cuda_", "OMPI_MCA_mpi_cuda_"}) {
    if (variable.starts_with(kept)) return false;
  }
  for (const std::string_view prefix : {"OMPI_", "OPAL_", "ORTE_", "PRTE_", "PMIX_", "PMI_",
                                        "HYDRA_", "HYDI_", "MPI_LOCAL", "STRAKE_", "LD_PRELOAD="}) {
    if (variable.starts_with(prefix)) return !variable.starts_with("OPAL_PREFIX=");
  }
  return false;
}

std::vector<std::string> clean_environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_of_this_job(*entry)) variables.emplace_back(*entry);
  }
  // Two ranks must start whatever the machine has, and by root if root started this job.
  for (const char* more :
       {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_ALLOW_RUN_AS_ROOT=1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"}) {
    variables.emplace_back(more);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

using Clock = std::chrono::steady_clock;

/// Ends the process group of `child`: mpirun takes its ranks along when asked to end, and has 2 s
/// for that.
void stop(pid_t child) {
  kill(-child, SIGTERM);
  for (int i = 0; i < 200; ++i) {
    if (waitpid(child, nullptr, WNOHANG) != 0) {
      kill(-child, SIGKILL);
      return;
    }
    usleep(10'000);
  }
  kill(-child, SIGKILL);
  waitpid(child, nullptr, 0);
}

/// What `command` prints until it ends, or for so many seconds.
std::string output_of(std::vector<std::string> command, int seconds) {
  std::array<int, 2> out{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) return {};
  std::vector<std::string> variables = clean_environment();
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> environment = pointers(variables);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    dup2(out[1], STDOUT_FILENO);
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    // A crash is an answer, not news, and nothing to keep.
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    // This process may be bound to one core, on which two ranks would take turns.
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    execve(arguments[0], arguments.data(), environment.data());
    _exit(127);
  }
  close(out[1]);
  std::string text;
  if (child > 0) {
    setpgid(child, child);  // by whoever is first
    const auto deadline = Clock::now() + std::chrono::seconds(seconds);
    std::array<char, 4096> part{};
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd readable{out[0], POLLIN, 0};
      if (left <= 0) break;
      const int ready = poll(&readable, 1, static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) break;
      const ssize_t got = read(out[0], part.data(), part.size());
      if (got <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(got));
      if (text.find(kEnds) != std::string::npos) break;
    }
    stop(child);
  }
  close(out[0]);
  return text;
}

Awareness try_it() {
  const std::string program = probe_program();
  if (CudaDriver::find() == nullptr || program.empty()) return {};
  constexpr int kTimeout = 20;
  for (const std::string& launcher : launchers()) {
    const std::string output = output_of({launcher, "-n", "2", program}, kTimeout);
    const auto printed = [&](const std::string& line) {
      return output.find(line) != std::string::npos;
    };
    // Another library's launcher starts ranks that do not find each other: they never begin.
    if (!printed(kBegins)) continue;
    Awareness answer{printed(kRight) ? 1 : 0, 0};
    for (std::size_t i = 0; i < kTriedCollectives.size(); ++i) {
      if (printed(std::string(kRight) + " " + kTriedCollectives[i])) answer.collectives |= 1U << i;
    }
    return answer;
  }
  return {};
}

}  // namespace

Awareness tried_job_of_two() {
  static const Awareness answer = try_it();
  return answer;
}

}  // namespace strake::measure
