#include "machine/exchange_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "machine/transports.hpp"
#include "strake/error.hpp"

namespace strake::machine {
namespace {

/// A transfer is asked at most so often. 24,576 GPUs were done after three times.
constexpr int kTurns = 4;

const PathEnd& end_of(const Path& path, Side side) noexcept {
  return side == Side::From ? path.from : path.to;
}

void require(const PathEnd& end) {
  if (end.rank < 0 || end.node < 0 || (end.memory == MemoryKind::Device && end.gpu < 0)) {
    throw InvalidArgument(fmt::format("an end of rank {}, node {}, GPU {}, in {} memory", end.rank,
                                      end.node, end.gpu, strake::name_of(end.memory)));
  }
}

/// The usages of the transfers, by transport. Grids have few transfers that differ.
class KnownUsages {
 public:
  KnownUsages(const ExchangeParts& parts, std::optional<Transport> forced)
      : parts_(parts), forced_(forced) {}

  /// The transfer's usages, by the transports that can be predicted.
  const std::vector<Usage>& of(const PlannedTransfer& transfer) {
    const auto [found, is_new] = usages_.try_emplace(key_of(transfer));
    if (is_new) fill(found->second, transfer);
    return found->second;
  }
  [[nodiscard]] std::vector<std::string> left_out() const {
    return {left_out_.begin(), left_out_.end()};
  }

 private:
  using EndKey = std::tuple<MemoryKind, int, bool>;
  using Key = std::tuple<PathLink, EndKey, EndKey, Shape>;
  static Key key_of(const PlannedTransfer& transfer) {
    const auto key = [](const PathEnd& end) { return EndKey(end.memory, end.gpu, end.shared); };
    return {link_of(transfer.path), key(transfer.path.from), key(transfer.path.to), transfer.shape};
  }

  void fill(std::vector<Usage>& usages, const PlannedTransfer& transfer) {
    const bool only = forced_ && is_predictable(*forced_, transfer.path);
    for (const TransportFacts& row : transports()) {
      if (only ? row.transport != *forced_ : !is_predictable(row.transport, transfer.path))
        continue;
      Usage usage = row.predict(parts_, transfer.path, transfer.shape);
      if (usage.lacking.empty()) {
        usages.push_back(std::move(usage));
      } else {
        left_out_.insert(fmt::format("{} over {}: {}", row.name, name_of(link_of(transfer.path)),
                                     usage.lacking));
      }
    }
  }
  static bool is_predictable(Transport transport, const Path& path) noexcept {
    return facts_of(transport).predict != nullptr && is_possible(transport, path);
  }

  const ExchangeParts& parts_;
  std::optional<Transport> forced_;
  std::map<Key, std::vector<Usage>> usages_;
  std::set<std::string> left_out_;
};

/// All that goes by the transports chosen so far, by resource. Transfers are named by their place
/// in the list.
class Sums {
 public:
  explicit Sums(std::span<const PlannedTransfer> transfers) : transfers_(transfers) {
    std::unordered_map<std::uint64_t, std::size_t> pairs;
    for (const PlannedTransfer& transfer : transfers) {
      const Path& path = transfer.path;
      require(path.from);
      require(path.to);
      gpus_ = std::max({gpus_, path.from.gpu + 1, path.to.gpu + 1});
      const auto ranks = static_cast<std::uint64_t>(path.from.rank) << 32U |
                         static_cast<std::uint64_t>(path.to.rank);
      pair_of_.push_back(pairs.try_emplace(ranks, pairs.size()).first->second);
    }
    messages_.resize(pairs.size());
  }

  void add(const Usage& usage, std::size_t transfer) { change(usage, transfer, 1); }
  void remove(const Usage& usage, std::size_t transfer) { change(usage, transfer, -1); }
  /// Seconds until a transfer that was added has gone its way: the sum of its steps, of which each
  /// takes as long as its busiest resource. `bound`: the one that takes most.
  double time_of(const Usage& usage, std::size_t transfer, Busy* bound = nullptr) {
    const Path& path = transfers_[transfer].path;
    double before = 0;
    double busiest = 0;
    int step = 0;
    for (const Use& use : usage.uses) {
      if (use.step != step) {
        before += busiest;
        busiest = 0;
        step = use.step;
      }
      const Sum& sum = sum_of(use, path);
      const double seconds = sum.seconds + sum.longest_launch();
      busiest = std::max(busiest, seconds);
      if (bound != nullptr && seconds > bound->seconds)
        *bound = {use.resource, end_of(path, use.side), seconds, sum.bytes};
    }
    return before + busiest;
  }

 private:
  struct Sum {
    double seconds = 0;  ///< but launches
    std::int64_t bytes = 0;
    /// Transfers by what the launch takes that they share. Few differ.
    std::vector<std::pair<double, int>> launches;
    /// All that is launched at once takes as long as what takes longest.
    [[nodiscard]] double longest_launch() const noexcept {
      double longest = 0;
      for (const auto& [takes, transfers] : launches)
        if (transfers > 0) longest = std::max(longest, takes);
      return longest;
    }
    void add_launch(double takes, int sign) {
      for (auto& [known, transfers] : launches)
        if (known == takes) return void(transfers += sign);
      launches.emplace_back(takes, sign);
    }
  };
  void change(const Usage& usage, std::size_t transfer, int sign) {
    const Path& path = transfers_[transfer].path;
    int& together = messages_[pair_of_[transfer]][static_cast<std::size_t>(usage.transport)];
    // Fixed costs come with the first of those that share them, and go with the last.
    const int last = sign > 0 ? 0 : 1;
    for (const Use& use : usage.uses) {
      Sum& sum = sum_of(use, path);
      sum.seconds += sign * (use.bytes + (together == last ? use.message : 0));
      if (use.launch > 0) sum.add_launch(use.launch, sign);
      if (use.bytes > 0) sum.bytes += sign * transfers_[transfer].shape.bytes;
    }
    together += sign;
  }
  Sum& sum_of(const Use& use, const Path& path) {
    std::vector<Sum>& sums = sums_[static_cast<std::size_t>(use.resource)];
    const std::size_t unit = unit_of(use, path);
    if (unit >= sums.size()) sums.resize(2 * unit + 1);
    return sums[unit];
  }
  [[nodiscard]] std::size_t unit_of(const Use& use, const Path& path) const noexcept {
    const PathEnd& end = end_of(path, use.side);
    const auto gpu = [&] {
      return static_cast<std::size_t>(end.node) * static_cast<std::size_t>(gpus_) +
             static_cast<std::size_t>(end.gpu);
    };
    switch (use.resource) {
      case Resource::RankSending:
      case Resource::RankReceiving:
      case Resource::MessageOut:
      case Resource::MessageIn:
        return static_cast<std::size_t>(end.rank);
      case Resource::NodeMemory:
      case Resource::NodeOut:
      case Resource::NodeIn:
        return static_cast<std::size_t>(end.node);
      case Resource::PeerPair:
        return gpu() * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(path.to.gpu);
      default:
        return gpu();
    }
  }
  std::span<const PlannedTransfer> transfers_;
  int gpus_ = 0;  ///< of a node
  std::array<std::vector<Sum>, kResources> sums_;
  std::vector<std::size_t> pair_of_;                    ///< ranks of each transfer, numbered
  std::vector<std::array<int, kTransports>> messages_;  ///< transfers in each, by pair
};

/// Transfers that go by one transport, and what each of them uses by it.
class Unit {
 public:
  void add(std::size_t transfer, const PlannedTransfer& planned, const std::vector<Usage>& usages) {
    members_.push_back({transfer, &usages});
    candidates_ &= planned.candidates;
    bytes_ += planned.shape.bytes;
  }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// Chooses the candidate with which the last of them ends soonest, given all others. \returns
  /// whether it is another one than before
  bool choose(Sums& sums, std::vector<const Usage*>& chosen) {
    const auto before = chosen_;
    put_back(sums, chosen);
    const auto all = ask(sums);
    chosen_ = all.empty() ? std::nullopt : std::optional(all.front().transport);
    take(sums, chosen);
    return chosen_ != before;
  }
  /// The candidates, the soonest first.
  [[nodiscard]] std::vector<Prediction::Alternative> alternatives(
      Sums& sums, std::vector<const Usage*>& chosen) const {
    put_back(sums, chosen);
    auto all = ask(sums);
    take(sums, chosen);
    return all;
  }

 private:
  struct Member {
    std::size_t transfer;
    const std::vector<Usage>* usages;
  };
  static const Usage* usage_by(const std::vector<Usage>& usages, Transport transport) {
    const auto found = std::ranges::find(usages, transport, &Usage::transport);
    return found == usages.end() ? nullptr : &*found;
  }
  /// Adds what was chosen.
  void take(Sums& sums, std::vector<const Usage*>& chosen) const {
    for (const auto& [transfer, usages] : members_) {
      chosen[transfer] = chosen_ ? usage_by(*usages, *chosen_) : nullptr;
      if (chosen[transfer] != nullptr) sums.add(*chosen[transfer], transfer);
    }
  }
  void put_back(Sums& sums, const std::vector<const Usage*>& chosen) const {
    for (const Member& member : members_)
      if (chosen[member.transfer] != nullptr)
        sums.remove(*chosen[member.transfer], member.transfer);
  }
  /// Asks of each candidate that is possible for all.
  [[nodiscard]] std::vector<Prediction::Alternative> ask(Sums& sums) const {
    std::vector<Prediction::Alternative> all;
    std::vector<const Usage*> used(members_.size());
    for (const Usage& first : *members_.front().usages) {
      if ((candidates_ & set_of(first.transport)) == 0) continue;
      for (std::size_t i = 0; i < members_.size(); ++i)
        used[i] = usage_by(*members_[i].usages, first.transport);
      if (std::ranges::find(used, nullptr) != used.end()) continue;
      for (std::size_t i = 0; i < members_.size(); ++i) sums.add(*used[i], members_[i].transfer);
      double seconds = 0;
      for (std::size_t i = 0; i < members_.size(); ++i)
        seconds = std::max(seconds, sums.time_of(*used[i], members_[i].transfer));
      for (std::size_t i = 0; i < members_.size(); ++i) sums.remove(*used[i], members_[i].transfer);
      all.push_back({first.transport, seconds});
    }
    std::ranges::stable_sort(all, {}, &Prediction::Alternative::seconds);
    return all;
  }

  std::vector<Member> members_;
  TransportSet candidates_ = kAllTransports;
  std::int64_t bytes_ = 0;
  std::optional<Transport> chosen_;
};

}  // namespace

Prediction ExchangeModel::predict(std::span<const PlannedTransfer> transfers,
                                  std::optional<Transport> forced) const {
  Prediction result;
  KnownUsages known(parts_, forced);
  Sums sums(transfers);
  std::vector<Unit> units;
  std::map<int, std::size_t> unit_of;  // by the callers' numbers
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const PlannedTransfer& transfer = transfers[i];
    const std::size_t number = transfer.unit < 0
                                   ? units.size()
                                   : unit_of.try_emplace(transfer.unit, units.size()).first->second;
    if (number == units.size()) units.emplace_back();
    units[number].add(i, transfer, known.of(transfer));
  }
  std::vector<Unit*> order;
  for (Unit& unit : units) order.push_back(&unit);
  std::ranges::stable_sort(order, std::greater<>(), &Unit::bytes);
  std::vector<const Usage*> chosen(transfers.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    bool same = true;
    for (Unit* const unit : order) same = !unit->choose(sums, chosen) && same;
    if (same) break;
  }
  for (const auto& [number, place] : unit_of) {
    result.alternatives.resize(static_cast<std::size_t>(number) + 1);
    result.alternatives.back() = units[place].alternatives(sums, chosen);
  }
  result.left_out = known.left_out();
  bool all = true;
  result.transports.resize(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    result.bytes[static_cast<std::size_t>(link_of(transfers[i].path))] += transfers[i].shape.bytes;
    if (chosen[i] != nullptr) result.transports[i] = chosen[i]->transport;
    all = all && chosen[i] != nullptr;
  }
  if (!all) return result;
  result.seconds = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const double seconds = sums.time_of(*chosen[i], i);
    if (seconds <= *result.seconds) continue;
    result.seconds = seconds;
    result.last = i;
  }
  if (!transfers.empty()) (void)sums.time_of(*chosen[result.last], result.last, &result.bound);
  return result;
}

}  // namespace strake::machine
