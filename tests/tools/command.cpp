#include "command.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace strake::tools_test {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string contents(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t got = 1; got > 0;) {
    got = std::fread(part.data(), 1, part.size(), file);
    text.append(part.data(), got);
  }
  return text;
}

}  // namespace

Outcome run(const Words& command, const Words& environment) {
  const File out(std::tmpfile());
  const File err(std::tmpfile());
  const pid_t child = fork();
  if (child == 0) {
    dup2(fileno(out.get()), STDOUT_FILENO);
    dup2(fileno(err.get()), STDERR_FILENO);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    Words dropped = {"LD_PRELOAD"};
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      if (text.rfind("STRAKE_", 0) == 0) dropped.push_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : dropped) unsetenv(name.c_str());
    for (const std::string& word : environment) {
      setenv(word.substr(0, word.find('=')).c_str(), word.substr(word.find('=') + 1).c_str(), 1);
    }
    std::vector<char*> pointers;
    for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    execvp(pointers[0], pointers.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), contents(out.get()),
          contents(err.get())};
}

Outcome strake(const Words& arguments, const Words& environment) {
  return run(join({{STRAKE_PREFIX "/bin/strake"}, arguments}), environment);
}

Words join(std::initializer_list<Words> lists) {
  Words words;
  for (const Words& list : lists) words.insert(words.end(), list.begin(), list.end());
  return words;
}

int lines_with(const std::string& output, const std::string& text) {
  std::istringstream lines(output);
  int count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.find(text) != std::string::npos ? 1 : 0;
  return count;
}

}  // namespace strake::tools_test
