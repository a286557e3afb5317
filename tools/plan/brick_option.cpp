#include "plan/brick_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "plan/numbers.hpp"
#include "plan/plan.hpp"

namespace strake::plan {
namespace {

bool is_given(const CLI::App& app, const char* option) { return app.count(option) > 0; }

/// Mappings that a process may have on this machine; Linux's default if that can't be read.
std::int64_t most_mappings_here() {
  constexpr std::int64_t kDefault = 65530;
  std::int64_t most = 0;
  std::ifstream file("/proc/sys/vm/max_map_count");
  return file >> most ? most : kDefault;
}

/// Throws if an option was given that says nothing of bricks.
void require_brick_options(const CLI::App& app) {
  static constexpr std::array<std::string_view, 8> kOfBricks{
      "--bricks",        "--grid",       "--ghost", "--nodes",
      "--gpus-per-node", "--quantities", "--json",  "--help"};
  for (const CLI::Option* const option : app.get_options()) {
    const bool is_of_bricks = std::ranges::any_of(
        kOfBricks, [&](std::string_view name) { return option->check_name(std::string(name)); });
    if (option->count() == 0 || is_of_bricks) continue;
    const std::string name = option->get_name();
    throw CLI::ValidationError(
        "--bricks",
        fmt::format("it goes with --grid, --ghost, --nodes, --gpus-per-node, --quantities and "
                    "--json, not with {}{}",
                    name, name == "--radius" ? ": --ghost is the depth of its ghosts" : ""));
  }
}

}  // namespace

void add_brick_options(CLI::App& app, BrickQuestion& asked, bool& is_asked) {
  app.add_option_function<std::string>(
         "--bricks",
         [&asked, &is_asked](const std::string& text) {
           is_asked = true;
           if (!text.empty()) asked.shape = numbers_of<int>("--bricks", text, "8x8x8");
         },
         "The grid is stored in bricks of so many cells: shows what ranks send; without --grid, "
         "the messages by axes")
      ->type_name("XxYxZ")
      ->expected(0, 1);
  app.add_option("--ghost", asked.ghost, "With --bricks: cells that ghosts are deep, at least")
      ->type_name("INT")
      ->capture_default_str();
}

void check_brick_options(const CLI::App& app, const BrickQuestion& asked) {
  require_brick_options(app);
  const auto required = [&app](const char* option) {
    if (!is_given(app, option)) throw CLI::RequiredError(option);
  };
  if (is_given(app, "--grid")) {
    if (asked.shape.empty())
      throw CLI::ValidationError("--bricks", "with --grid it has a shape, such as 8x8x8");
    required("--nodes");
    required("--gpus-per-node");
    return;
  }
  for (const char* const option : {"--nodes", "--gpus-per-node", "--ghost"})
    if (is_given(app, option)) required("--grid");
  if (asked.shape.empty() && is_given(app, "--quantities"))
    throw CLI::ValidationError("--quantities", "with --bricks it needs a shape, such as 8x8x8");
}

int show_bricks(BrickQuestion asked, std::optional<int> nodes, std::optional<int> places,
                bool json) {
  if (asked.grid.empty()) {
    const auto show = json ? orders_json : orders_text;
    fmt::print("{}", show(asked.shape, asked.fields));
    return 0;
  }
  require_places(*nodes, *places);
  asked.ranks = *nodes * *places;
  const auto show = json ? bricks_json : bricks_text;
  fmt::print("{}", show(plan_bricks(asked), most_mappings_here()));
  return 0;
}

}  // namespace strake::plan
