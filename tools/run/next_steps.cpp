#include "next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "own_program.hpp"
#include "program_check.hpp"

namespace strake::run {
namespace fs = std::filesystem;

namespace {

/// How the user calls this command: by its name where the PATH leads to it.
std::string own_command() {
  char path[PATH_MAX];
  preload::own_program(path);
  const auto found = find_program("strake");
  std::error_code error;
  return found && fs::equivalent(*found, path, error) ? "strake" : path;
}

/// The datatype with gaps that most time inside MPI went to. Empty: none, or it has no short name.
std::string costliest_datatype(const nlohmann::json& summary) {
  constexpr std::size_t kLongest = 200;
  if (!summary.is_object() || !summary.contains("calls")) return {};
  for (const nlohmann::json& row : summary["calls"]) {  // the longest first
    if (!row.contains("datatype") || !row["datatype"].is_string()) continue;
    const auto name = row["datatype"].get<std::string>();
    if (name.starts_with("MPI_") || name.starts_with("contiguous(")) continue;
    return name.size() <= kLongest ? name : std::string();
  }
  return {};
}

/// Whether Strake chose by measurements of this machine.
bool is_measured(const nlohmann::json& summary) {
  return summary.is_object() && summary.contains("profile") &&
         summary["profile"].value("used", false);
}

}  // namespace

std::string shell_line(const Arguments& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string next_steps(const Arguments& command, const std::string& launcher,
                       const nlohmann::json& summary) {
  const std::string strake = own_command();
  std::string text = "what to do next\n";
  const auto add = [&](const std::string& why, Arguments words) {
    text += fmt::format("  {}:\n    {}\n", why, shell_line(words));
  };
  const auto with = [&](Arguments words) {
    words.insert(words.end(), command.begin(), command.end());
    return words;
  };
  add("see what was accelerated, and why other messages were not", with({strake, "run", "--"}));
  if (const std::string datatype = costliest_datatype(summary); !datatype.empty())
    add("see how the datatype that takes most of the time is copied",
        {strake, "explain", datatype});
  add("see what limits MPI and Strake on this machine", with({strake, "doctor", "--"}));
  if (!launcher.empty() && !is_measured(summary)) {
    Arguments measure = {launcher, "-n", "2", strake, "measure", "--quick"};
    const std::string_view as_root = "--allow-run-as-root";
    if (std::find(command.begin(), command.end(), as_root) != command.end())
      measure.insert(measure.begin() + 1, std::string(as_root));
    add("measure this machine (at most 60 s): Strake chooses by that", measure);
  }
  return text;
}

}  // namespace strake::run
