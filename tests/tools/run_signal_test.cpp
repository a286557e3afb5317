// Signals reach the launcher of `strake run` as they would without Strake: each once, whoever sends
// them to whom.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "run_fixture.hpp"

namespace strake::tools_test {
namespace {

namespace fs = std::filesystem;

bool comes(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

[[noreturn]] void become(const Words& command) {
  std::vector<char*> pointers;
  for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

/// A command in a session of its own, without input and output.
class Started {
 public:
  explicit Started(const Words& command) : process_(fork()) {
    if (process_ != 0) return;
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) dup2(nothing, stream);
    become(command);
  }
  ~Started() {
    if (ended_) return;
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  [[nodiscard]] pid_t process() const { return process_; }
  /// 128 + the signal that ended it, or its status; -1: it does not end.
  [[nodiscard]] int status() {
    int status = 0;
    ended_ = comes([&] { return waitpid(process_, &status, WNOHANG) == process_; });
    if (!ended_) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t process_;
  bool ended_ = false;
};

struct Sender {
  const char* name;
  void (*send)(pid_t process);
  Words before;  ///< what the job's command follows
};

const Sender kSenders[] = {
    {"SIGTERM to the process", [](pid_t process) { kill(process, SIGTERM); }, {}},
    {"SIGINT to the process", [](pid_t process) { kill(process, SIGINT); }, {}},
    {"SIGTERM to the group", [](pid_t process) { kill(-process, SIGTERM); }, {}},
    {"SIGINT to the group", [](pid_t process) { kill(-process, SIGINT); }, {}},
    // On SIGTERM, timeout does as when the time is over.
    {"timeout", [](pid_t process) { kill(process, SIGTERM); }, {"timeout", "600"}},
};

/// A launcher that writes the name of each signal that it gets to a file, and ends by SIGUSR2. It
/// is always ready to: signals that find it waiting for another process would become one.
class Counted : public testing::Test {
 protected:
  void SetUp() override { write_launcher(); }
  void write_launcher() const {
    std::ofstream(launcher()) << "#!/bin/sh\n"
                                 "if [ \"$1\" = --version ]; then echo slurm 23.02.4; exit 0; fi\n"
                                 "for s in HUP INT QUIT TERM USR1 ALRM XCPU CONT WINCH; do\n"
                                 "  trap \"echo $s >> "
                              << got_file() << "\" $s\ndone\ntrap 'exit 3' USR2\necho $$ > "
                              << started_file() << "\nwhile :; do :; done\n";
    fs::permissions(launcher(), fs::perms::owner_all);
  }
  [[nodiscard]] std::string launcher() const { return folder_.path() + "/srun"; }
  [[nodiscard]] std::string got_file() const { return folder_.path() + "/got"; }
  [[nodiscard]] std::string started_file() const { return folder_.path() + "/started"; }
  [[nodiscard]] Words job() const { return join({kStrakeRun, {launcher(), "a"}}); }
  [[nodiscard]] bool runs() const {
    return comes(
        [this] { return fs::exists(started_file()) && fs::file_size(started_file()) > 0; });
  }
  [[nodiscard]] pid_t launcher_process() const {
    pid_t process = 0;
    std::ifstream(started_file()) >> process;
    return process;
  }
  /// The signals that the launcher got, once nothing more can come.
  [[nodiscard]] std::string got() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    std::ifstream file(got_file());
    std::string all;
    for (std::string name; file >> name;) all += name + " ";
    return all;
  }
  TemporaryFolder folder_;
};

TEST_F(Counted, a_signal_to_this_process_alone_goes_on_to_the_launcher_once) {
  for (const auto& [signal, name] : {std::pair(SIGINT, "INT "),
                                     {SIGTERM, "TERM "},
                                     {SIGHUP, "HUP "},
                                     {SIGALRM, "ALRM "},
                                     {SIGUSR1, "USR1 "},
                                     {SIGXCPU, "XCPU "}}) {
    SetUp();
    Started job(this->job());
    ASSERT_TRUE(runs());
    kill(job.process(), signal);
    EXPECT_EQ(got(), name);
    kill(job.process(), SIGUSR2);
    EXPECT_EQ(job.status(), 3);
    fs::remove(got_file());
    fs::remove(started_file());
  }
}

TEST_F(Counted, a_signal_to_the_group_is_not_passed_on_a_second_time) {
  Started job(this->job());
  ASSERT_TRUE(runs());
  kill(-job.process(), SIGINT);
  EXPECT_EQ(got(), "INT ");
  kill(-job.process(), SIGTERM);
  EXPECT_EQ(got(), "INT TERM ");
  kill(-job.process(), SIGUSR2);
  EXPECT_EQ(job.status(), 3);
}

/// As batch systems do that know a job's processes by its session or its control group.
TEST_F(Counted, a_signal_to_each_process_is_not_passed_on_a_second_time) {
  Started job(this->job());
  ASSERT_TRUE(runs());
  const std::string session = std::to_string(job.process());
  EXPECT_EQ(run({"pkill", "-TERM", "-s", session}).status, 0);
  EXPECT_EQ(got(), "TERM ");
  EXPECT_EQ(run({"pkill", "-USR2", "-s", session}).status, 0);
  EXPECT_EQ(job.status(), 3);
}

TEST_F(Counted, a_time_limit_of_a_command_before_it_reaches_the_launcher_once) {
  for (const Words& limit : {Words{"timeout", "600"}, Words{"timeout", "--foreground", "600"}}) {
    SetUp();
    Started job(join({limit, this->job()}));
    ASSERT_TRUE(runs());
    kill(job.process(), SIGTERM);  // it does as when the time is over
    const std::string all = got();
    EXPECT_EQ(lines_with(run({"cat", got_file()}).out, "TERM"), 1) << all;
    EXPECT_EQ(kill(launcher_process(), SIGUSR2), 0);
    EXPECT_EQ(job.status(), 3);
    fs::remove(got_file());
    fs::remove(started_file());
  }
}

TEST_F(Counted, signals_that_follow_each_other_all_arrive) {
  Started job(this->job());
  ASSERT_TRUE(runs());
  std::string all;
  for (const bool group : {false, true, false}) {
    kill(group ? -job.process() : job.process(), SIGTERM);
    all += "TERM ";
    EXPECT_EQ(got(), all);
  }
  kill(job.process(), SIGUSR2);
  EXPECT_EQ(job.status(), 3);
}

TEST_F(Counted, a_killed_command_ends_the_launcher_and_the_witness) {
  Started job(this->job());
  ASSERT_TRUE(runs());
  kill(job.process(), SIGKILL);
  EXPECT_EQ(job.status(), 128 + SIGKILL);
  EXPECT_EQ(got(), "TERM ");
  kill(launcher_process(), SIGUSR2);
  EXPECT_TRUE(comes([&] {
    return run({"pgrep", "-s", std::to_string(job.process())}).status == 1;
  })) << "processes of the job's session are left";
}

/// The state letter of a process, as in /proc/PID/stat.
char state_of(pid_t process) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), text);
  const std::size_t end = text.rfind(')');
  return end == std::string::npos ? '-' : text[end + 2];
}

/// The command at a terminal, as the only job of its foreground.
class AtTerminal : public Counted {
 protected:
  void start(const Words& command) {
    process_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (process_ == 0) become(command);
  }
  void TearDown() override {
    if (process_ <= 0) return;
    run({"pkill", "-KILL", "-s", std::to_string(process_)});
    close(terminal_);
    waitpid(process_, nullptr, 0);
  }
  void type(char key) const { ASSERT_EQ(write(terminal_, &key, 1), 1); }
  int terminal_ = -1;
  pid_t process_ = -1;
};

TEST_F(AtTerminal, control_c_reaches_the_launcher_once) {
  // A shell between, as a session's leader.
  start(join({{"sh", "-c", "trap : INT; \"$@\"; exit $?", "sh"}, job()}));
  ASSERT_TRUE(runs());
  type('\003');
  EXPECT_EQ(got(), "INT ");
}

TEST_F(AtTerminal, control_z_stops_both_and_fg_continues_both) {
  start(join(
      {{"bash", "-mc", "\"$@\" & echo; fg; echo $? > " + folder_.path() + "/stopped; fg", "sh"},
       job()}));
  ASSERT_TRUE(runs());
  const pid_t launcher = launcher_process();
  ASSERT_TRUE(comes([&] { return tcgetpgrp(terminal_) == getpgid(launcher); }));
  type('\032');
  ASSERT_TRUE(comes([&] { return fs::exists(folder_.path() + "/stopped"); }))
      << "the shell waits for a command that does not stop";
  EXPECT_TRUE(comes([&] { return state_of(launcher) != 'T'; })) << "the second fg continues it";
  EXPECT_EQ(got(), "CONT ");
}

TEST_F(AtTerminal, the_launcher_reads_from_the_terminal) {
  std::ofstream(launcher(), std::ios::trunc)
      << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo slurm 23.02.4; exit 0; fi\n"
         "read line; echo \"$line\" > "
      << got_file() << "\n";
  start(job());
  for (const char key : std::string("typed\n")) type(key);
  EXPECT_TRUE(comes([&] { return fs::exists(got_file()) && got() == "typed "; }));
}

/// Jobs with real launchers, on a machine whose /dev/shm and folder for temporary files are empty.
class EndedJob : public Run {
 protected:
  void SetUp() override {
    if (run({"unshare", "-rm", "mount", "-t", "tmpfs", "none", "/dev/shm"}).status != 0)
      GTEST_SKIP() << "a process can't have a /dev/shm of its own here";
  }
  struct End {
    int status;
    std::string left;  ///< the files
  };
  [[nodiscard]] End end_by(const Sender& sender, const Words& start) const {
    const TemporaryFolder folder;
    const auto file = [&](const std::string& name) { return folder.path() + "/" + name; };
    fs::create_directory(file("tmp"));
    Started shell(
        join({{"unshare", "-rm", "sh", "-c",
               "mount -t tmpfs none /dev/shm; cd " + folder.path() +
                   "; export TMPDIR=$PWD/tmp; setsid sh -c 'echo $$ > pid; exec \"$@\"' sh "
                   "\"$@\"; status=$?; sleep 0.3; find /dev/shm $TMPDIR -mindepth 1 > "
                   "left; exit $status",
               "sh"},
              sender.before,
              start,
              ranks(2),
              {hello(), "wait", file("started")}}));
    EXPECT_TRUE(comes([&] { return fs::exists(file("started")); }));
    pid_t process = 0;
    std::ifstream(file("pid")) >> process;
    EXPECT_GT(process, 1);
    if (process > 1) sender.send(process);
    End end{shell.status(), ""};
    std::ifstream left(file("left"));
    for (std::string line; std::getline(left, line);) end.left += line + "\n";
    return end;
  }
};

TEST_P(EndedJob, by_any_signal_is_as_alone_and_leaves_no_file) {
  const auto ends_alike = [this](const Sender& sender) {
    // Several times: what a launcher leaves and returns is not always the same, alone either.
    End alone{}, under{};
    for (int turn = 0; turn < 2; ++turn) {
      under = end_by(sender, kStrakeRun);
      if (under.left.empty()) continue;
      alone = end_by(sender, {});
      EXPECT_FALSE(alone.left.empty()) << sender.name << " leaves " << under.left;
    }
    for (int turn = 0; turn < 10 && (turn == 0 || under.status != alone.status); ++turn) {
      alone = end_by(sender, {});
      if (under.status != alone.status) under = end_by(sender, kStrakeRun);
    }
    EXPECT_EQ(under.status, alone.status) << sender.name;
  };
  // All at a time: launchers take a second to end a job.
  std::vector<std::thread> threads;
  for (const Sender& sender : kSenders) threads.emplace_back(ends_alike, std::cref(sender));
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Flavors, EndedJob, testing::ValuesIn(split(STRAKE_FLAVORS)));

}  // namespace
}  // namespace strake::tools_test
