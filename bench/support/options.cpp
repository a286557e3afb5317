#include "support/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace bench {

bool Options::selects(const std::string& name) const {
  if (filters.empty()) return true;
  for (const std::string& filter : filters) {
    if (name.find(filter) != std::string::npos) return true;
  }
  return false;
}

Options parse_options(int argc, char** argv, const std::string& about,
                      const std::vector<ListOption>& more) {
  Options options;
  double milliseconds = options.budget.seconds * 1e3;
  CLI::App app(about);
  app.add_flag("--quick", options.quick, "Small sizes and few samples");
  app.add_flag("--list", options.list, "Print the names of the cases and end");
  app.add_option("--filter", options.filters, "Only cases whose name contains one of these words")
      ->delimiter(',');
  CLI::Option* const time =
      app.add_option("--ms", milliseconds, "Milliseconds of samples per measurement")
          ->check(CLI::PositiveNumber);
  for (const ListOption& option : more) {
    app.add_option(option.name, *option.values, option.help)->take_all()->expected(1);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;
    app.exit(error);
    std::exit(asked ? 0 : 2);
  }
  options.budget.seconds = milliseconds * 1e-3;
  if (options.quick) {
    if (time->count() == 0) options.budget.seconds = 1e-3;
    options.budget.min_samples = 3;
  }
  return options;
}

}  // namespace bench
