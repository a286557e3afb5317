/// \file  The `strake` command. Usage errors end with status 2, otherwise `strake run` ends with
/// the status of the job.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "command/command.hpp"
#include "explain/explain_command.hpp"
#include "measure/measure_command.hpp"
#include "report/report_command.hpp"
#include "run/run_command.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "settings/settings_command.hpp"
#include "settings/settings_table.hpp"
#include "topo/topo_command.hpp"

namespace {

using strake::Command;
using Words = std::vector<std::string>;

constexpr int kUnwritten = 1;
constexpr int kUsageError = 2;

/// A message about the first word that `app`, or its command, does not know, with the nearest word
/// that it knows. Empty if it knows all words.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return "";
  const auto commands = app.get_subcommands();
  const CLI::App& asked = commands.empty() ? app : *commands[0];
  const std::string& word = words.front();
  const bool is_option = word.starts_with("--");
  std::vector<std::string> known;
  if (is_option) {
    for (const CLI::Option* option : asked.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else if (!word.starts_with('-')) {
    for (const CLI::App* command : asked.get_subcommands(nullptr)) {
      known.push_back(command->get_name());
    }
  }
  const std::string whose = commands.empty() ? "strake" : "strake " + asked.get_name();
  if (known.empty()) return fmt::format("{}: {} was not expected", whose, word);
  const std::vector<std::string_view> names(known.begin(), known.end());
  return fmt::format("{}: {} is not {}; did you mean {}?", whose, word,
                     is_option ? "an option" : "a command", strake::settings::nearest(word, names));
}

/// Whether this is `strake run` without the double dash.
bool lacks_dashes(const CLI::ParseError& error, const Command* asked, bool has_job) {
  return dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && asked != nullptr &&
         asked->takes_job && !has_job;
}

/// Prints what is wrong with the arguments, or what --help and --version ask for.
int answer(const CLI::App& app, const CLI::ParseError& error, const Command* asked, bool has_job) {
  if (lacks_dashes(error, asked, has_job)) {
    const std::string name = asked->app->get_name();
    strake::say("strake {}: the command comes after --: strake {} [options] -- mpirun ...\n", name,
                name);
    return kUsageError;
  }
  // --help and --version end with an "error" of 0.
  const std::string unknown = error.get_exit_code() != 0 ? unknown_word(app) : std::string();
  if (!unknown.empty()) {
    strake::say("{}\n", unknown);
    return kUsageError;
  }
  std::ostringstream out;
  const int status = app.exit(error, out, std::cerr);
  fmt::print("{}", out.str());
  return status == 0 ? 0 : kUsageError;
}

/// The arguments of this command, and the words after the first "--", if there is one.
int main_with(Words arguments, const std::optional<Words>& job) {
  CLI::App app{"Strake moves the non-contiguous data of MPI programs fast.", "strake"};
  app.set_version_flag("--version", "strake " STRAKE_VERSION);
  app.require_subcommand(1);
  const std::vector<Command> commands = {
      strake::run::command(app),     strake::explain::command(app),
      strake::measure::command(app), strake::topo::command(app),
      strake::report::command(app),  strake::settings_command::command(app)};
  const auto asked = [&]() -> const Command* {
    for (const Command& command : commands) {
      if (command.app->parsed()) return &command;
    }
    return nullptr;
  };
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the last argument first
    app.parse(arguments);
    const std::string name = asked()->app->get_name();
    if (job && !asked()->takes_job)
      throw CLI::ArgumentMismatch(fmt::format("strake {} takes no command after --", name));
    if (asked()->takes_job && (!job || job->empty())) {
      throw CLI::ArgumentMismatch(
          fmt::format("strake {} needs a command: strake {} -- mpirun ...", name, name));
    }
  } catch (const CLI::ParseError& error) {
    return answer(app, error, asked(), job.has_value());
  }
  // A job's first rank reports them.
  if (!asked()->takes_job) strake::settings::report_complaints();
  return asked()->run(job.value_or(Words()));
}

/// Flushes standard output, and returns the final status of a command that ended with `status`.
/// `reason` is the errno of a write that failed before, or 0.
int flushed(int status, int reason) {
  errno = reason;
  if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || status != 0) return status;
  strake::say("strake: standard output can't be written: {}\n",
              errno != 0 ? std::strerror(errno) : "an earlier write failed");
  return kUnwritten;
}

}  // namespace

int main(int argc, char** argv) {
  // If a standard stream is closed here, it stays closed for a job. Its descriptor is reserved, so
  // that no other file gets it.
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    const int wrong_way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", wrong_way | O_CLOEXEC);
  }
  Words arguments(argv + 1, argv + argc);
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::optional<Words> job;
  if (dashes != arguments.end()) job.emplace(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  int status = 0;
  int reason = 0;
  try {
    status = main_with(arguments, job);
  } catch (const std::exception& error) {
    const auto* failed = dynamic_cast<const std::system_error*>(&error);
    if (failed != nullptr && std::ferror(stdout) != 0) {
      reason = failed->code().value();
    } else {
      const bool named = !arguments.empty() && !arguments[0].starts_with('-');
      strake::say("strake{}: {}\n", named ? " " + arguments[0] : "", error.what());
      status = kUsageError;
    }
  }
  return flushed(status, reason);
}
