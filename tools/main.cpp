/// \file  The `strake` command. Usage errors end with status 2, otherwise `strake run` ends with
/// the status of the job.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "explain/explain.hpp"
#include "expression/parser.hpp"
#include "measure/measure_command.hpp"
#include "report/report_command.hpp"
#include "run/run_command.hpp"
#include "run/statistics.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "settings/settings_command.hpp"
#include "settings/settings_table.hpp"
#include "strake/error.hpp"
#include "topo/topo_command.hpp"

namespace {

constexpr int kUnwritten = 1;
constexpr int kUsageError = 2;

struct ExplainOptions {
  bool json = false;
  std::string from;
  std::string to;
  strake::explain::Question question;
  std::vector<std::string> types;
};

std::optional<strake::MemoryKind> memory_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "host") return strake::MemoryKind::Host;
  return name == "pinned" ? strake::MemoryKind::Pinned : strake::MemoryKind::Device;
}

/// Reads a count as a number inside an expression is read. \throws CLI::ValidationError  no number,
/// or a negative one.
std::int64_t count_of(const std::string& text) {
  const auto refuse = [](const std::string& why) { throw CLI::ValidationError("--count", why); };
  std::int64_t count = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, count);
  if (error == std::errc::result_out_of_range) refuse(text + " is a number past 2^63");
  if (error != std::errc() || end != last) refuse(text + " is not a whole number");
  if (count < 0) refuse(text + " is negative");
  return count;
}

int explain(ExplainOptions options) {
  options.question.from = memory_named(options.from);
  options.question.to = memory_named(options.to);
  auto all = nlohmann::ordered_json::array();
  for (const std::string& type : options.types) {
    try {
      const auto explanation = strake::explain::explain(type, options.question);
      if (options.json) {
        all.push_back(strake::explain::to_json(explanation));
      } else {
        fmt::print("{}", strake::explain::to_text(explanation));
      }
    } catch (const strake::expression::SyntaxError& error) {
      strake::say("strake explain: {}, at character {}\n  {}\n  {:>{}}\n", error.what(),
                  error.position() + 1, type, '^', error.position() + 1);
      return kUsageError;
    }
  }
  // One type gives one object, several a list of them.
  if (options.json)
    fmt::print("{}\n", (all.size() == 1 ? all[0] : all)
                           .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return 0;
}

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

/// The arguments of this command, and those after the first "--".
int main_with(std::vector<std::string> arguments, const std::vector<std::string>& rest,
              bool has_rest) {
  CLI::App app{"Strake moves the non-contiguous data of MPI programs fast.", "strake"};
  app.set_version_flag("--version", "strake " STRAKE_VERSION);
  app.require_subcommand(1);

  const CLI::Validator not_empty(
      [](const std::string& name) { return std::string(name.empty() ? "the name is empty" : ""); },
      "");

  strake::run::Options run_options;
  CLI::App* run = app.add_subcommand("run", "Run an MPI job with its data movement accelerated");
  run->footer("The job follows a double dash: strake run [OPTIONS] -- mpirun -n 4 ./program");
  CLI::Option* quiet = run->add_flag("--quiet", run_options.quiet, "Print no summary at the end");
  run->add_option("--json", run_options.json, "Write the summary to this file")
      ->type_name("FILE")
      ->check(not_empty);
  run->add_option("--mpi", run_options.mpi,
                  "Treat an MPI library that is not known by its name as this one (for those with "
                  "its interface)")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich"}))
      ->capture_default_str();
  CLI::Option* disable = run->add_flag("--disable", run_options.disable,
                                       "Load the interposer, but let it pass every call through");
  CLI::Option* compare =
      run->add_option("--compare", run_options.compare,
                      "Run the job N times alone and N times under Strake, and compare the times")
          ->type_name("N")
          ->check(CLI::Range(1, strake::run::kMostRuns))
          ->excludes(quiet)
          ->excludes(disable);
  run->add_option("--files", run_options.files,
                  "Give each run of --compare a folder of its own with a copy of these files")
      ->type_name("PATTERN")
      ->check(not_empty)
      ->needs(compare);

  ExplainOptions explain_options;
  CLI::App* explain_app =
      app.add_subcommand("explain", "Show what becomes of a datatype, and how it is copied");
  explain_app->add_flag("--json", explain_options.json, "Print JSON");
  explain_app
      ->add_option_function<std::string>(
          "--count",
          [&](const std::string& text) { explain_options.question.count = count_of(text); },
          "Elements of the type")
      ->type_name("INT")
      ->default_str("1");
  const CLI::IsMember is_memory({"host", "pinned", "device"});
  explain_app->add_option("--from", explain_options.from, "Memory that the bytes are in")
      ->check(is_memory);
  explain_app->add_option("--to", explain_options.to, "Memory that they go to")->check(is_memory);
  explain_app->add_flag("--remote", explain_options.question.remote,
                        "Show how a message to another rank would travel, by the profile");
  explain_app->add_option("TYPE", explain_options.types, "Such as vector(100,1,512,double)")
      ->required();

  strake::measure::Options measure_options;
  CLI::App* measure =
      app.add_subcommand("measure", "Measure this machine; under mpirun -n 2 or more, MPI too");
  measure->add_flag("--quick", measure_options.quick, "The most telling cases, in at most 60 s");
  measure
      ->add_option("--time", measure_options.seconds,
                   "Measure for at most so long (default: 900 s, with --quick 60 s)")
      ->type_name("SECONDS")
      ->check(CLI::Range(strake::measure::Options::kLeastSeconds, 24 * 3600));
  measure
      ->add_option("--filter", measure_options.filter,
                   "Only cases whose \"name bytes block pitch\" this regular expression finds")
      ->type_name("REGEX");
  CLI::Option* measure_list =
      measure->add_flag("--list", measure_options.list, "List the cases, and measure nothing");
  measure->add_flag("--json", measure_options.json, "Print results as JSON lines, not as a table")
      ->excludes(measure_list);
  measure
      ->add_flag("--resume", measure_options.resume,
                 "Leave out what the profile holds already, measured in the same way")
      ->excludes(measure_list);
  measure
      ->add_option("--output", measure_options.output,
                   "Write the profile here, not to the machine's place")
      ->type_name("FILE")
      ->check(not_empty)
      ->excludes(measure_list);

  strake::topo::Options topo_options;
  CLI::App* topo = app.add_subcommand(
      "topo", "Show sockets, NUMA nodes, GPUs, their links, and the measured bandwidths");
  topo->add_flag("--json", topo_options.json, "Print JSON");
  topo->add_option("--svg", topo_options.svg, "Draw it into this file")
      ->type_name("FILE")
      ->check(not_empty);
  topo->add_option("--profile", topo_options.profile,
                   "Bandwidths from this profile (JSON), not from this machine's")
      ->type_name("FILE")
      ->check(not_empty);

  strake::report::Options report_options;
  CLI::App* report = app.add_subcommand("report", "Make a page with plots from profiles");
  report->add_option("PROFILE", report_options.profiles, "Profiles of strake measure (JSON)")
      ->required();
  report->add_option("-o,--output", report_options.output, "The page; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  report->add_option("--title", report_options.title, "Its title")->type_name("TEXT");

  bool settings_json = false;
  bool settings_markdown = false;
  CLI::App* settings =
      app.add_subcommand("settings", "List every setting, its default, and its value here");
  CLI::Option* as_json = settings->add_flag("--json", settings_json, "Print JSON");
  settings->add_flag("--markdown", settings_markdown, "Print the page of the documentation")
      ->excludes(as_json);

  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the last argument first
    app.parse(arguments);
    if (has_rest && !run->parsed())
      throw CLI::ArgumentMismatch("only strake run takes a command after --");
    if (run->parsed() && rest.empty())
      throw CLI::ArgumentMismatch("strake run needs a command: strake run -- mpirun ...");
  } catch (const CLI::ParseError& error) {
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && run->parsed() && !has_rest) {
      strake::say("strake run: the command comes after --: strake run [options] -- mpirun ...\n");
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

  if (run->parsed()) return strake::run::run(run_options, rest);
  strake::settings::report_complaints();
  if (measure->parsed()) return strake::measure::run(measure_options);
  if (topo->parsed()) return strake::topo::run(topo_options);
  if (report->parsed()) return strake::report::run(report_options);
  if (explain_app->parsed()) return explain(explain_options);
  if (settings_json) {
    // A value need not be UTF-8.
    fmt::print("{}\n", strake::settings_command::to_json().dump(
                           2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", settings_markdown ? strake::settings_command::to_markdown()
                                       : strake::settings_command::to_text());
  }
  return 0;
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
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const bool has_rest = dashes != arguments.end();
  const std::vector<std::string> rest(has_rest ? dashes + 1 : dashes, arguments.end());
  arguments.erase(dashes, arguments.end());
  const bool running = !arguments.empty() && arguments[0] == "run";
  int status = 0;
  int reason = 0;
  try {
    status = main_with(arguments, rest, has_rest);
  } catch (const std::exception& error) {
    const auto* failed = dynamic_cast<const std::system_error*>(&error);
    if (!running && failed != nullptr && std::ferror(stdout) != 0) {
      reason = failed->code().value();
    } else {
      strake::say("strake{}: {}\n", running ? " run" : "", error.what());
      status = kUsageError;
    }
  }
  return running ? status : flushed(status, reason);
}
