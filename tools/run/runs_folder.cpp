#include "runs_folder.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include "job.hpp"
#include "strake/error.hpp"

namespace strake::run {
namespace fs = std::filesystem;

namespace {

/// A path below the current folder; nothing if `path` leads out of it.
std::optional<fs::path> below_here(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  if (normal.is_absolute() || normal.empty() || *normal.begin() == "..") return std::nullopt;
  return normal;
}

std::string made_folder(const fs::path& parent) {
  std::string name = parent / ".strake-compare-XXXXXX";
  return mkdtemp(name.data()) != nullptr ? name : std::string();
}

void copy_one(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  if (fs::is_directory(from)) {
    fs::create_directories(to);
  } else {
    fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  }
}

}  // namespace

std::vector<fs::path> matches_of(const std::vector<std::string>& patterns) {
  std::vector<fs::path> paths;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const std::unique_ptr<glob_t, void (*)(glob_t*)> freed(&found, globfree);
    if (glob(pattern.c_str(), GLOB_BRACE, nullptr, &found) != 0)
      throw InvalidArgument(fmt::format("--files: nothing matches {}", pattern));
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const auto path = below_here(found.gl_pathv[i]);
      if (!path) {
        throw InvalidArgument(
            fmt::format("--files: {} is not in the current folder, {}; each run has a copy of it",
                        found.gl_pathv[i], fs::current_path().string()));
      }
      paths.push_back(*path);
    }
  }
  return paths;
}

Arguments reachable(Arguments command, RunFiles& files) {
  for (std::string& word : command) {
    // An option and its value may be one word.
    for (const std::size_t begin : {std::size_t{0}, word.find('=') + 1}) {
      const fs::path path = word.substr(begin);
      std::error_code error;
      if (path.empty() || path.is_absolute() || !fs::exists(path, error)) continue;
      const auto below = below_here(path);
      if (!below) {
        word.replace(begin, std::string::npos, fs::absolute(path).string());
      } else if (*below != ".") {
        files.linked.push_back(*below);
      }
      break;
    }
  }
  return command;
}

RunsFolder::RunsFolder() {
  std::error_code error;
  path_ = made_folder(fs::current_path());
  if (path_.empty()) path_ = made_folder(fs::temp_directory_path(error));
  if (path_.empty())
    throw Error(fmt::format("a folder for the runs can't be made: {}", std::strerror(errno)));
}

RunsFolder::~RunsFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string RunsFolder::folder(const std::string& name, const RunFiles& files) const try {
  const fs::path folder = path_ / name;
  fs::create_directory(folder);
  for (const fs::path& path : files.copied) {
    copy_one(path, folder / path);
    if (!fs::is_directory(path)) continue;
    for (auto at = fs::recursive_directory_iterator(path); at != fs::end(at); ++at) {
      if (Interruptions::signal() != 0) return folder;
      if (fs::equivalent(at->path(), path_)) {
        at.disable_recursion_pending();
      } else {
        copy_one(at->path(), folder / at->path().lexically_normal());
      }
    }
  }
  for (const fs::path& path : files.linked) {
    if (fs::exists(fs::symlink_status(folder / path))) continue;
    fs::create_directories((folder / path).parent_path());
    fs::create_symlink(fs::absolute(path), folder / path);
  }
  return folder;
} catch (const fs::filesystem_error& error) {
  throw Error(fmt::format("--files: {} can't be copied: {}", error.path1().string(),
                          error.code().message()));
}

}  // namespace strake::run
