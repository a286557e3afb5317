/// \file  An executable that holds many programs. Started by the name of one it is that program:
/// the build has a link to it for each. Started with --together it runs several in a row, so that
/// the job is launched and MPI_Init called but once:
///   programs [--device] --together LIST FOLDER
/// Each line of the file LIST is a case: its name, "own" or "world", its program's name and
/// arguments. With "own", its MPI_COMM_WORLD and MPI_COMM_SELF are duplicates; with "world" they
/// are the library's, on which MPI raises errors of calls without a communicator. Rank R writes
/// into FOLDER: CASE.R.out and CASE.R.err, what the case prints; and ranks.R, with a line "begin
/// CASE" before each case and a line "end CASE CODE SECONDS" after it, from which together.py
/// learns which case crashed or hung.
#include "programs.hpp"

#include <fcntl.h>

#include <chrono>
#include <fstream>

#include "check.hpp"

namespace {

/// Sends what a case prints to a file, until the end of the object's life.
class Redirected {
 public:
  Redirected(int descriptor, std::FILE* stream, const std::string& path)
      : descriptor_(descriptor), stream_(stream), before_(dup(descriptor)) {
    std::fflush(stream_);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || before_ < 0 || dup2(file, descriptor_) < 0) {
      std::perror(path.c_str());
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    close(file);
  }
  ~Redirected() {
    std::fflush(stream_);
    dup2(before_, descriptor_);
    close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int descriptor_;
  std::FILE* stream_;
  int before_;
};

struct Case {
  std::string name;
  std::string communicators;
  std::vector<std::string> command;
};

std::vector<Case> read(const char* path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Case each;
    words >> each.name >> each.communicators;
    for (std::string word; words >> word;) each.command.push_back(word);
    if (each.command.empty() || programs::all().count(each.command[0]) == 0) {
      std::fprintf(stderr, "%s: no program in the line '%s'\n", path, line.c_str());
      std::exit(2);
    }
    cases.push_back(each);
  }
  return cases;
}

int run(Case& one, bool device) {
  if (device) one.command.emplace_back("--device");
  std::vector<char*> arguments;
  for (std::string& word : one.command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  check::State& state = check::state();
  state.failures = 0;
  state.notes.clear();
  return programs::all().at(one.command[0])(static_cast<int>(one.command.size()), arguments.data());
}

int run_together(const char* list, const std::string& folder, bool device, int argc, char** argv) {
  std::vector<Case> cases = read(list);
  check::together() = true;
  check::start_mpi(argc, argv);
  const MPI_Comm world = check::world(), self = check::self();
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  const std::string suffix = "." + std::to_string(rank);
  std::ofstream told(folder + "/ranks" + suffix);
  for (Case& each : cases) {
    MPI_Barrier(world);
    const bool own = each.communicators == "own";
    if (own) {
      MPI_Comm_dup(world, &check::world());
      MPI_Comm_dup(self, &check::self());
    }
    told << "begin " << each.name << std::endl;
    const auto begin = std::chrono::steady_clock::now();
    int code = 0;
    {
      const std::string path = folder + "/" + each.name + suffix;
      const Redirected out(STDOUT_FILENO, stdout, path + ".out");
      const Redirected err(STDERR_FILENO, stderr, path + ".err");
      code = run(each, device);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    alarm(0);
    if (own) {
      MPI_Comm_free(&check::world());
      MPI_Comm_free(&check::self());
      check::world() = world;
      check::self() = self;
    }
    for (const MPI_Comm comm : {world, self}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    told << "end " << each.name << " " << code << " " << seconds.count() << std::endl;
  }
  alarm(check::kWatchdogSeconds);
  check::section("MPI_Finalize");
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argv[0];
  const auto program = programs::all().find(path.substr(path.rfind('/') + 1));
  if (program != programs::all().end()) return program->second(argc, argv);
  const bool device = argc > 1 && std::strcmp(argv[1], "--device") == 0;
  const char* const* const words = argv + (device ? 2 : 1);
  if (argc == (device ? 5 : 4) && std::strcmp(words[0], "--together") == 0)
    return run_together(words[1], words[2], device, argc, argv);
  std::fprintf(stderr,
               "usage: programs [--device] --together LIST FOLDER\nor, by a link of its name, one "
               "of:\n");
  for (const auto& [name, main] : programs::all()) std::fprintf(stderr, "  %s\n", name.c_str());
  return 2;
}
