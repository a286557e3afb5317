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
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "command/command.hpp"
#include "command/completions.hpp"
#include "command/help.hpp"
#include "command/man.hpp"
#include "command/unknown.hpp"
#include "doctor/doctor_command.hpp"
#include "explain/explain_command.hpp"
#include "measure/measure_command.hpp"
#include "plan/plan_command.hpp"
#include "report/report_command.hpp"
#include "run/run_command.hpp"
#include "say.hpp"
#include "settings/complaints.hpp"
#include "settings/settings.hpp"
#include "settings/settings_command.hpp"
#include "topo/topo_command.hpp"

namespace {

using namespace strake::command;
using strake::Command;
using strake::TakesJob;
using Words = std::vector<std::string>;

constexpr int kUnwritten = 1;
constexpr int kUsageError = 2;

/// A message about the first word that `app`, or its command, does not know. Empty if it knows all
/// words.
std::string unknown_word(const CLI::App& app, const Page& asked, std::span<const Page> pages) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return "";
  const std::string& word = words.front();
  if (word.size() > 1 && word.starts_with('-')) return unknown_option(word, asked);
  return asked.name.empty() ? unknown_command(word, pages) : word + " was not expected";
}

/// Text that says what is wrong with the arguments.
std::string fault_of(const CLI::App& app, const CLI::ParseError& error, const Page& asked,
                     std::span<const Page> pages, bool has_job) {
  if (asked.takes_job != TakesJob::No && !has_job &&
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return "the command comes after --";
  if (const std::string unknown = unknown_word(app, asked, pages); !unknown.empty()) return unknown;
  if (asked.name.empty() && app.get_subcommands().empty())
    return "a command is missing; commands are\n" + command_list(pages);
  return error.what();
}

/// Prints what is wrong with the arguments, or what --help and --version ask for.
int answer(const CLI::App& app, const CLI::ParseError& error, const Command* command,
           std::span<const Command> commands, bool has_job) {
  const std::vector<Page> pages = pages_of(commands);
  const Page& asked = command == nullptr ? pages[0] : *page_named(pages, command->app->get_name());
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
    fmt::print("{}", help_text(asked, pages));
    return 0;
  }
  if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
    fmt::print("{}\n", error.what());
    return 0;
  }
  std::string fault = fault_of(app, error, asked, pages, has_job);
  if (!fault.ends_with('\n')) fault += '\n';
  strake::say("{}: {}Usage: {}\n", asked.full_name(), fault, asked.usage());
  return kUsageError;
}

/// The arguments of this command, and the words after the first "--", if there is one.
int main_with(Words arguments, const std::optional<Words>& job) {
  CLI::App app{"Strake moves the non-contiguous data of MPI programs fast.", "strake"};
  app.set_help_flag("-h,--help", "Show this help");
  app.set_version_flag("--version", "strake " STRAKE_VERSION "\nbuilt " STRAKE_BUILT,
                       "Show the version, and what it was built with");
  app.require_subcommand(1);
  std::vector<Command> commands;
  commands = {strake::run::command(app),
              strake::explain::command(app),
              strake::measure::command(app),
              strake::topo::command(app),
              strake::plan::command(app),
              strake::report::command(app),
              strake::settings_command::command(app),
              strake::doctor::command(app),
              help_command(app, commands),
              completions_command(app, commands),
              man_command(app, commands)};
  const auto asked = [&]() -> const Command* {
    for (const Command& command : commands) {
      if (command.app->parsed()) return &command;
    }
    return nullptr;
  };
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the last argument first
    app.parse(arguments);
    if (job && asked()->takes_job == TakesJob::No)
      throw CLI::ArgumentMismatch("no command is taken after --");
    if (job ? job->empty() : asked()->takes_job == TakesJob::Needs)
      throw CLI::ArgumentMismatch("a command is missing behind --");
  } catch (const CLI::ParseError& error) {
    return answer(app, error, asked(), commands, job.has_value());
  }
  // A job's first rank reports them, and strake doctor has a line for them.
  if (asked()->takes_job == TakesJob::No) strake::settings::report_complaints();
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
