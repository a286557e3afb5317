/// \file  The folder of a comparison: a folder for each run, and what the runs print.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher.hpp"

namespace strake::run {

/// The files that each run gets, by paths relative to the current folder.
struct RunFiles {
  std::vector<std::filesystem::path> copied;
  std::vector<std::filesystem::path> linked;
};

/// The paths that shell patterns match.
/// \throws InvalidArgument  one matches nothing, or something outside of the current folder.
[[nodiscard]] std::vector<std::filesystem::path> matches_of(
    const std::vector<std::string>& patterns);

/// The files of the current folder that `command` names (./program, input=a.dat) go to `linked`, so
/// that they are found from another folder.
/// \returns  the command; in it, paths that lead out of the current folder (../program) are
/// absolute.
[[nodiscard]] Arguments reachable(Arguments command, RunFiles& files);

class RunsFolder {
 public:
  /// In the current folder, which the ranks on other nodes may see as well; if that can't be
  /// written, in that for temporary files.
  /// \throws Error  neither can be written.
  RunsFolder();
  ~RunsFolder();
  RunsFolder(const RunsFolder&) = delete;
  RunsFolder& operator=(const RunsFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
  /// A new folder in it, with `files`. \throws Error  a file can't be copied; Interrupted
  [[nodiscard]] std::string folder(const std::string& name, const RunFiles& files) const;

 private:
  std::filesystem::path path_;
};

}  // namespace strake::run
