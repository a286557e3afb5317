#include "command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "run/launcher.hpp"
#include "run/next_steps.hpp"

namespace strake::measure {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A process's command line; empty if it can't be read.
std::vector<std::string> words_of(int process) {
  std::vector<std::string> words(1);
  for (const char c : contents(fmt::format("/proc/{}/cmdline", process)))
    c == '\0' ? words.emplace_back() : words.back().append(1, c);
  words.pop_back();
  return words;
}

int parent_of(int process) {
  const std::string text = contents(fmt::format("/proc/{}/stat", process));
  const std::size_t end = text.rfind(')');  // of the name, which may have blanks; then the state
  return end == std::string::npos ? 0 : std::atoi(text.c_str() + std::min(end + 4, text.size()));
}

}  // namespace

std::string with_resume(const std::vector<std::string>& words) {
  const auto measure = std::find(words.begin(), words.end(), "measure");
  if (measure == words.end()) return {};
  const bool resumes = std::find(measure, words.end(), "--resume") != words.end();
  std::vector<std::string> shown;
  for (auto word = words.begin(); word != words.end(); ++word) {
    shown.push_back(*word);
    if (word == measure && !resumes) shown.emplace_back("--resume");
  }
  return run::shell_line(shown);
}

std::string command_to_resume() {
  // mpirun itself, or a daemon of it, started this process.
  constexpr int kGenerations = 4;
  int process = getpid();
  for (int i = 0; i < kGenerations && process > 1; ++i) {
    process = parent_of(process);
    const std::vector<std::string> words = words_of(process);
    if (words.empty() || !run::is_launcher_name(words[0])) continue;
    std::string command = with_resume(words);
    if (!command.empty()) return command;
  }
  return with_resume(words_of(getpid()));
}

}  // namespace strake::measure
