#include "explain_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "explain.hpp"
#include "expression/grammar.hpp"
#include "expression/parser.hpp"
#include "function.hpp"
#include "say.hpp"

namespace strake::explain {
namespace {

constexpr int kUsageError = 2;

struct Options {
  bool json = false;
  std::string from;
  std::string to;
  Question question;
  std::vector<std::string> types;
};

std::optional<MemoryKind> memory_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "host") return MemoryKind::Host;
  return name == "pinned" ? MemoryKind::Pinned : MemoryKind::Device;
}

/// Reads a count as a number inside an expression is read.
/// \throws CLI::ValidationError  no number, or a negative one.
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

int explain_all(Options& options) {
  options.question.from = memory_named(options.from);
  options.question.to = memory_named(options.to);
  auto all = nlohmann::ordered_json::array();
  for (const std::string& type : options.types) {
    if (const auto fate = fate_of(type)) {
      if (options.json) {
        all.push_back(to_json(*fate));
      } else {
        fmt::print("{}", to_text(*fate));
      }
      continue;
    }
    try {
      const auto explanation = explain(type, options.question);
      if (options.json) {
        all.push_back(to_json(explanation));
      } else {
        fmt::print("{}", to_text(explanation));
      }
    } catch (const expression::SyntaxError& error) {
      say("strake explain: at character {}: {}\n  {}\n  {:>{}}\n", error.position() + 1,
          error.what(), type, '^', error.position() + 1);
      const std::string signature = error.signature().value_or("");
      if (!signature.empty()) say("Wanted: {}\n", signature);
      return kUsageError;
    }
  }
  // One type gives one object, several a list of them.
  if (options.json)
    fmt::print("{}\n", (all.size() == 1 ? all[0] : all)
                           .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return 0;
}

}  // namespace

Command command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand(
      "explain",
      "Show what becomes of a datatype, and how it is copied; or of an MPI function's calls");
  app->add_flag("--json", options->json, "Print JSON");
  app->add_option_function<std::string>(
         "--count",
         [options](const std::string& text) { options->question.count = count_of(text); },
         "Elements of the type")
      ->type_name("INT")
      ->default_str("1");
  const CLI::IsMember is_memory({"host", "pinned", "device"});
  app->add_option("--from", options->from, "Memory that the bytes are in")->check(is_memory);
  app->add_option("--to", options->to, "Memory that they go to")->check(is_memory);
  app->add_flag("--remote", options->question.remote,
                "Show how a message to another rank would travel, by the profile");
  app->add_option(
         "TYPE", options->types,
         "A datatype such as vector(100,1,512,double), or a function such as MPI_Alltoallw")
      ->required();
  app->footer(
      "Grammar (blanks and case do not count; names may begin with MPI_, those of constructors "
      "also "
      "with MPI_Type_ or MPI_Type_create_):\n\n" +
      expression::grammar());
  return {app, [options](const auto&) { return explain_all(*options); }};
}

}  // namespace strake::explain
