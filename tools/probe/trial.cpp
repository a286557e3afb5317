#include "trial.hpp"

#include <fcntl.h>
#include <limits.h>
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
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

extern char** environ;

namespace strake::probe {
namespace {

constexpr std::size_t kSummaryBytes = 200;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Whether a variable belongs to the job around this process, rather than to its user.
bool is_of_this_job(std::string_view variable) {
  // A user's choice among Open MPI's transports decides the answer, and so it stays.
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

}  // namespace

Words clean_environment() {
  Words variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_of_this_job(*entry)) variables.emplace_back(*entry);
  }
  // Two ranks must start whatever the machine has, and by root if root started this job.
  for (const char* more :
       {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_ALLOW_RUN_AS_ROOT=1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
        // Open MPI 4 asks for a remote shell though both ranks start here.
        "OMPI_MCA_plm_rsh_agent=/bin/sh",
        // Nothing is timed, and two ranks are else bound to a core each, which may be forbidden.
        "OMPI_MCA_hwloc_base_binding_policy=none", "PRTE_MCA_hwloc_default_binding_policy=none"}) {
    variables.emplace_back(more);
  }
  return variables;
}

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

using Clock = std::chrono::steady_clock;

int status_of(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

/// Waits 2 s at most. Whether it ended, and how.
bool ended(pid_t child, int& raw) {
  for (int i = 0; i < 200; ++i) {
    if (waitpid(child, &raw, WNOHANG) != 0) return true;
    usleep(10'000);
  }
  return false;
}

/// Ends the process group of `child`: mpirun takes its ranks along when asked to end, and has 2 s
/// for that.
void stop(pid_t child) {
  int raw = 0;
  kill(-child, SIGTERM);
  const bool gone = ended(child, raw);
  kill(-child, SIGKILL);
  if (!gone) waitpid(child, nullptr, 0);
}

/// In the child: becomes `arguments`, with both streams in `out`.
[[noreturn]] void become(char* const* arguments, char* const* environment, int out, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  // This process may be bound to one core, on which two ranks would take turns.
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof(all));
  sched_setaffinity(0, sizeof(all), &all);
  const rlimit no_core{0, 0};  // a crash is an answer, and nothing to keep
  setrlimit(RLIMIT_CORE, &no_core);
  execve(arguments[0], arguments, environment);
  dprintf(STDERR_FILENO, "it can't be executed: errno %d\n", errno);
  _exit(127);
}

/// Reads until nothing more comes or `last` was printed; false: neither was in time.
bool read_all(int in, Clock::time_point deadline, std::string_view last, std::string& text) {
  std::array<char, 4096> part{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd readable{in, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = read(in, part.data(), part.size());
    if (got <= 0) return true;
    const std::size_t searched = text.size() - std::min(text.size(), last.size());
    text.append(part.data(), static_cast<std::size_t>(got));
    if (!last.empty() && text.find(last, searched) != std::string::npos) return true;
  }
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::vector<std::string> launchers(std::span<const char* const> names) {
  std::vector<std::string> folders;
  std::array<char, PATH_MAX> parent{};
  const std::string link = "/proc/" + std::to_string(getppid()) + "/exe";
  if (readlink(link.c_str(), parent.data(), parent.size() - 1) > 0) {
    folders.push_back(folder_of(parent.data()));
  }
  for (const char* variable : {"OPAL_PREFIX", "PRTE_PREFIX", "MPI_HOME"}) {
    if (const char* prefix = std::getenv(variable)) folders.push_back(std::string(prefix) + "/bin");
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  std::vector<std::string> found;
  std::set<std::string> known;  // without links
  for (const std::string& folder : folders) {
    for (const char* name : names) {
      const std::string program = folder + "/" + name;
      char real[PATH_MAX] = "";
      if (access(program.c_str(), X_OK) != 0 || realpath(program.c_str(), real) == nullptr) {
        continue;
      }
      if (known.insert(real).second) found.push_back(program);
    }
  }
  return found;
}

std::string summary_of(std::string_view output, std::string_view first) {
  const std::size_t begin = output.find(first);
  std::string_view rest = begin == std::string_view::npos ? output : output.substr(begin);
  std::string text;
  while (!rest.empty() && text.size() < kSummaryBytes) {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (std::none_of(line.begin(), line.end(), is_letter)) continue;
    if (!text.empty()) text += ' ';
    for (const char c : line) text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  if (text.size() > kSummaryBytes) text = text.substr(0, kSummaryBytes - 3) + "...";
  return text;
}

JobEnd run_trial(Words command, Words variables, int seconds, std::string_view last) {
  constexpr int kNotStarted = 127;
  std::array<int, 2> out{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    return {kNotStarted, std::string("no pipe: ") + std::strerror(errno)};
  }
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> environment = pointers(variables);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(arguments.data(), environment.data(), out[1], parent);
  close(out[1]);
  JobEnd job;
  if (child > 0) {
    setpgid(child, child);  // by whoever is first
    int raw = 0;
    const auto deadline = Clock::now() + std::chrono::seconds(seconds);
    const bool in_time = read_all(out[0], deadline, last, job.output);
    // Once all is said it ends by itself; its status would be that of the signal otherwise.
    const bool said = !last.empty() && job.output.find(last) != std::string::npos;
    const bool gone = in_time && !said && ended(child, raw);
    job.status = gone ? status_of(raw) : kNotInTime;
    if (gone) kill(-child, SIGKILL);
    if (!gone) stop(child);
  } else {
    job = {kNotStarted, std::string("no process: ") + std::strerror(errno)};
  }
  close(out[0]);
  return job;
}

}  // namespace strake::probe
