#include "next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>
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

/// Whether the job sent messages, and each lay in contiguous host memory.
bool is_contiguous(const nlohmann::json& summary) {
  const auto calls = [&](const char* of, const char* name) -> std::int64_t {
    const auto group = summary.is_object() ? summary.find(of) : summary.end();
    if (group == summary.end() || !group->is_object() || !group->contains(name)) return 0;
    return (*group)[name].value("calls", std::int64_t{0});
  };
  const std::int64_t contiguous = calls("reasons", "contiguous host memory");
  if (contiguous == 0) return false;
  std::int64_t all = 0;
  for (const auto& [method, count] : summary["methods"].items())
    all += count.value("calls", std::int64_t{0});
  return all == contiguous;
}

bool is_python(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  return name.starts_with("python") || name.ends_with(".py");
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

std::string python_advice(const Arguments& command, const std::set<job::Letter>& letters) {
  if (!letters.contains(job::Letter::Threads)) return {};
  if (std::none_of(command.begin(), command.end(), is_python)) return {};
  return "mpi4py asked for MPI_THREAD_MULTIPLE, and such ranks share no memory. If one thread at a "
         "time calls MPI: import mpi4py; mpi4py.rc.thread_level = \"serialized\", before from "
         "mpi4py "
         "import MPI\n";
}

std::string next_steps(const Arguments& command, const std::string& launcher,
                       const nlohmann::json& summary, bool shared_heap) {
  // A line that calls Strake useless would contradict runs that were faster.
  if (!shared_heap && is_contiguous(summary)) {
    return "all your messages are contiguous: Strake passes them on, and makes them no faster\n"
           "  (where that may be worth a change, and where not: docs/how-to/no-gain.md)\n";
  }
  const std::string strake = own_command();
  std::string text = "what to do next\n";
  const auto add = [&](const std::string& why, Arguments words) {
    text += fmt::format("  {}:\n    {}\n", why, shell_line(words));
  };
  const auto with = [&](Arguments words) {
    words.insert(words.end(), command.begin(), command.end());
    return words;
  };
  Arguments run = {strake, "run"};
  if (shared_heap) run.emplace_back("--shared-heap");
  run.emplace_back("--");
  add("see which messages went another way, and why others did not", with(run));
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
