/// \file  Command line of a benchmark.
#pragma once

#include <string>
#include <vector>

#include "support/sampling.hpp"

namespace bench {

struct Options {
  bool quick = false;  ///< small sizes, few samples: shows that it works, not how fast
  bool list = false;   ///< print the names of the cases and end
  std::vector<std::string>
      filters;  ///< only cases whose name contains one of these; all when empty
  Budget budget;

  [[nodiscard]] bool selects(const std::string& name) const;
};

/// An option of one benchmark alone, which may be given several times.
struct ListOption {
  std::string name;  ///< "--case"
  std::string help;
  std::vector<std::string>* values;
};

/// Ends the process with status 2 and a message if an option is unknown, and with 0 after --help.
Options parse_options(int argc, char** argv, const std::string& about,
                      const std::vector<ListOption>& more = {});

}  // namespace bench
