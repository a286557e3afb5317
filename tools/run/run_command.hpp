/// \file  `strake run`: a job with the interposer in its ranks.
#pragma once

#include <string>
#include <vector>

#include "command/command.hpp"
#include "launcher.hpp"
#include "settings/settings.hpp"

namespace strake::run {

struct Options {
  bool quiet = false;    ///< no summary at the end
  bool disable = false;  ///< the interposer passes every call on
  /// Large blocks of malloc come from memory that ranks share.
  bool shared_heap = settings::flag(settings::Id::shared_heap);
  std::string json;          ///< file for the summary; empty: none
  std::string record_graph;  ///< file for the bytes between ranks; empty: none
  int compare = 0;           ///< how often each kind of run happens; 0: the job runs just once
  std::vector<std::string> files;  ///< patterns of the files that each run of `compare` gets
  std::string mpi{settings::text(settings::Id::mpi)};
};

inline constexpr int kRefused = 2;  ///< the status if no interposer can serve a process

/// Returns the job's exit status, or 2 if Strake had to end a process of it.
/// \throws InvalidArgument  Strake can't reach the job, known before it starts.
[[nodiscard]] int run(const Options& options, const Arguments& command);

/// Adds `strake run` to the parser.
[[nodiscard]] Command command(CLI::App& parent);

}  // namespace strake::run
