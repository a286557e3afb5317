#include "run_command.hpp"

#include <string>

#include "checked_job.hpp"
#include "compare.hpp"
#include "job/report.hpp"
#include "say.hpp"
#include "settings/settings.hpp"
#include "summary_file.hpp"
#include "unreached.hpp"

namespace strake::run {

int run(const Options& options, const Arguments& command) {
  if (options.compare > 0) return compare(options, command);
  const CheckedJob job(options, command);
  const Ended ended = job.start(options);
  if (ended.refused()) return kRefused;
  // Inside a rank of another job: the letters count there, too.
  for (const job::Letter letter : ended.letters)
    job::leave_letter(settings::text(settings::Id::job), letter);
  const std::string why = ended.status == 0 ? why_unreached(ended.letters, job.all_static()) : "";
  if (why.empty() || (!options.json.empty() && has_summary(options.json))) return ended.status;
  say("strake run: {}\n", why);
  if (!options.json.empty())
    write_empty_summary(options.json, settings::flag(settings::Id::disable) || options.disable,
                        why);
  return ended.status;
}

}  // namespace strake::run
