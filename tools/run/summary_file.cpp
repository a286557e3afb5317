#include "summary_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "say.hpp"
#include "strake/error.hpp"

namespace strake::run {
namespace fs = std::filesystem;

namespace {

/// Whether `path` is a regular file, and not where standard output or error goes: such a file may
/// have more than a summary.
bool is_of_its_own(const fs::path& path) {
  std::error_code error;
  const auto is = [&](const char* stream) { return fs::equivalent(path, stream, error); };
  return fs::is_regular_file(path, error) && !is("/dev/stdout") && !is("/dev/stderr");
}

}  // namespace

std::string emptied(const char* option, const std::string& file) {
  const fs::path path = fs::absolute(file);
  const bool there = fs::exists(path);
  if (fs::is_directory(path) ||
      access(there ? path.c_str() : path.parent_path().c_str(), W_OK) != 0) {
    throw InvalidArgument(fmt::format("{}: {} can't be written", option, path.string()));
  }
  std::error_code error;
  if (is_of_its_own(path)) fs::resize_file(path, 0, error);
  return path.string();
}

bool has_summary(const std::string& file) {
  // Opened first, since a rank on another machine may have written it: stat alone may return cached
  // values.
  return is_of_its_own(file) && std::ifstream(file).peek() != std::ifstream::traits_type::eof();
}

void write_empty_summary(const std::string& file, bool disabled, const std::string& problem) {
  const auto none = nlohmann::ordered_json::object();
  const nlohmann::ordered_json json = {{"mpi", nullptr},
                                       {"ranks", 0},
                                       {"whole_job", false},
                                       {"disabled", disabled},
                                       {"saved_seconds_in_pack", 0.0},
                                       {"methods", none},
                                       {"functions", none},
                                       {"reasons", none},
                                       {"problem", problem}};
  std::ofstream out(file, std::ios::app);
  if (!(out << json.dump(2) << std::endl)) say("strake run: --json: {} can't be written\n", file);
}

}  // namespace strake::run
