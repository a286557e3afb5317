/// \file  Shared parts of the tests of `strake run`: launchers, programs, and files of their own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "command.hpp"

namespace strake::tools_test {

inline const std::string kPrograms = STRAKE_PROGRAMS;
inline const Words kStrakeRun = {STRAKE_PREFIX "/bin/strake", "run", "--"};

inline Words split(const std::string& text) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

inline Words mpirun_of(const std::string& flavor) {
  return split(flavor == "openmpi" ? STRAKE_MPIRUN_OPENMPI : STRAKE_MPIRUN_MPICH);
}

/// A file with these lines, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(testing::TempDir() + "strake_" + std::to_string(getpid()) + "_" + name) {
    std::ofstream(path_) << text;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// An empty folder, removed at the end with what it holds by then.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "strake_bin_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + " can't be made");
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Run : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] Words mpirun() const { return mpirun_of(GetParam()); }
  /// Which launcher that is: either may start the ranks of MPICH.
  [[nodiscard]] bool hydra() const {
    return run({mpirun()[0], "--version"}).out.find("HYDRA") != std::string::npos;
  }
  [[nodiscard]] Words ranks(int count) const {
    return join({mpirun(), {"-n", std::to_string(count)}});
  }
  [[nodiscard]] std::string hello() const { return kPrograms + "/hello_" + GetParam(); }
  /// Linked to MPI, without a call of it.
  [[nodiscard]] std::string idle() const { return kPrograms + "/idle_" + GetParam(); }
  /// The MPI library, by its bare name.
  [[nodiscard]] std::string library() const { return hydra() ? "libmpich.so.12" : "libmpi.so.40"; }
  [[nodiscard]] std::string hello_fortran() const {
    return kPrograms + "/hello_fortran_" + GetParam();
  }
  [[nodiscard]] std::string line() const { return "standin " + GetParam() + " MPI_Init "; }
  /// strake run OPTIONS -- COMMAND
  static Outcome job(const Words& options, const Words& command, const Words& environment = {}) {
    return strake(join({{"run"}, options, {"--"}, command}), environment);
  }
};

}  // namespace strake::tools_test
