#include "driver.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sampler.hpp"

namespace strake::measure {
namespace {

// Samples that are not i.i.d. after so long do not become so: [s] of one case, however few cases
// there are.
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

/// A case that is still to be measured, and its passes so far, ordered by their medians.
struct Pending {
  const Entry* entry;
  std::vector<machine::Result> passes = {};  // all doubtful, or none
  int tries = 0;
  double share_s = 0;  // of the last pass
  bool over = false;   // told, or left out
};

/// Neighbours of the median within this factor of it: what more passes would say is known.
constexpr double kAgreeing = 1.1;

bool is_doubtful(const machine::Result& result) { return !result.doubtful.empty(); }

bool settled(const Pending& pending) {
  const int wanted = pending.entry->what.in_passes ? kPasses : 1;
  const std::size_t count = pending.passes.size();
  if (is_doubtful(pending.passes.front()) || count < static_cast<std::size_t>(wanted))
    return pending.tries >= wanted + kRepeats;
  if (wanted == 1) return true;
  const std::size_t middle = count / 2;
  return count >= kMostPasses ||
         pending.passes[middle + 1].median < kAgreeing * pending.passes[middle - 1].median;
}

/// Keeps the passes in order.
void add_pass(std::vector<machine::Result>& passes, const machine::Result& result) {
  if (!passes.empty() && is_doubtful(result) != is_doubtful(passes.front())) {
    if (is_doubtful(result)) return;
    passes.clear();
  }
  const auto slower = [](const auto& a, const auto& b) { return a.median < b.median; };
  passes.insert(std::upper_bound(passes.begin(), passes.end(), result, slower), result);
}

/// The median of the passes, and the ends of all of them.
machine::Result joined(const std::vector<machine::Result>& passes) {
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

/// Measures the cases of one list after the other, and then those in passes again and again.
class Run {
 public:
  Run(Leader& leader, const std::function<double()>& seconds_left, const Listener& listener)
      : leader_(leader), seconds_left_(seconds_left), listener_(listener) {}

  Outcome all(std::vector<Pending> cases) {
    for (int pass = 1; !cases.empty(); ++pass) {
      const auto to_come = static_cast<std::size_t>(std::max(kPasses - pass, 0)) + 1;
      all_ = done_;
      for (const Pending& pending : cases) all_ += pending.entry->what.in_passes ? to_come : 1;
      for (Pending& pending : cases) visit(pending, pass > kPasses);
      std::erase_if(cases, [](const Pending& pending) { return pending.over; });
    }
    return outcome_;
  }

 private:
  void visit(Pending& pending, bool once_more) {
    const std::size_t before = done_++;
    const double left = seconds_left_();
    if (left > 0) {
      const double share_s = left / static_cast<double>(all_ - before);
      pending.share_s = once_more ? std::min(share_s, pending.share_s) : share_s;
      listener_.begins(before, all_, pending.entry->what);
      measure(pending);
    } else if (pending.passes.empty()) {
      pending.over = true;
      outcome_.left_out.push_back(pending.entry);
    }
    if (pending.over) return;
    pending.over = left <= 0 || settled(pending);
    outcome_.measured += pending.over ? 1 : 0;
    listener_.measured(joined(pending.passes), pending.over);
  }

  void measure(Pending& pending) {
    try {
      machine::Result result = measure_one(leader_, *pending.entry, pending.share_s);
      result.doubtful = listener_.doubt();
      ++pending.tries;
      add_pass(pending.passes, result);
    } catch (const WrongData& error) {
      pending.over = true;
      ++outcome_.wrong_data;
      listener_.failed(pending.entry->what, std::string("WRONG DATA: ") + error.what());
    } catch (const std::exception& error) {
      pending.over = true;
      ++outcome_.failed;
      listener_.failed(pending.entry->what, error.what());
    }
    leader_.drop();
  }

  Leader& leader_;
  const std::function<double()>& seconds_left_;
  const Listener& listener_;
  Outcome outcome_;
  std::size_t done_ = 0;
  std::size_t all_ = 0;
};

}  // namespace

Outcome measure_all(Leader& leader, const std::vector<Entry>& entries,
                    const std::function<double()>& seconds_left, const Listener& listener) {
  // Cases of --quick go first, spread over all sizes as they are: the cases that are left out when
  // the time is up are detail then, and no curve ends early.
  std::vector<Pending> cases;
  cases.reserve(entries.size());
  for (const Entry& entry : entries) cases.push_back({&entry});
  std::stable_partition(cases.begin(), cases.end(),
                        [](const Pending& pending) { return pending.entry->what.quick; });
  return Run(leader, seconds_left, listener).all(std::move(cases));
}

}  // namespace strake::measure
