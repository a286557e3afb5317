/// \file  Several cases one after another between one MPI_Init and one MPI_Finalize, so that the
/// job is launched once (together.py). Each line of a list is a case: its name, "own" or "world",
/// and words that the executable knows. With "own" its communicators are duplicates of
/// MPI_COMM_WORLD and MPI_COMM_SELF; with "world" they are the library's, on which MPI raises
/// errors of calls without a communicator. Rank R writes into a folder: CASE.R.out and CASE.R.err,
/// what the case prints; and ranks.R, with a line "begin CASE" before each case and a line "end
/// CASE CODE SECONDS" after it, from which together.py learns which case crashed or hung.
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace together {

struct Case {
  std::string name;
  bool own = true;
  std::vector<std::string> words;
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm self = MPI_COMM_NULL;
};

/// Sends what a case prints to a file, until the end of the object's life.
class Redirected {
 public:
  Redirected(int descriptor, std::FILE* stream, const std::string& path)
      : descriptor_(descriptor), stream_(stream), before_(dup(descriptor)) {
    std::fflush(stream_);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || before_ < 0 || dup2(file, descriptor_) < 0) {
      std::perror(path.c_str());
      std::exit(2);
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

/// The cases of a list; a line that is none ends the process.
inline std::vector<Case> read(const char* path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Case each;
    std::string communicators;
    words >> each.name >> communicators;
    each.own = communicators == "own";
    for (std::string word; words >> word;) each.words.push_back(word);
    if (each.words.empty()) {
      std::fprintf(stderr, "%s: no case in the line '%s'\n", path, line.c_str());
      std::exit(2);
    }
    cases.push_back(each);
  }
  return cases;
}

/// Runs them; `run` returns a case's exit code on this rank. `world` and `self` are MPI_COMM_WORLD
/// and MPI_COMM_SELF, which check.hpp gives another meaning.
inline void run(std::vector<Case> cases, const std::string& folder, MPI_Comm world, MPI_Comm self,
                const std::function<int(const Case&)>& run) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  const std::string suffix = "." + std::to_string(rank);
  std::ofstream told(folder + "/ranks" + suffix);
  for (Case& each : cases) {
    MPI_Barrier(world);
    each.world = world;
    each.self = self;
    if (each.own) {
      MPI_Comm_dup(world, &each.world);
      MPI_Comm_dup(self, &each.self);
    }
    told << "begin " << each.name << std::endl;
    const auto begin = std::chrono::steady_clock::now();
    int code = 0;
    {
      const std::string path = folder + "/" + each.name + suffix;
      const Redirected out(STDOUT_FILENO, stdout, path + ".out");
      const Redirected err(STDERR_FILENO, stderr, path + ".err");
      code = run(each);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (each.own) {
      MPI_Comm_free(&each.world);
      MPI_Comm_free(&each.self);
    }
    for (const MPI_Comm comm : {world, self}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    told << "end " << each.name << " " << code << " " << seconds.count() << std::endl;
  }
}

}  // namespace together
