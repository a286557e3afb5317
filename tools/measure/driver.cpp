#include "driver.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "sampler.hpp"

namespace strake::measure {
namespace {

// What is not i.i.d. after so long does not become so: [s] of one case, however few there are.
constexpr double kLongestShare = 3;

machine::Result measure_one(Leader& leader, const Entry& entry, double share_s) {
  const Case& what = entry.what;
  leader.make(what, entry.index);
  Sampling sampling;
  sampling.share_s = std::min(share_s, kLongestShare);
  // Half the share, so that there is a second try in it.
  sampling.set_s = std::min(sampling.set_s, sampling.share_s / 2);
  const Samples samples =
      sample([&](std::int64_t iterations) { return leader.run(iterations); }, sampling);
  leader.verify();
  machine::Result result;
  result.name = what.name;
  result.mpi = entry.mpi;
  result.bytes = what.bytes;
  result.block = what.block;
  result.pitch = what.pitch;
  result.count = what.count;
  result.median = samples.median;
  result.p10 = samples.p10;
  result.p90 = samples.p90;
  result.samples = samples.count;
  result.iid = samples.iid;
  result.tries = samples.tries;
  result.limit = what.limit;
  return result;
}

/// What is known of a case so far.
struct Pending {
  const Entry* entry;
  std::vector<machine::Result> passes;
  bool over = false;  // told, or left out
};

/// The median of the passes, and the ends of all of them.
machine::Result summarize(std::vector<machine::Result> passes) {
  std::sort(passes.begin(), passes.end(),
            [](const auto& a, const auto& b) { return a.median < b.median; });
  machine::Result result = passes[passes.size() / 2];
  result.median = (result.median + passes[(passes.size() - 1) / 2].median) / 2;
  result.samples = result.tries = 0;
  for (const machine::Result& pass : passes) {
    result.p10 = std::min(result.p10, pass.p10);
    result.p90 = std::max(result.p90, pass.p90);
    result.samples += pass.samples;
    result.tries += pass.tries;
    result.iid = result.iid && pass.iid;
  }
  return result;
}

}  // namespace

std::size_t measurements_of(const std::vector<Entry>& entries) {
  std::size_t count = 0;
  for (const Entry& entry : entries) count += static_cast<std::size_t>(entry.what.passes);
  return count;
}

Outcome measure_all(Leader& leader, const std::vector<Entry>& entries,
                    const std::function<double()>& seconds_left, const Listener& listener) {
  // Those of --quick first, spread over all sizes as they are: what is left out when the time is up
  // is detail then, and no curve ends early.
  std::vector<Pending> order;
  for (const Entry& entry : entries) order.push_back({&entry, {}});
  std::stable_partition(order.begin(), order.end(),
                        [](const Pending& p) { return p.entry->what.quick; });
  Outcome outcome;
  const auto measure = [&](Pending& pending, double share_s) {
    const Case& what = pending.entry->what;
    try {
      pending.passes.push_back(measure_one(leader, *pending.entry, share_s));
    } catch (const WrongData& error) {
      pending.over = true;
      ++outcome.wrong_data;
      listener.failed(what, std::string("WRONG DATA: ") + error.what());
    } catch (const std::exception& error) {
      pending.over = true;
      ++outcome.failed;
      listener.failed(what, error.what());
    }
    leader.drop();
  };

  const std::size_t all = measurements_of(entries);
  std::size_t done = 0;
  for (int pass = 1; done < all; ++pass) {
    for (Pending& pending : order) {
      const Case& what = pending.entry->what;
      if (what.passes < pass) continue;
      const std::size_t before = done++;
      if (pending.over) continue;
      const double left = seconds_left();
      if (left > 0) {
        listener.begins(before, what);
        measure(pending, left / static_cast<double>(all - before));
      } else if (pending.passes.empty()) {
        pending.over = true;
        outcome.left_out.push_back(pending.entry);
      }
      if (pending.over) continue;
      const bool last = left <= 0 || pass == what.passes;
      listener.measured(summarize(pending.passes), last);
      if (last) ++outcome.measured;
      pending.over = last;
    }
  }
  return outcome;
}

}  // namespace strake::measure
