#include "driver.hpp"

#include <algorithm>
#include <exception>

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

}  // namespace

Outcome measure_all(Leader& leader, const std::vector<Entry>& entries,
                    const std::function<double()>& seconds_left, const Listener& listener) {
  // Those of --quick first, spread over all sizes as they are: what is left out when the time is up
  // is detail then, and no curve ends early.
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::stable_partition(order.begin(), order.end(), [](const Entry* e) { return e->what.quick; });
  Outcome outcome;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Entry& entry = *order[i];
    const double left = seconds_left();
    if (left <= 0) {
      outcome.left_out.push_back(&entry);
      continue;
    }
    listener.begins(i, entry.what);
    try {
      const machine::Result result =
          measure_one(leader, entry, left / static_cast<double>(order.size() - i));
      ++outcome.measured;
      listener.measured(result);
    } catch (const WrongData& error) {
      ++outcome.wrong_data;
      listener.failed(entry.what, std::string("WRONG DATA: ") + error.what());
    } catch (const std::exception& error) {
      ++outcome.failed;
      listener.failed(entry.what, error.what());
    }
    leader.drop();
  }
  return outcome;
}

}  // namespace strake::measure
