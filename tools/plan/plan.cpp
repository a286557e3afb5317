#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "strake/error.hpp"

namespace strake::plan {
namespace {

using placement::Flow;
using placement::NodePlace;
using placement::Partition;

constexpr int kMostPlaces = 1 << 20;

/// Where all parts of a job are.
struct Placed {
  Partition parts;
  std::vector<NodePlace> at;  ///< by part
};

void require(const Question& asked) {
  if (asked.nodes < 1 || asked.places < 1 || asked.nodes > kMostPlaces / asked.places)
    throw InvalidArgument(fmt::format("{} nodes of {} places: from 1 to {} in all", asked.nodes,
                                      asked.places, kMostPlaces));
  if (asked.cell_bytes < 1)
    throw InvalidArgument(fmt::format("cells of {} bytes", asked.cell_bytes));
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (asked.grid[axis] < 1)
      throw InvalidArgument(
          fmt::format("a grid of {} cells along {}", asked.grid[axis], "xyz"[axis]));
  if (asked.radius < 0) throw InvalidArgument(fmt::format("a radius of {}", asked.radius));
}

/// Neighbours own what is in a part's ghost cells.
void require_room(const Partition& parts, int radius) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int count = parts.counts()[axis];
    const std::int64_t shortest = parts.range(axis, count - 1).size();
    if (shortest < std::max(radius, 1))
      throw InvalidArgument(
          fmt::format("a radius of {}, but a part has {} cells along {}, of {} parts", radius,
                      shortest, "xyz"[axis], count));
  }
}

Placed place(const Question& asked, Answer& answer) {
  Placed placed;
  if (asked.placement == Placement::NodeAware) {
    const placement::NodePartition made(asked.grid, asked.nodes, asked.places, asked.ties);
    placed.parts = made.parts();
    for (int part = 0; part < asked.nodes * asked.places; ++part)
      placed.at.push_back(made.place_of(part));
    answer.nodes = made.nodes();
    answer.of_node = made.places();
  } else {
    placed.parts = Partition(asked.grid, asked.nodes * asked.places, asked.ties);
    for (int part = 0; part < asked.nodes * asked.places; ++part)
      placed.at.push_back({part / asked.places, part % asked.places});
  }
  answer.counts = placed.parts.counts();
  for (std::size_t axis = 0; axis < 3; ++axis)
    answer.largest[axis] = placed.parts.range(axis, 0).size();
  return placed;
}

/// The flows of all parts, summed up.
class Sums {
 public:
  Sums(const Question& asked, const Placed& placed)
      : asked_(asked),
        placed_(placed),
        sent_(placed.at.size()),
        peers_(placed.at.size()),
        leaving_(static_cast<std::size_t>(asked.nodes)) {}

  void add(const Flow& flow) {
    const auto from = static_cast<std::size_t>(flow.from);
    const NodePlace& sender = placed_.at[from];
    const NodePlace& receiver = placed_.at[static_cast<std::size_t>(flow.to)];
    const std::int64_t bytes = flow.cells * asked_.cell_bytes;
    sent_[from] += bytes;
    if (flow.from != flow.to) peers_[from].insert(flow.to);
    shares_.add(flow, sender.node == receiver.node);
    if (sender.node != receiver.node) leaving_[static_cast<std::size_t>(sender.node)] += bytes;
  }
  void tell(Answer& answer) const {
    answer.shares = shares_;
    answer.most_sent = std::ranges::max(sent_);
    answer.most_leaving = std::ranges::max(leaving_);
    for (const auto& peers : peers_)
      answer.most_messages = std::max(answer.most_messages, static_cast<int>(peers.size()));
  }

 private:
  const Question& asked_;
  const Placed& placed_;
  std::vector<std::int64_t> sent_;
  std::vector<std::set<int>> peers_;
  std::vector<std::int64_t> leaving_;
  placement::Shares shares_;
};

/// The transfer of a flow, whose rows lie in arrays with ghost cells.
machine::PlannedTransfer transfer_of(const Question& asked, const Placed& placed,
                                     const Flow& flow) {
  const auto end = [&](int part) {
    const NodePlace& at = placed.at[static_cast<std::size_t>(part)];
    machine::PathEnd made;
    made.rank = part;
    made.node = at.node;
    if (!asked.on_host) {
      made.memory = MemoryKind::Device;
      made.gpu = at.number;
    }
    return made;
  };
  const placement::Position at = placed.parts.position_of(flow.to);
  const std::int64_t row = placed.parts.range(0, at[0]).size();
  const bool along_x = flow.direction.x != 0;
  const std::int64_t block = (along_x ? asked.radius : row) * asked.cell_bytes;
  return {{end(flow.from), end(flow.to)},
          {flow.cells * asked.cell_bytes, block, (row + 2 * asked.radius) * asked.cell_bytes}};
}

/// Puts the parts of each node where what they exchange there takes least, as in the first node:
/// all nodes that are divided alike exchange alike. [us]
void assign_places(const Question& asked, Placed& placed, Answer& answer) {
  placement::Square flows(static_cast<std::size_t>(asked.places));
  placement::for_each_flow(placed.parts, asked.radius, asked.periodic, [&](const Flow& flow) {
    const NodePlace& from = placed.at[static_cast<std::size_t>(flow.from)];
    const NodePlace& to = placed.at[static_cast<std::size_t>(flow.to)];
    if (from.node != 0 || to.node != 0 || from == to) return;
    constexpr double kPerUsAtOneGBs = 1e3;  // bytes
    flows(static_cast<std::size_t>(from.number), static_cast<std::size_t>(to.number)) +=
        static_cast<double>(flow.cells * asked.cell_bytes) / kPerUsAtOneGBs;
  });
  answer.assignment = placement::assign(flows, *asked.bandwidths);
  if (asked.places <= placement::kMostTried)
    answer.spread = placement::spread_of(flows, *asked.bandwidths);
  for (NodePlace& at : placed.at)
    at.number = static_cast<int>(answer.assignment->place_of[static_cast<std::size_t>(at.number)]);
}

/// The MPI library of a profile's measurements; empty: it has none.
std::string library_of(const machine::Profile& profile) {
  for (const machine::Result& result : profile.results)
    if (!result.mpi.empty()) return result.mpi;
  return {};
}

}  // namespace

Answer answer(const Question& asked, const machine::Profile* profile) {
  require(asked);
  Answer answer;
  Placed placed = place(asked, answer);
  require_room(placed.parts, asked.radius);
  if (asked.bandwidths) assign_places(asked, placed, answer);
  Sums sums(asked, placed);
  std::vector<machine::PlannedTransfer> transfers;
  placement::for_each_flow(placed.parts, asked.radius, asked.periodic, [&](const Flow& flow) {
    if (flow.cells == 0) return;
    sums.add(flow);
    if (profile != nullptr) transfers.push_back(transfer_of(asked, placed, flow));
  });
  sums.tell(answer);
  if (profile != nullptr && !transfers.empty())
    answer.prediction = machine::ExchangeModel(*profile, library_of(*profile)).predict(transfers);
  return answer;
}

}  // namespace strake::plan
