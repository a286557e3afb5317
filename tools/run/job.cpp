#include "job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "attend.hpp"
#include "strake/error.hpp"
#include "witness.hpp"

namespace strake::run {
namespace {

/// The actions that this process started with, for its children.
std::array<struct sigaction, kForwarded.size()> g_inherited{};
const struct sigaction* g_sigpipe = nullptr;  ///< null: as it is here

/// Between jobs this process stops and continues as any does.
bool stops_or_continues(int signal) { return signal == SIGTSTP || signal == SIGCONT; }

void catch_signals() {
  static bool caught = false;
  if (caught) return;
  caught = true;
  for (std::size_t i = 0; i < kForwarded.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = note_if_ending;
    action.sa_flags = SA_RESTART;
    // Also if this process ignored the signal (SIGHUP under nohup, SIGINT in a script's
    // background): the job inherited that, and decides itself, as it would without Strake.
    sigaction(kForwarded[i], stops_or_continues(kForwarded[i]) ? nullptr : &action,
              &g_inherited[i]);
  }
}

/// The action of SIGCHLD that this process started with, for its children. Here it must not be
/// ignored: the kernel would discard how a child ended.
const struct sigaction& inherited_sigchld() {
  static const struct sigaction inherited = [] {
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    struct sigaction before {};
    sigaction(SIGCHLD, &plain, &before);
    return before;
  }();
  return inherited;
}

std::vector<char*> as_pointers(const Arguments& command) {
  std::vector<char*> pointers;
  for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 1;
  }
  return end_of(status).status;
}

bool opened_as(int stream, const std::string& file, int flags) {
  if (file.empty()) return true;
  const int fd = open(file.c_str(), flags | O_CLOEXEC, 0600);
  return fd >= 0 && dup2(fd, stream) == stream;
}

/// In the child: puts the streams and the folder in place. False, and errno, if that failed.
bool settled(const Surroundings& where) {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_APPEND;
  return opened_as(STDIN_FILENO, where.in, O_RDONLY) &&
         opened_as(STDOUT_FILENO, where.out, kWrite) &&
         opened_as(STDERR_FILENO, where.err, kWrite) &&
         (where.folder.empty() || chdir(where.folder.c_str()) == 0);
}

}  // namespace

Interruptions::Interruptions() {
  catch_signals();
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignored, &before_);
  g_sigpipe = &before_;
}

Interruptions::~Interruptions() {
  sigaction(SIGPIPE, &before_, nullptr);
  g_sigpipe = nullptr;
}

int Interruptions::signal() noexcept { return ending_signal(); }

ProcessEnd run_job(const Arguments& command, const Variables& environment,
                   const Surroundings& where) {
  const std::vector<char*> arguments = as_pointers(command);
  SignalsHeld held;
  catch_signals();
  const struct sigaction& sigchld = inherited_sigchld();
  const Witness witness;
  // A signal that came before the launcher could get it: no job begins.
  note_pending();
  if (ending_signal() != 0) return {128 + ending_signal(), true};
  // Closed by a successful exec; otherwise the child writes why it failed.
  std::array<int, 2> failure{};
  if (pipe2(failure.data(), O_CLOEXEC) != 0)
    throw InvalidArgument(std::string("pipe: ") + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw InvalidArgument(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // a job without this process would have nobody to stop it
    if (getppid() != parent) _exit(1);
    for (std::size_t i = 0; i < kForwarded.size(); ++i)
      sigaction(kForwarded[i], &g_inherited[i], nullptr);
    held.restore_mask();
    sigaction(SIGCHLD, &sigchld, nullptr);
    if (g_sigpipe != nullptr) sigaction(SIGPIPE, g_sigpipe, nullptr);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    if (settled(where)) execvp(arguments[0], arguments.data());
    const int error = errno;
    if (write(failure[1], &error, sizeof(error)) != sizeof(error)) _exit(126);
    _exit(127);
  }
  close(failure[1]);
  int error = 0;
  const bool failed = read(failure[0], &error, sizeof(error)) == sizeof(error);
  close(failure[0]);
  const ProcessEnd end = attend(child, witness, held);
  if (failed)
    throw InvalidArgument(fmt::format("{} can't be started: {}", command[0], std::strerror(error)));
  return end;
}

std::string output_of(const Arguments& command) {
  std::array<int, 2> out{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) return {};
  const std::vector<char*> arguments = as_pointers(command);
  const struct sigaction& sigchld = inherited_sigchld();
  const pid_t child = fork();
  if (child == 0) {
    sigaction(SIGCHLD, &sigchld, nullptr);
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 1; child > 0 && got > 0;) {
    got = read(out[0], part.data(), part.size());
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno == EINTR) got = 1;
  }
  close(out[0]);
  if (child > 0) wait_for(child);
  return text;
}

}  // namespace strake::run
